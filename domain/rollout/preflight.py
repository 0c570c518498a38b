"""What stands in the way of a migration, before anything is touched.

Each rule looks at the same facts and names what it found, how it knows, and what to do. A fact
that nobody could tell is *unknown*, which is neither fine nor a fault.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    BLOCKER = "blocker"
    WARNING = "warning"
    UNKNOWN = "unknown"
    OK = "ok"


class Blocks(StrEnum):
    """What cannot go on: moving model pools, or converting nodes in place."""

    MOVE = "move"
    NODES = "nodes"


class Install(StrEnum):
    """How the drivers came onto the cluster."""

    CLUSTER_POLICY = "ClusterPolicy"  # GPU Operator with the device plugin
    GPU_CLUSTER = "GPUCluster"  # GPU Operator with the DRA driver
    PLUGIN = "device plugin of its own"
    DRA = "DRA driver of its own"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node in the scope. `strangers` use its devices and are not the portal's; `cdi` is None
    where nothing tells."""

    name: str
    path: str  # dra | device-plugin | both | none
    is_ready: bool = True
    is_schedulable: bool = True
    driver_version: str = ""
    cdi: bool | None = None
    sharing: str = ""
    incomplete: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassFacts:
    name: str
    extended_resource: str = ""
    is_ours: bool = True


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """`budget` is how many of its pods may be away now; None when it has no budget, or more than
    one. `reason` says why it cannot move."""

    name: str
    tenant: str = ""
    is_ours: bool = True
    way: str = "claims"
    reason: str = ""
    devices: int = 0
    priority: int = 0
    budgets: int = 1
    budget: int | None = 1
    queue: str = ""
    constraints: bool = False


@dataclass(frozen=True, slots=True)
class QuotaFacts:
    """`extra` is what the new pools take while the old ones still hold theirs."""

    tenant: str
    device_class: str
    limit: int
    used: int
    extra: int


@dataclass(frozen=True, slots=True)
class Facts:
    """`free` maps a class to devices that could be taken now, None when nobody could tell;
    `first` to what the first replica of the canary needs, `wanted` to what all need."""

    version: str
    served: frozenset[str]
    mode: str
    is_live: bool = True
    stale_text: str = ""
    writes_stopped: str = ""
    installs: frozenset[Install] | None = None
    nodes: tuple[NodeFacts, ...] = ()
    classes: tuple[ClassFacts, ...] = ()
    workloads: tuple[WorkloadFacts, ...] = ()
    quotas: tuple[QuotaFacts, ...] = ()
    free: Mapping[str, int | None] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)
    wanted: Mapping[str, int] = field(default_factory=dict)
    missing_rights: tuple[str, ...] | None = ()
    missing_node_rights: tuple[str, ...] = ()
    metrics: str = ""  # "" when figures come in, else what is wrong
    metrics_state: str = "live"
    converts_nodes: bool = False

    @property
    def release(self) -> tuple[int, int] | None:
        """Major and minor of the server's version; None when it cannot be read."""
        parts = self.version.lstrip("v").split(".")
        if len(parts) < 2 or not parts[0].isdecimal():
            return None
        minor = "".join(character for character in parts[1] if character.isdecimal())
        return (int(parts[0]), int(minor)) if minor else None

    @property
    def has_bridge(self) -> bool:
        return any(one.way == "bridge" for one in self.workloads)


