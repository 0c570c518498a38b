"""What the new path does as well as the old one, worse, or not at all.

Sources: NVIDIA's DRA driver and device plugin (feature gates, sharing), KEP-4381, 4815, 5004, 5055,
5075 and 5690, dcgm-exporter's labels.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Parity(StrEnum):
    SAME = "same"
    WEAKER = "weaker"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class ParityFacts:
    """What the scope uses today, and what the new path has in this cluster."""

    sharing: frozenset[str] = frozenset()
    has_partitions: bool = False  # partitions that a DRA driver publishes
    has_shared_devices: bool = False  # devices that allow several allocations (KEP-5075)
    has_pcie_root: bool = False
    has_taint_rules: bool = False
    has_priorities: bool = False
    uses_constraints: bool = False
    attributes_claims: bool | None = None  # whether the cards' metrics name claims


@dataclass(frozen=True, slots=True)
class Line:
    """`matters` when the scope uses it today."""

    subject: str
    verdict: Parity
    before: str
    after: str
    matters: bool
    source: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict.value}


def matrix(facts: ParityFacts) -> list[Line]:
    return list(_lines(facts))


def _lines(facts: ParityFacts) -> Iterator[Line]:
    yield _time_slicing(facts)
    yield Line(
        "MPS",
        Parity.WEAKER if facts.has_shared_devices else Parity.MISSING,
        "All cards of a node, memory and threads divided evenly.",
        "By opaque configuration of a claim, behind a feature gate that is off by default.",
        "mps" in facts.sharing,
        "NVIDIA DRA driver, gate MPSSupport",
    )
    yield _partitions(facts)
    yield Line(
        "Preemption",
        Parity.MISSING,
        "A pod of higher priority makes others give way.",
        "It waits: devices of claims are not freed for it. Kueue may still evict whole workloads.",
        facts.has_priorities,
        "kubernetes/website#54770, KEP-5690",
    )
    yield _health(facts)
    yield _topology(facts)
    yield _attribution(facts)


def _time_slicing(facts: ParityFacts) -> Line:
    shared = facts.has_shared_devices
    return Line(
        "Time-slicing",
        Parity.WEAKER if shared else Parity.MISSING,
        "One card counts as several units, without isolation.",
        "Devices that allow several allocations are published; each takes a stated part."
        if shared
        else "A claim takes a whole device; pods share one only through one claim.",
        "time-slicing" in facts.sharing,
        "KEP-5075; NVIDIA DRA driver, gates TimeSlicingSettings and ConsumableShares",
    )


def _partitions(facts: ParityFacts) -> Line:
    return Line(
        "MIG",
        Parity.SAME if facts.has_partitions else Parity.MISSING,
        "One resource name for each profile, cut beforehand.",
        "Partitions are devices with a profile that a selector asks for."
        if facts.has_partitions
        else "No node publishes partitions by DRA now.",
        "mig" in facts.sharing,
        "KEP-4815; NVIDIA DRA driver, type mig",
    )


def _health(facts: ParityFacts) -> Line:
    return Line(
        "Health",
        Parity.WEAKER,
        "A sick card leaves the node's allocatable units.",
        "An administrator can taint it by rule; the driver's own check is off by default."
        if facts.has_taint_rules
        else "Only a driver with its health check on taints it; no rule can.",
        True,
        "KEP-5055; NVIDIA DRA driver, gate NVMLDeviceHealthCheck",
    )


def _topology(facts: ParityFacts) -> Line:
    better = facts.has_pcie_root
    return Line(
        "Topology",
        Parity.SAME if better else Parity.WEAKER,
        "The kubelet's topology manager lines cards up with CPUs of a NUMA node.",
        "Constraints put devices of one PCIe root or NUMA node together, if the pattern asks; CPUs "
        "are not lined up."
        if better
        else "The devices do not publish what a constraint could compare.",
        facts.uses_constraints,
        "KEP-4381, matchAttribute; KEP-6072",
    )


def _attribution(facts: ParityFacts) -> Line:
    known = facts.attributes_claims
    return Line(
        "Attribution",
        Parity.SAME if known else Parity.WEAKER,
        "The cards' metrics name pod and namespace.",
        "They name claim and pod too."
        if known
        else "Nothing here shows yet that the cards' metrics name who holds them by claim."
        if known is None
        else "The cards' metrics do not name who holds them by claim.",
        True,
        "dcgm-exporter, KUBERNETES_ENABLE_DRA",
    )
