"""How large each ReplicaSet of a Deployment should be next; plain arithmetic."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Numbers by ReplicaSet name. `existing` counts pods that still end as well."""

    wanted: int
    surge: int
    unavailable: int
    recreate: bool
    paused: bool
    current: str
    sizes: Mapping[str, int]
    available: Mapping[str, int]
    existing: Mapping[str, int]

    @property
    def old(self) -> list[str]:
        return [name for name in self.sizes if name != self.current]


def next_sizes(plan: Plan) -> dict[str, int]:
    """One step, within wanted + surge in sum and wanted - unavailable in available ones."""
    if plan.paused:
        return _proportional(plan)
    if plan.recreate:
        return _recreated(plan)
    sizes = dict(plan.sizes)
    sizes[plan.current] = _grown(plan)
    room = _removable(plan, sizes)
    for name in plan.old:
        # Replicas that do not work go first: they cost nothing to lose.
        broken = max(sizes[name] - plan.available.get(name, 0), 0)
        gone = min(broken, room)
        sizes[name] -= gone
        room -= gone
    healthy = sum(plan.available.values()) - (plan.wanted - plan.unavailable)
    for name in plan.old:
        gone = max(min(sizes[name], healthy, room), 0)
        sizes[name] -= gone
        healthy -= gone
        room -= gone
    return sizes


def _grown(plan: Plan) -> int:
    have = plan.sizes.get(plan.current, 0)
    if have >= plan.wanted:
        return plan.wanted
    room = plan.wanted + plan.surge - sum(plan.sizes.values())
    return min(plan.wanted, have + max(room, 0))


def _removable(plan: Plan, sizes: Mapping[str, int]) -> int:
    least = plan.wanted - plan.unavailable
    waiting = max(sizes[plan.current] - plan.available.get(plan.current, 0), 0)
    return max(sum(sizes.values()) - least - waiting, 0)


def _recreated(plan: Plan) -> dict[str, int]:
    """Everything old ends before anything new begins."""
    sizes = dict.fromkeys(plan.sizes, 0)
    running = sum(plan.existing.get(name, 0) for name in plan.old)
    sizes[plan.current] = plan.sizes.get(plan.current, 0) if running else plan.wanted
    return sizes


def _proportional(plan: Plan) -> dict[str, int]:
    """A paused rollout keeps its mixture; a changed size goes to the largest set."""
    sizes = dict(plan.sizes)
    if sizes:
        largest = max(sizes, key=lambda name: sizes[name])
        sizes[largest] = max(sizes[largest] + plan.wanted - sum(sizes.values()), 0)
    return sizes
