"""One change with which something would fit now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from domain.placement.devices import Taint

FixKind = Literal[
    "fewer", "lower", "resources", "pattern", "tolerate", "nodes", "selector", "move", "end"
]
MOST_VALUES = 6


@dataclass(frozen=True, slots=True)
class Fix:
    """One change, in words and as the claims it leads to. `nodes`: where it would fit then.

    pod: the pod that it leads to, if it is the pod that changes.
    """

    kind: FixKind
    text: str
    nodes: tuple[str, ...]
    claims: tuple[Mapping[str, Any], ...] = ()
    ends: tuple[str, ...] = ()
    pod: Mapping[str, Any] | None = None


def distinct(taints: Iterable[Taint]) -> list[Taint]:
    """Those that keep pods away, the first few."""
    found = dict.fromkeys(one for one in taints if one.prevents_scheduling)
    return list(islice(found, MOST_VALUES))


def shown(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def toleration(taint: Taint) -> dict[str, Any]:
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
