"""Node selectors, as the scheduler's node affinity reads them: terms are ORed, a term is ANDed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.placement.faults import Fatal

_NAME_FIELD = "metadata.name"
_LABEL_KEY = re.compile(
    r"(?:(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z"
)
_INTEGER = re.compile(r"[+-]?\d+\Z")


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"key": self.key, "operator": self.operator}
        if self.values:
            found["values"] = list(self.values)
        return found


@dataclass(frozen=True, slots=True)
class Term:
    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.expressions and not self.fields


@dataclass(frozen=True, slots=True)
class NodeSelector:
    terms: tuple[Term, ...] = ()

    def problems(self) -> list[str]:
        """What upstream refuses when it parses the selector; it does so before any match."""
        found = []
        for term in self.terms:
            found += [text for one in term.expressions if (text := _label_problem(one))]
            found += [text for one in term.fields if (text := _field_problem(one))]
        return found

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """True if any term matches; an empty term matches nothing.

        Raises Fatal if any term cannot be parsed, as a slice with such a selector ends the whole
        scheduling attempt (k/k#141214).
        """
        if problems := self.problems():
            raise Fatal(f"failed to parse node selector: {'; '.join(problems)}")
        return any(term_matches(term, name, labels) for term in self.terms)

    def matches_lazily(self, name: str, labels: Mapping[str, str]) -> bool:
        """As for a pod's own affinity: a broken term matters only where no other one matches."""
        sound = [term for term in self.terms if not NodeSelector((term,)).problems()]
        if any(term_matches(term, name, labels) for term in sound):
            return True
        if problems := self.problems():
            raise Fatal("; ".join(problems))
        return False


def term_matches(term: Term, name: str, labels: Mapping[str, str]) -> bool:
    if term.is_empty:
        return False
    if not all(_label_matches(one, labels) for one in term.expressions):
        return False
    return all(_field_matches(one, name) for one in term.fields)


def _label_matches(one: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(one.key)
    match one.operator:
        case "In":
            return value is not None and value in one.values
        case "NotIn":
            return value is None or value not in one.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return value is not None and _compares(one, value)


def _compares(one: Requirement, value: str) -> bool:
    if not _INTEGER.match(value):
        return False
    here, bound = int(value), int(one.values[0])
    return here > bound if one.operator == "Gt" else here < bound


def _field_matches(one: Requirement, name: str) -> bool:
    here = name if one.key == _NAME_FIELD else ""
    return (here == one.values[0]) == (one.operator == "In")


def _label_problem(one: Requirement) -> str:
    wants_values = one.operator in ("In", "NotIn")
    if not _LABEL_KEY.match(one.key):
        return f"key {one.key!r} is not a label key"
    if one.operator not in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"):
        return f"operator {one.operator!r} is not supported"
    if wants_values and not one.values:
        return f"{one.operator} on {one.key} needs values"
    if one.operator in ("Exists", "DoesNotExist") and one.values:
        return f"{one.operator} on {one.key} takes no values"
    if one.operator in ("Gt", "Lt") and not (
        len(one.values) == 1 and _INTEGER.match(one.values[0])
    ):
        return f"{one.operator} on {one.key} needs one integer"
    return ""


def _field_problem(one: Requirement) -> str:
    if one.operator not in ("In", "NotIn"):
        return f"operator {one.operator!r} is not supported for fields"
    return "" if len(one.values) == 1 else f"{one.operator} on {one.key} needs one value"
