from enum import StrEnum


class Verdict(StrEnum):
    """Of one sample and of a gate. Nothing but `pass` ever lets a step through.

    `no-data`: there was nothing to judge, and why is said. `inconclusive`: there was something, but
    too little, or between the limits. `error`: the question itself failed.
    """

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    NO_DATA = "no-data"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
