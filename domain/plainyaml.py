"""YAML that people paste, read as plain values only.

YAML can do much that no content of ours needs and that lets a few lines take all memory or time:
aliases and merge keys that multiply, tags that make other types, numbers in base 60. None of it is
taken, nor is what is nested or branched beyond reason; each refusal names its line.
"""

import re
from typing import Any

import yaml

MOST_NODES = 10_000
DEEPEST = 60
_NULL, _BOOL = "tag:yaml.org,2002:null", "tag:yaml.org,2002:bool"


class NotPlain(ValueError):
    """Not YAML, or more than plain YAML; the message is a sentence for the person who wrote it."""


class _Plain(yaml.SafeLoader):
    yaml_implicit_resolvers = {
        first: [one for one in found if one[0] in (_NULL, _BOOL)]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise _refused("Anchors and aliases (& and *) are not taken here", event)
        if event.tag not in (None, "!"):
            raise _refused("Tags (!) are not taken here", event)
        if isinstance(event, yaml.ScalarEvent) and not _can_be_stored(event.value):
            raise _refused("NUL and halves of characters are not taken here", event)
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise _refused(f"More than {MOST_NODES} values are not taken here", event)
        if self._depth == DEEPEST:
            raise _refused(f"More than {DEEPEST} levels are not taken here", event)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_Plain.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(0|[1-9][0-9]{0,17})\Z"), list("-+0123456789")
)
_Plain.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18}|(\.[0-9]{1,18})?[eE][-+]?[0-9]{1,2})\Z"),
    list("-+0123456789"),
)


def read(text: str) -> Any:
    """Dicts, lists, strings, whole and decimal numbers, booleans and None; raises NotPlain.

    What YAML 1.1 would make a date, an octal or a number in base 60 stays a string.
    """
    try:
        return yaml.load(text, Loader=_Plain)  # noqa: S506 - a SafeLoader that takes less
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, NotPlain):
            raise
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise NotPlain(f"This is not YAML{where}.") from None


def _can_be_stored(text: str) -> bool:
    """YAML can write as \\0 and \\ud800 what no database and no JSON holds."""
    return "\0" not in text and not any("\ud800" <= mark <= "\udfff" for mark in text)


def _refused(what: str, event: Any) -> NotPlain:
    return NotPlain(f"{what} (line {event.start_mark.line + 1}).")
