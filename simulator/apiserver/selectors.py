"""Label and field selectors, as the query parameters spell them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulator.apiserver.kinds import Kind
from simulator.apiserver.problems import bad_request

Labels = Mapping[str, str]

_SET = re.compile(r"^([\w./-]+)\s+(in|notin)\s*\(([^)]*)\)$")
_COMPARE = re.compile(r"^([\w./-]+)\s*(==|!=|=|>|<)\s*([\w.-]*)$")
_EXISTS = re.compile(r"^(!?)\s*([\w./-]+)$")


def label_test(text: str) -> Callable[[Labels], bool] | None:
    """A test of labels, or None where everything matches. Raises Refused on bad syntax."""
    if not text.strip():
        return None
    tests = [_label_clause(clause.strip()) for clause in _split_outside_parentheses(text)]
    return lambda labels: all(test(labels) for test in tests)


def _split_outside_parentheses(text: str) -> list[str]:
    return [part for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _label_clause(clause: str) -> Callable[[Labels], bool]:
    if found := _SET.match(clause):
        key, operator, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        if operator == "in":
            return lambda labels: labels.get(key) in values if key in labels else False
        return lambda labels: labels.get(key) not in values
    if found := _COMPARE.match(clause):
        return _label_comparison(*found.groups())
    if found := _EXISTS.match(clause):
        absent, key = found.groups()
        return (lambda labels: key not in labels) if absent else (lambda labels: key in labels)
    words = clause.split()
    if len(words) > 1:
        raise bad_request(
            f"unable to parse requirement: found '{words[1]}', expected: in, notin, =, ==, !=, gt, "
            "lt"
        )
    raise bad_request(f"unable to parse requirement: found '{clause}', expected: identifier")


def _label_comparison(key: str, operator: str, value: str) -> Callable[[Labels], bool]:
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    if operator in (">", "<"):
        return lambda labels: _ordered(labels.get(key), operator, value)
    return lambda labels: labels.get(key) == value


def _ordered(have: str | None, operator: str, limit: str) -> bool:
    try:
        return int(have or "") > int(limit) if operator == ">" else int(have or "") < int(limit)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class FieldClause:
    field: str
    equal: bool
    value: str


def field_clauses(kind: Kind, text: str) -> tuple[FieldClause, ...]:
    """Parsed and checked against the fields that the kind offers."""
    clauses = []
    for part in text.split(","):
        if not part.strip():
            continue
        found = re.match(r"^([^=!]+)(==|!=|=)(.*)$", part.strip())
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = found.groups()
        if name not in ("metadata.name", "metadata.namespace", *kind.selectable):
            raise bad_request(f"field label not supported: {name}")
        clauses.append(FieldClause(name, operator != "!=", value))
    return tuple(clauses)


def field_values(kind: Kind, item: Mapping[str, Any]) -> tuple[str, ...]:
    """The values of `kind.selectable`, kept beside each stored object."""
    return tuple(_field_value(item, path) for path in kind.selectable)


def _field_value(item: Mapping[str, Any], path: str) -> str:
    if path == "source":
        return str(item.get("source", {}).get("component") or item.get("reportingComponent") or "")
    if path == "status.podIP":
        return str(item.get("status", {}).get("podIP", ""))
    found: Any = item
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
        if found is None:
            return "false" if path in ("spec.unschedulable", "spec.hostNetwork") else _zero(path)
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found)


def _zero(path: str) -> str:
    return "0" if path in ("status.replicas", "status.successful") else ""


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector of the API matches; None matches nothing."""
    if selector is None:
        return False
    wanted = (selector.get("matchLabels") or {}).items()
    if any(labels.get(key) != value for key, value in wanted):
        return False
    return all(_rule(rule, labels) for rule in selector.get("matchExpressions") or ())


def _rule(rule: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key: str = rule["key"]
    values: tuple[str, ...] = tuple(rule.get("values", ()))
    operator = rule["operator"]
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    return bool((key in labels) == (operator == "Exists"))
