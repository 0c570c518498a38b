"""What stands for what: a resource of a device plugin, as a workload asks for it, and the approved
class and pattern that give the same by claims.

*Not supported* is a result like any other, with its reason. The rules on shares and partitions
follow NVIDIA's device plugin (api/config/v1), GPU feature discovery's labels, and KEP-5004.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from domain.accelerators import is_accelerator, is_renamed_share, profile_of
from domain.patterns import Pattern, Values
from domain.rollout.inverse import NoMatch, Wanted, devices_of, match

ACCELERATOR_LABELS = ("nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/", "hami.io/")
STRATEGY = "nvidia.com/gpu.sharing-strategy"
REPLICAS = "nvidia.com/gpu.replicas"
PRODUCT = "nvidia.com/gpu.product"
MIG_STRATEGY = "nvidia.com/mig.strategy"


class Sharing(StrEnum):
    WHOLE = "whole"
    TIME_SLICING = "time-slicing"
    MPS = "mps"
    MIG = "mig"


class Way(StrEnum):
    """How a workload gets its devices after the move."""

    CLAIMS = "claims"
    BRIDGE = "bridge"  # the workload unchanged, its resource name served by a class (KEP-5004)
    NONE = "not-supported"


@dataclass(frozen=True, slots=True)
class Offer:
    """How the device plugin of one node hands out one resource: a unit is a card, one of
    `replicas` shares of it, or a partition of `profile`."""

    node: str
    resource: str
    sharing: Sharing
    replicas: int = 1
    profile: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Use:
    """What a pod asks of its node. `unread` are affinity terms with no counterpart in a claim."""

    resources: Mapping[str, int]
    selector: Mapping[str, str] = field(default_factory=dict)
    above: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def accelerator_labels(self) -> frozenset[str]:
        keys = {*self.selector, *self.above}
        return frozenset(key for key in keys if key.startswith(ACCELERATOR_LABELS))


@dataclass(frozen=True, slots=True)
class Entry:
    """An approved pattern version that the workload's tenant may use in the cluster."""

    slug: str
    version: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Bridge:
    """A class of the cluster that serves an extended resource."""

    device_class: str
    resource: str


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a workload becomes. `reasons` say why not; `notes`, what is different afterwards."""

    way: Way
    sharing: Sharing | None = None
    pattern: str = ""
    version: int = 0
    values: Values = field(default_factory=dict)
    classes: Mapping[str, int] = field(default_factory=dict)
    covered: frozenset[str] = frozenset()
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def use_of(spec: Mapping[str, Any], nodes: Iterable[str] = ()) -> Use:
    """Read a pod's spec: accelerators of its containers, and what it asks of node labels."""
    selector = {str(key): str(value) for key, value in (spec.get("nodeSelector") or {}).items()}
    above: dict[str, int] = {}
    unread: list[str] = []
    for term in _required_terms(spec):
        for one in term.get("matchExpressions") or ():
            _read_expression(one, selector, above, unread)
    if len(_required_terms(spec)) > 1:
        unread.append("several alternative node affinity terms")
    return Use(_units(spec), selector, above, tuple(unread), tuple(sorted(set(nodes))))


