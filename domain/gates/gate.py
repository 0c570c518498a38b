"""A gate as people define it, and what is refused before a migration starts."""

import re
from dataclasses import dataclass
from typing import Literal

import msgspec

from domain.errors import InvalidValue
from domain.gates.measured import METRICS, PROMQL

MOST_GATES = 30
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?")
#: What is filled in from the pool; a name that nothing fills in would match no series, for ever.
PLACEHOLDERS = ("$namespace", "$deployment", "$pool", "$tenant")
_FILLED = re.compile(r"\$\{?[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One figure and its limits; every limit given must hold.

    `at_most` and `at_least` judge the candidate alone; `ratio_*` judge candidate ÷ current in the
    same window. A value beyond a limit by less than `margin` (a share of the limit) is
    inconclusive. `failures` and `failures_in_row` are how many failed samples are forgiven, over
    the whole move and one after the other. `passes` samples must pass in a step before it counts.
    No data is held for `no_data_seconds` and then ends in rollback (0: a person must come), or with
    `on_no_data` "fail" each sample of it counts as a failed one, as do `errors_in_row` questions
    that failed one after the other.
    """

    name: str
    metric: str
    statistic: str = ""
    query: str = ""
    at_most: float | None = None
    at_least: float | None = None
    ratio_at_most: float | None = None
    ratio_at_least: float | None = None
    margin: float = 0.0
    window_seconds: int = 60
    delay_seconds: int = 0
    min_requests: int = 50
    worst_pod: bool = True
    passes: int = 2
    failures: int = 2
    failures_in_row: int = 1
    errors_in_row: int = 4
    on_no_data: Literal["hold", "fail"] = "hold"
    no_data_seconds: int = 600
    dry_run: bool = False

    @property
    def is_relative(self) -> bool:
        return self.ratio_at_most is not None or self.ratio_at_least is not None

    @property
    def chosen_statistic(self) -> str:
        return self.statistic or METRICS[self.metric].statistics[0]


def gates_from(content: object) -> tuple[Gate, ...]:
    """Read JSON-like content; raise InvalidValue that names what is wrong and where."""
    try:
        found = msgspec.convert(content, tuple[Gate, ...], strict=True)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at ")
        where = path.strip("`").removeprefix("$")
        raise InvalidValue(f"{text}.", field=f"gates{where}") from None
    _refuse_strangers(content)
    if len(found) > MOST_GATES:
        raise InvalidValue(f"{MOST_GATES} gates at most.", field="gates")
    names = [gate.name for gate in found]
    for number, gate in enumerate(found):
        _check(gate, f"gates[{number}]")
        if names.count(gate.name) > 1:
            raise InvalidValue(f"Two gates are called {gate.name}.", field=f"gates[{number}].name")
    return found


def content_of(gates: tuple[Gate, ...]) -> list[dict[str, object]]:
    """The gates as JSON, without what is a default."""
    plain = msgspec.to_builtins(Gate(name="", metric=""))
    return [
        {key: value for key, value in msgspec.to_builtins(gate).items() if value != plain[key]}
        for gate in gates
    ]


def _refuse_strangers(content: object) -> None:
    known = set(Gate.__dataclass_fields__)
    for number, one in enumerate(content if isinstance(content, list | tuple) else ()):
        for key in one if isinstance(one, dict) else ():
            if key not in known:
                raise InvalidValue(
                    f"There is no field {str(key)[:60]!r}.", field=f"gates[{number}].{key}"
                )


def _check(gate: Gate, at: str) -> None:
    if not _NAME.fullmatch(gate.name):
        raise InvalidValue("Lower-case letters, digits and hyphens.", field=f"{at}.name")
    known = METRICS.get(gate.metric)
    if known is None:
        raise InvalidValue(
            f"There is no metric {gate.metric[:60]!r}; one of {', '.join(METRICS)}.",
            field=f"{at}.metric",
        )
    if gate.chosen_statistic not in known.statistics:
        raise InvalidValue(
            f"{gate.metric} is judged by {' or '.join(known.statistics)}.", field=f"{at}.statistic"
        )
    if (gate.metric == PROMQL) != bool(gate.query.strip()):
        raise InvalidValue("A query belongs to the metric promql.", field=f"{at}.query")
    unknown = sorted(set(_FILLED.findall(gate.query)) - set(PLACEHOLDERS))
    if unknown:
        raise InvalidValue(
            f"Nothing fills in {unknown[0]}; there are {', '.join(PLACEHOLDERS)}.",
            field=f"{at}.query",
        )
    _check_limits(gate, at, of_pool=known.of_pool)
    _check_numbers(gate, at)


def _check_limits(gate: Gate, at: str, *, of_pool: bool) -> None:
    limits = (gate.at_most, gate.at_least, gate.ratio_at_most, gate.ratio_at_least)
    given = [limit for limit in limits if limit is not None]
    if not given:
        raise InvalidValue("A gate without a limit judges nothing: set one.", field=f"{at}.at_most")
    if any(limit != limit or abs(limit) == float("inf") for limit in given):
        raise InvalidValue("A limit is a finite number.", field=f"{at}.at_most")
    if gate.is_relative and not of_pool:
        raise InvalidValue(
            f"{gate.metric} is of the whole cluster: there is no second pool to compare with.",
            field=f"{at}.ratio_at_most",
        )
    for low, high, name in (
        (gate.at_least, gate.at_most, "at_least"),
        (gate.ratio_at_least, gate.ratio_at_most, "ratio_at_least"),
    ):
        if low is not None and high is not None and low > high:
            raise InvalidValue("The lower limit is above the upper one.", field=f"{at}.{name}")


#: Field, least, most.
_RANGES: tuple[tuple[str, float, float], ...] = (
    ("margin", 0, 1),
    ("window_seconds", 5, 86400),
    ("delay_seconds", 0, 86400),
    ("min_requests", 0, 1_000_000),
    ("passes", 1, 1000),
    ("failures", 0, 1000),
    ("failures_in_row", 0, 1000),
    ("errors_in_row", 0, 1000),
    ("no_data_seconds", 0, 7 * 86400),
)


def _check_numbers(gate: Gate, at: str) -> None:
    for name, least, most in _RANGES:
        if not least <= getattr(gate, name) <= most:
            raise InvalidValue(f"{least:g} to {most:g}.", field=f"{at}.{name}")
