"""Conditions as Kubernetes has them: what was observed, for which generation, since when, and why.

A list of conditions is a map by type. `transitioned_at` changes only when the status does, as
Kubernetes' `lastTransitionTime` (API conventions, "Typical status properties").
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Condition:
    type: str
    status: Status
    reason: str
    message: str = ""
    generation: int = 0
    transitioned_at: str = ""  # RFC 3339, UTC

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def merge(
    held: Iterable[dict[str, Any]], seen: Iterable[Condition], *, now: str
) -> list[dict[str, Any]]:
    """Put `seen` over `held` by type, keeping the transition time where the status is the same."""
    by_type = {item["type"]: item for item in held}
    for condition in seen:
        before = by_type.get(condition.type)
        same = before is not None and before["status"] == condition.status
        since = before["transitioned_at"] if before is not None and same else now
        by_type[condition.type] = condition.as_dict() | {"transitioned_at": since}
    return list(by_type.values())
