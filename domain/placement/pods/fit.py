"""A pod on a node: kube-scheduler's default filters, then its claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from domain.placement.asked import read_claim
from domain.placement.attempt import MOST_STEPS, Attempt
from domain.placement.claims import Claim, DeviceClass
from domain.placement.decisions import RANDOM_ORDER, decide
from domain.placement.devices import Node
from domain.placement.faults import Fatal, Malformed
from domain.placement.features import DEFAULT, Features
from domain.placement.fleet import Fleet
from domain.placement.ledger import Ledger
from domain.placement.lookalikes import quick_attempt
from domain.placement.pods.claims import PodClaims, claims_of
from domain.placement.pods.extended import classes_by_resource, special_claim
from domain.placement.pods.filters import AFFINITY_NAMES, Room, name_affinity, refusals
from domain.placement.pods.reading import Pod, read_pod

BINDING_FAILS = (
    "binding: Kubernetes 1.37 fails to bind a pod that has claims of its own and extended "
    "resources which this node's device plugin serves though a device class could"
)
UNREACHABLE = "resourceclaim not available on the node"

Fit = Literal["fits", "no", "fatal", "unknown"]


@dataclass(frozen=True, slots=True)
class PodFit:
    """Whether a pod could run on a node now, with the scheduler's own reasons if not.

    allocations: AllocationResult by claim name, for claims that are not allocated yet.
    considered_not: what kube-scheduler would look at and this answer does not. everywhere: the
    reason has nothing to do with this node.
    """

    node: str
    outcome: Fit
    reasons: tuple[str, ...] = ()
    allocations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    considered_not: tuple[str, ...] = ()
    everywhere: bool = False

    @property
    def fits(self) -> bool:
        return self.outcome == "fits"


def fits_pod(
    fleet: Fleet,
    pod: Mapping[str, Any],
    node_name: str,
    features: Features = DEFAULT,
    most_steps: int = MOST_STEPS,
) -> PodFit:
    """Raises ValueError for a node that the fleet does not have."""
    if node_name not in fleet.nodes:
        raise ValueError(f"the fleet has no node {node_name}")
    try:
        wanted = read_pod(pod)
    except Malformed as problem:
        return PodFit(node_name, "unknown", (f"pod cannot be read: {problem}",))
    return PodAttempt.of(fleet, wanted, features, most_steps).on(fleet.nodes[node_name])


@dataclass(slots=True)
class PodAttempt:
    """What is the same for all nodes, worked out once."""

    fleet: Fleet
    pod: Pod
    claims: PodClaims
    served: Mapping[str, DeviceClass]
    names: frozenset[str] | None
    refusal: str
    attempt: Attempt
    considered_not: tuple[str, ...]

    @classmethod
    def of(
        cls,
        fleet: Fleet,
        pod: Pod,
        features: Features,
        most_steps: int = MOST_STEPS,
        ledger: Ledger | None = None,
    ) -> "PodAttempt":
        claims = claims_of(fleet, pod)
        names, conflict = name_affinity(pod)
        served = classes_by_resource(fleet.classes.values()) if features.extended_resources else {}
        asked = {name for name, nanos in pod.requests.items() if nanos}
        return cls(
            fleet=fleet,
            pod=pod,
            claims=claims,
            served={name: one for name, one in served.items() if name in asked},
            names=names,
            refusal=_gated(pod) or conflict or claims.refusal,
            attempt=quick_attempt(
                fleet, features, fleet.ledger(features) if ledger is None else ledger, most_steps
            ),
            considered_not=_considered_not(pod, claims, features),
        )

    def on(self, node: Node) -> PodFit:
        if self.refusal:
            said = (self.refusal,)
            return PodFit(node.name, "no", said, {}, self.considered_not, everywhere=True)
        if self.names is not None and node.name not in self.names:
            return self._answer(node, "no", AFFINITY_NAMES)
        others = [one for one in self.fleet.pods.on_node(node.name) if not self._is_same(one)]
        try:
            room = Room(node, others, self.served)
            reasons = refusals(self.pod, room)
            if reasons:
                return self._answer(node, "no", *reasons)
            return self._claims_on(node, room)
        except Malformed as problem:
            return self._answer(node, "unknown", f"node cannot be read: {problem}")
        except Fatal as problem:
            return self._answer(node, "fatal", str(problem))

    def _claims_on(self, node: Node, room: Room) -> PodFit:
        wanted: list[Claim] = list(self.claims.to_allocate)
        extended = self._extended_claim(room)
        if extended is not None:
            wanted.append(read_claim(extended))
        reachable = self.claims.reachable_from(node)
        skipped = self.considered_not
        if self.served and extended is None and self.pod.claims:
            skipped = (*skipped, BINDING_FAILS)
        if not wanted:
            return (
                self._answer(node, "fits") if reachable else self._answer(node, "no", UNREACHABLE)
            )
        decision = decide(self.attempt, node, wanted)
        if decision.outcome in ("fatal", "unknown"):
            outcome: Fit = "fatal" if decision.outcome == "fatal" else "unknown"
            return self._answer(node, outcome, decision.reason)
        if not decision.fits:
            return self._answer(node, "no", decision.reason)
        if not reachable:
            return self._answer(node, "no", UNREACHABLE)
        allocations = {
            claim.name: found for claim, found in zip(wanted, decision.allocations, strict=True)
        }
        return PodFit(node.name, "fits", (), allocations, skipped)

    def extended_claim_on(self, node: Node) -> Mapping[str, Any] | None:
        """The claim that stands for extended resources there, if a class serves any."""
        return self._extended_claim(Room(node, ()))

    def _extended_claim(self, room: Room) -> Mapping[str, Any] | None:
        names = [name for name in self.served if room.allocatable(name) == 0]
        return special_claim(self.pod, names, self.served) if names else None

    def _answer(self, node: Node, outcome: Fit, *reasons: str) -> PodFit:
        return PodFit(node.name, outcome, reasons, considered_not=self.considered_not)

    def _is_same(self, other: Pod) -> bool:
        return (other.namespace, other.name) == (self.pod.namespace, self.pod.name)


def _gated(pod: Pod) -> str:
    if not pod.gates:
        return ""
    return f"waiting for scheduling gates: {', '.join(pod.gates)}"


def _considered_not(pod: Pod, claims: PodClaims, features: Features) -> tuple[str, ...]:
    found = list(pod.not_modelled)
    found += [f"claim {name} does not exist yet, its template was read" for name in claims.assumed]
    if claims.to_allocate and not features.knows_which_device:
        found.append(RANDOM_ORDER)
    return tuple(found)


def message(fits: Sequence[PodFit]) -> str:
    """What kube-scheduler writes into the pod's condition, without what PostFilter adds.

    Empty if the pod fits somewhere. A fatal answer is the whole message, as there.
    """
    if any(one.fits for one in fits):
        return ""
    fatal = next((one.reasons[0] for one in fits if one.outcome == "fatal"), "")
    if fatal:
        return fatal
    if fits and all(one.everywhere for one in fits):
        return f"0/{len(fits)} nodes are available: {fits[0].reasons[0]}."
    counts: dict[str, int] = {}
    for one in fits:
        for reason in one.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    said = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{len(fits)} nodes are available: {said}." if said else "no nodes available"
