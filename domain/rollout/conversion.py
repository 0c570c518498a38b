"""Taking one node from the device plugin to the DRA driver, or back by the same recipe.

The next step follows from what is seen alone, so that a crash between two of them loses nothing.
Nothing here evicts a pod that is not of a deployment of ours, and nothing changes which driver
runs while somebody holds a device of the node.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

Wanted = Literal["converted", "back"]
PLATFORM = "platform team"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Node labels that stop one driver and start the other; `driver` is whose slices are awaited
    and `prefix` that of the resource names whose capacity has to go."""

    labels: Mapping[str, str]
    driver: str = "gpu.nvidia.com"
    prefix: str = "nvidia.com/"
    patience_seconds: int = 900


NVIDIA = Recipe(
    labels={
        "nvidia.com/gpu.deploy.device-plugin": "false",
        "nvidia.com/gpu.deploy.dra-driver": "true",
    }
)


@dataclass(frozen=True, slots=True)
class Before:
    """How the node was: None for a label that it did not have."""

    was_cordoned: bool
    labels: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class User:
    """A pod that holds devices of the node. `spare` is whether its deployment can do without it
    now, by what the plan accepts."""

    namespace: str
    name: str
    is_ours: bool
    spare: bool = True

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class NodeNow:
    """What is seen of a node. `capacity` holds the device plugin's resources that are not zero;
    `slices` is None while the driver publishes nothing, else whether its pool is whole."""

    name: str
    labels: Mapping[str, str]
    is_cordoned: bool
    is_ready: bool
    capacity: Mapping[str, int] = field(default_factory=dict)
    slices: bool | None = None
    users: tuple[User, ...] = ()


class Kind(StrEnum):
    CORDON = "cordon"
    EVICT = "evict"
    LABEL = "label"
    WAIT = "wait"
    BLOCKED = "blocked"
    UNCORDON = "uncordon"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next, or what is waited for and who can end that."""

    kind: Kind
    text: str
    owner: str = "claimyard"
    pods: tuple[User, ...] = ()
    labels: Mapping[str, str | None] = field(default_factory=dict)


def target(recipe: Recipe, wanted: Wanted, before: Before | None) -> dict[str, str | None]:
    """The labels that the node is to have; None for one that it is to lose."""
    if wanted == "converted":
        return dict(recipe.labels)
    return dict(before.labels) if before is not None else {}


def next_step(
    recipe: Recipe,
    node: NodeNow | None,
    wanted: Wanted,
    before: Before | None,
    *,
    since: datetime,
    now: datetime,
) -> Step:
    """The one next step. `before` is None until the node was looked at for the first time; `since`
    is when the present wait began."""
    if node is None:
        return Step(Kind.BLOCKED, "The node is gone.", PLATFORM)
    labels = target(recipe, wanted, before)
    set_up = all(node.labels.get(key) == value for key, value in labels.items())
    if not set_up:
        return _make_way(node, labels)
    if missing := _missing(recipe, node, wanted):
        late = now - since > timedelta(seconds=recipe.patience_seconds)
        text = f"{missing} Waiting since {since:%H:%M:%S}." if late else missing
        return Step(Kind.BLOCKED if late else Kind.WAIT, text, PLATFORM if late else "claimyard")
    if node.is_cordoned and before is not None and not before.was_cordoned:
        return Step(Kind.UNCORDON, "Everything is in place; let pods come back.")
    return Step(Kind.DONE, _done(wanted, node))


def _make_way(node: NodeNow, labels: Mapping[str, str | None]) -> Step:
    strangers = [user for user in node.users if not user.is_ours]
    if strangers:
        text = ", ".join(map(str, strangers[:5]))
        return Step(
            Kind.BLOCKED,
            f"Its devices are used by {text}, which the portal does not manage.",
            strangers[0].namespace,
        )
    if not node.is_ready:
        return Step(Kind.WAIT, "The node is not ready.", PLATFORM)
    if not node.is_cordoned:
        return Step(Kind.CORDON, "No new pods while its driver changes.")
    if node.users:
        spare = tuple(user for user in node.users if user.spare)
        if spare:
            return Step(Kind.EVICT, f"{len(spare)} pods hold its devices.", pods=spare)
        first = node.users[0]
        return Step(
            Kind.WAIT,
            f"{first} cannot be spared now: its deployment would have too few replicas.",
            first.namespace,
        )
    return Step(Kind.LABEL, "Nobody holds its devices; change the driver.", labels=labels)


def _missing(recipe: Recipe, node: NodeNow, wanted: Wanted) -> str:
    """What is not there yet after the labels were changed; "" once all is."""
    held = [name for name, units in node.capacity.items() if units]
    if wanted == "converted":
        if held:
            return f"The device plugin still offers {', '.join(sorted(held))}."
        if node.slices is None:
            return f"{recipe.driver} has not published the node's devices yet."
        return "" if node.slices else f"Not all slices of {recipe.driver} are there yet."
    if node.slices is not None:
        return f"{recipe.driver} still publishes the node's devices."
    return "" if held else "The device plugin does not offer the node's devices yet."


def _done(wanted: Wanted, node: NodeNow) -> str:
    way = "by claims" if wanted == "converted" else "by the device plugin"
    return f"{node.name} hands its devices out {way}."


# --- In which order, how many at once, and when
@dataclass(frozen=True, slots=True)
class Unit:
    """Something that goes as one: `value` is what is won by it, in devices; `risk` how much would
    be hit if it went wrong, in replicas."""

    name: str
    value: float
    risk: int
    is_blocked: bool = False


def waves(units: Iterable[Unit], *, size: int) -> list[list[str]]:
    """Who goes together: first one alone that risks least, then by value; what is blocked last.

    Raises ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError("A wave holds at least one.")
    found = sorted(units, key=lambda one: (one.is_blocked, -one.value, one.risk, one.name))
    free = [one for one in found if not one.is_blocked]
    if not free:
        return _groups([one.name for one in found], size)
    first = min(free, key=lambda one: (one.risk, -one.value, one.name))
    rest = [one.name for one in found if one is not first]
    return [[first.name], *_groups(rest, size)]


def _groups(names: Sequence[str], size: int) -> list[list[str]]:
    return [list(names[at : at + size]) for at in range(0, len(names), size)]


def to_begin(
    waiting: Sequence[str], *, under_way: int, concurrency: int, is_closed: bool
) -> list[str]:
    """Which of those waiting may begin now. What has begun goes on, in blackout hours too."""
    if is_closed:
        return []
    return list(waiting[: max(0, concurrency - under_way)])


def is_closed(blackout: Iterable[Mapping[str, Any]], now: datetime) -> bool:
    """Whether `now` (with its zone) lies in one of these hours, which are in UTC and may pass
    midnight; `days` count from Monday, 0, and are those on which the hours begin."""
    return any(_covers(one, now) for one in blackout)


def _covers(hours: Mapping[str, Any], now: datetime) -> bool:
    begin, end = _minutes(str(hours["from"])), _minutes(str(hours["to"]))
    days = hours.get("days") or range(7)
    minute, day = now.hour * 60 + now.minute, now.weekday()
    if begin <= end:
        return day in days and begin <= minute < end
    return (day in days and minute >= begin) or ((day - 1) % 7 in days and minute < end)


def _minutes(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes)
