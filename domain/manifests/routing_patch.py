"""A rule of somebody's own HTTPRoute, kept in step without touching anything beside it.

`rules` is an atomic list of the API, so nobody can own one rule by server-side apply. What is left
is a JSON patch that begins with a test of the very rule that was looked at.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.errors import DomainError
from domain.manifests.routing import POOL_GROUP

Raw = Mapping[str, Any]


class RuleGone(DomainError):
    """The rule that was handed over is not there any more, or another one is in its place."""

    code = "rule_gone"


def fingerprint(rule: Raw) -> dict[str, Any]:
    """What a rule is known by: everything but where it sends requests."""
    return {key: value for key, value in rule.items() if key not in ("backendRefs", "timeouts")}


def rule_index(route: Raw, handed_over: Raw) -> int:
    """Where the rule that was handed over is now; raise RuleGone.

    `handed_over` has its index as it was then and its fingerprint. A rule that moved is found
    again, unless there are several alike.
    """
    rules: Sequence[Raw] = (route.get("spec") or {}).get("rules") or ()
    alike = [at for at, rule in enumerate(rules) if fingerprint(rule) == handed_over["rule"]]
    if handed_over["index"] in alike:
        return int(handed_over["index"])
    if len(alike) == 1:
        return alike[0]
    name = route["metadata"]["name"]
    raise RuleGone(
        f"HTTPRoute {name} has no rule any more that is like the one handed over; its matches or "
        "filters were changed. Hand it over again."
    )


def operations(
    route: Raw, handed_over: Raw, backends: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The JSON patch; empty when the rule sends requests as wished already. Raises RuleGone."""
    at = rule_index(route, handed_over)
    rule = route["spec"]["rules"][at]
    wanted = _kept_filters(rule.get("backendRefs") or (), backends)
    if _shares(rule.get("backendRefs") or ()) == _shares(wanted):
        return []
    path = f"/spec/rules/{at}"
    verb = "replace" if "backendRefs" in rule else "add"
    return [
        {"op": "test", "path": path, "value": rule},
        {"op": verb, "path": f"{path}/backendRefs", "value": wanted},
    ]


def _kept_filters(held: Sequence[Raw], wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    filters = {ref["name"]: ref["filters"] for ref in held if ref.get("filters")}
    return [
        dict(ref) | ({"filters": filters[ref["name"]]} if ref["name"] in filters else {})
        for ref in wanted
    ]


def _shares(refs: Sequence[Raw]) -> list[tuple[str, str, int]]:
    return sorted(
        (str(ref.get("kind", "Service")), str(ref.get("name")), int(ref.get("weight", 1)))
        for ref in refs
    )


def weights_in(rule: Raw) -> dict[str, float]:
    """The share (0 to 1) that each InferencePool of a rule gets of its requests, by name."""
    refs = rule.get("backendRefs") or ()
    total = sum(int(ref.get("weight", 1)) for ref in refs)
    return {
        str(ref["name"]): int(ref.get("weight", 1)) / total if total else 0.0
        for ref in refs
        if ref.get("kind") == "InferencePool" and ref.get("group") == POOL_GROUP
    }