@dataclass(frozen=True, slots=True)
class Problem:
    level: Level
    evidence: str
    remedy: str
    blocks: Blocks = Blocks.MOVE


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the page: a rule and what it found."""

    code: str
    title: str
    level: Level
    evidence: str = ""
    remedy: str = ""
    blocks: Blocks = Blocks.MOVE

    def as_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "title": self.title,
            "level": self.level.value,
            "evidence": self.evidence,
            "remedy": self.remedy,
            "blocks": self.blocks.value,
        }


Check = Callable[[Facts], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    title: str
    check: Check


_RULES: list[Rule] = []
_ORDER = {Level.BLOCKER: 0, Level.WARNING: 1, Level.UNKNOWN: 2, Level.OK: 3}


def rule(code: str, title: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        _RULES.append(Rule(code, title, check))
        return check

    return register


def rules() -> tuple[Rule, ...]:
    """All rules, those of the other modules of this package too."""
    from domain.rollout import preflight_nodes, preflight_workloads  # noqa: F401

    return tuple(_RULES)


def check(facts: Facts) -> list[Finding]:
    """Every rule once: what stands in the way first, what is fine last."""
    found = [finding for one in rules() for finding in _judged(one, facts)]
    return sorted(found, key=lambda one: _ORDER[one.level])


def _judged(one: Rule, facts: Facts) -> Iterator[Finding]:
    problems = list(one.check(facts))
    for problem in problems:
        yield Finding(
            one.code, one.title, problem.level, problem.evidence, problem.remedy, problem.blocks
        )
    if not problems:
        yield Finding(one.code, one.title, Level.OK)


def named(names: Iterable[str], most: int = 5) -> str:
    """A list for a sentence, cut where it gets long."""
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


# --- The cluster itself
FIRST_RELEASE = (1, 34)  # resource.k8s.io/v1 (k8s.io/api resource/v1)
BRIDGE_RELEASE = (1, 36)  # KEP-5004 beta, on by default


@rule("freshness", "What is known of the cluster is current")
def freshness(facts: Facts) -> Iterator[Problem]:
    if not facts.is_live:
        yield Problem(
            Level.BLOCKER,
            facts.stale_text or "The cluster has not been heard of lately.",
            "Look at the cluster's page; go on once it is live again.",
        )


@rule("version", "The server is new enough")
def version(facts: Facts) -> Iterator[Problem]:
    found = facts.release
    if found is None:
        yield Problem(
            Level.UNKNOWN,
            f"The version {facts.version or 'of the server'} cannot be read.",
            "Test the connection on the cluster's page.",
        )
    elif found < FIRST_RELEASE:
        yield Problem(
            Level.BLOCKER,
            f"The server is {facts.version}; claims are stable from 1.34 on.",
            "Upgrade the control plane and the kubelets first.",
        )
    elif facts.has_bridge and found < BRIDGE_RELEASE:
        yield Problem(
            Level.BLOCKER,
            f"The server is {facts.version}; it serves extended resources by claims from 1.36 on.",
            "Upgrade, or choose claims instead of the bridge for these workloads.",
        )


_APIS = ("resourceslices", "deviceclasses", "resourceclaims", "resourceclaimtemplates")


@rule("apis", "The server serves resource.k8s.io/v1")
def apis(facts: Facts) -> Iterator[Problem]:
    missing = [name for name in _APIS if f"resource.k8s.io/v1/{name}" not in facts.served]
    if missing:
        yield Problem(
            Level.BLOCKER,
            f"Not served: {named(missing)}.",
            "Serve resource.k8s.io/v1 and switch DynamicResourceAllocation on in all components.",
        )


@rule("mode", "The portal may change this cluster")
def mode(facts: Facts) -> Iterator[Problem]:
    if facts.writes_stopped:
        yield Problem(Level.BLOCKER, facts.writes_stopped, "Allow writes again, when it is time.")
    if facts.mode != "manage":
        yield Problem(
            Level.BLOCKER,
            f"The cluster is in mode {facts.mode}: pools cannot be made, and none could be taken "
            "back.",
            "Set its mode to manage on the cluster's page.",
        )


@rule("rights", "The portal has the rights that it needs")
def rights(facts: Facts) -> Iterator[Problem]:
    if facts.missing_rights is None:
        yield Problem(
            Level.UNKNOWN,
            "The rights have not been checked yet.",
            "Test the connection on the cluster's page.",
        )
    elif facts.missing_rights:
        yield Problem(
            Level.BLOCKER,
            f"Missing: {named(facts.missing_rights)}.",
            "Apply the roles shown on the cluster's page again.",
        )
    if facts.missing_node_rights and facts.converts_nodes:
        yield Problem(
            Level.BLOCKER,
            f"Missing to convert nodes: {named(facts.missing_node_rights)}.",
            "Apply the manifest for migrations, which the cluster's page shows.",
            Blocks.NODES,
        )


@rule("routing", "Traffic can be divided by weight")
def routing(facts: Facts) -> Iterator[Problem]:
    if "gateway.networking.k8s.io/v1/httproutes" not in facts.served:
        yield Problem(
            Level.WARNING,
            "The cluster has no Gateway API: the share of a pool is that of its replicas.",
            "Install a gateway with inference pools, or accept coarse steps.",
        )


@rule("telemetry", "The gates have figures to judge by")
def telemetry(facts: Facts) -> Iterator[Problem]:
    if facts.metrics:
        blocking = facts.metrics_state in ("not-configured", "no-permission")
        yield Problem(
            Level.BLOCKER if blocking else Level.WARNING,
            facts.metrics,
            "Name a Prometheus, or allow the pod proxy; gates without figures hold.",
        )


@rule("names", "Each extended resource name belongs to one class")
def names(facts: Facts) -> Iterator[Problem]:
    by_name: dict[str, list[str]] = {}
    for one in facts.classes:
        if one.extended_resource:
            by_name.setdefault(one.extended_resource, []).append(one.name)
    for resource, owners in sorted(by_name.items()):
        if len(owners) > 1:
            yield Problem(
                Level.BLOCKER if facts.has_bridge else Level.WARNING,
                f"{resource} is the name of {named(sorted(owners))}; the newest class wins, and on "
                "a tie the one that sorts first.",
                "Take the name from all classes but one.",
            )