def _required_terms(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return list(required.get("nodeSelectorTerms") or ())


def _read_expression(
    one: Mapping[str, Any], selector: dict[str, str], above: dict[str, int], unread: list[str]
) -> None:
    key, operator, values = str(one.get("key")), one.get("operator"), one.get("values") or []
    if operator == "In" and len(values) == 1:
        selector[key] = str(values[0])
    elif operator == "Gt" and len(values) == 1 and str(values[0]).isdecimal():
        above[key] = int(values[0])
    elif key.startswith(ACCELERATOR_LABELS):
        unread.append(f"{key} {operator} {', '.join(map(str, values))}".strip())


def _units(spec: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for container in spec.get("containers") or ():
        resources = container.get("resources") or {}
        both = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, amount in both.items():
            if is_accelerator(name) and str(amount).isdecimal() and int(amount):
                found[name] = found.get(name, 0) + int(amount)
    return found


def offers_of(node: str, labels: Mapping[str, str], resources: Iterable[str]) -> list[Offer]:
    """What a node's device plugin offers, one entry for each resource that it has units of."""
    return [
        _offer(node, labels, resource) for resource in sorted(resources) if is_accelerator(resource)
    ]


def _offer(node: str, labels: Mapping[str, str], resource: str) -> Offer:
    if profile := profile_of(resource):
        shares = _shares(labels.get(f"nvidia.com/mig-{profile}.replicas", ""))
        kind = Sharing.MIG if shares == 1 else Sharing.TIME_SLICING
        return Offer(node, resource, kind, shares, profile, labels)
    shares = _shares(labels.get(REPLICAS, ""))
    if is_renamed_share(resource) or shares > 1:
        strategy = labels.get(STRATEGY, "")
        kind = Sharing.MPS if strategy == "mps" else Sharing.TIME_SLICING
        return Offer(node, resource, kind, max(2, shares), "", labels)
    if labels.get(MIG_STRATEGY) == "single":
        profile = labels.get(PRODUCT, "").rpartition("-MIG-")[2]
        return Offer(node, resource, Sharing.MIG, 1, profile, labels)
    return Offer(node, resource, Sharing.WHOLE, 1, "", labels)


def _shares(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() else 1


def serving(use: Use, offers: Iterable[Offer]) -> list[Offer]:
    """The offers a workload draws on: of the nodes it is on, else of all that it could be on."""
    able = [one for one in offers if one.resource in use.resources and _suits(use, one.labels)]
    here = [one for one in able if one.node in use.nodes]
    return here or able


def _suits(use: Use, labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in use.selector.items()):
        return False
    return all(
        labels.get(key, "").isdecimal() and int(labels[key]) > least
        for key, least in use.above.items()
    )


def map_use(
    use: Use,
    offers: Sequence[Offer],
    entries: Sequence[Entry],
    bridges: Sequence[Bridge],
    *,
    prefer: Way = Way.CLAIMS,
) -> Mapped:
    """The class and pattern that stand for what is asked, by the preferred way if both are open."""
    if not use.resources:
        return Mapped(Way.NONE, reasons=("It asks no device plugin for anything.",))
    drawn = serving(use, offers)
    if not drawn:
        names = ", ".join(sorted(use.resources))
        return Mapped(Way.NONE, reasons=(f"No node offers {names} to it, so nothing can be said.",))
    kinds = {one.sharing for one in drawn}
    if shared := refused_share(drawn):
        return Mapped(Way.NONE, sharing=_only(kinds), reasons=(shared,))
    first, second = _by_claims(use, drawn, entries), _by_bridge(use, drawn, bridges)
    if prefer == Way.BRIDGE:
        first, second = second, first
    if first.way != Way.NONE:
        return first
    if second.way != Way.NONE:
        return second
    return Mapped(Way.NONE, sharing=_only(kinds), reasons=(*first.reasons, *second.reasons))


def _only(kinds: set[Sharing]) -> Sharing | None:
    return next(iter(kinds)) if len(kinds) == 1 else None


def refused_share(drawn: Sequence[Offer]) -> str:
    """A share of a card has no claim that is as small: a claim takes the card whole."""
    shared = [one for one in drawn if one.sharing in (Sharing.TIME_SLICING, Sharing.MPS)]
    if not shared:
        return ""
    worst = max(one.replicas for one in shared)
    return (
        f"One unit of {shared[0].resource} is one of {worst} shares of a card ({shared[0].sharing} "
        f"on {shared[0].node}); a claim takes whole devices, which is up to {worst} times as much. "
        "Partition the cards, or let several pods share one claim."
    )


def _by_claims(use: Use, drawn: Sequence[Offer], entries: Sequence[Entry]) -> Mapped:
    sharing = _only({one.sharing for one in drawn})
    reasons = []
    if len(use.resources) > 1:
        reasons.append("It asks for several resources at once; a pattern stands for one.")
    if use.unread:
        reasons.append(f"No pattern can say: {use.unread[0]}.")
    if reasons:
        return Mapped(Way.NONE, sharing, reasons=tuple(reasons))
    wanted = _wanted(use, drawn)
    found: list[Mapped] = []
    for entry in entries:
        try:
            hit = match(entry.pattern, wanted)
        except NoMatch as no:
            reasons.append(f"{entry.slug} v{entry.version}: {no}.")
            continue
        left = use.accelerator_labels - hit.covered
        if left:
            reasons.append(
                f"{entry.slug} v{entry.version}: it cannot say {', '.join(sorted(left))}."
            )
            continue
        found.append(
            Mapped(
                Way.CLAIMS,
                sharing,
                entry.slug,
                entry.version,
                hit.values,
                devices_of(entry.pattern, hit.values),
                hit.covered,
                notes=_notes(use, sharing),
            )
        )
    if found:
        return max(found, key=lambda one: (len(one.covered), one.version, one.pattern))
    if not entries:
        reasons.append("No approved pattern may be used there.")
    return Mapped(Way.NONE, sharing, reasons=tuple(reasons))


def _wanted(use: Use, drawn: Sequence[Offer]) -> Wanted:
    [(resource, count)] = use.resources.items()
    if drawn[0].sharing == Sharing.MIG and drawn[0].profile:
        resource = f"nvidia.com/mig-{drawn[0].profile}"
    return Wanted(resource, count, use.selector, use.above, [one.labels for one in drawn])


def _notes(use: Use, sharing: Sharing | None) -> tuple[str, ...]:
    notes = []
    if sum(use.resources.values()) > 1:
        notes.append("All devices come from one node; links between them only if the pattern asks.")
    if sharing == Sharing.MIG:
        notes.append("A partition is named by its profile; drivers round the name differently.")
    notes.append("A pod that waits for devices does not make others give way: no preemption.")
    return tuple(notes)


def _by_bridge(use: Use, drawn: Sequence[Offer], bridges: Sequence[Bridge]) -> Mapped:
    sharing = _only({one.sharing for one in drawn})
    by_resource = {one.resource: one.device_class for one in bridges}
    missing = sorted(use.resources.keys() - by_resource.keys())
    if missing:
        reason = f"No class of the cluster serves {missing[0]} as an extended resource."
        return Mapped(Way.NONE, sharing, reasons=(reason,))
    if any(one.sharing == Sharing.MIG and not profile_of(one.resource) for one in drawn):
        reason = "Its unit is a partition under the name of a whole card; the class gives a card."
        return Mapped(Way.NONE, sharing, reasons=(reason,))
    classes: dict[str, int] = {}
    for resource, count in use.resources.items():
        name = by_resource[resource]
        classes[name] = classes.get(name, 0) + count
    notes = ["The pod stays as it is; the scheduler makes a claim for it."]
    if use.accelerator_labels:
        notes.append("Its node labels must stay: feature discovery has to run on converted nodes.")
    return Mapped(Way.BRIDGE, sharing, classes=classes, notes=tuple(notes))
