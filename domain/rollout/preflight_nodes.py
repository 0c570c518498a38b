"""Preflight rules on drivers and nodes."""

from collections.abc import Iterator

from domain.rollout.preflight import Blocks, Facts, Install, Level, Problem, named, rule

LEAST_DRIVER = 580  # NVIDIA GPU Operator 26.7, requirements of its DRA mode
LEAST_PATCH = "1.34.2"


@rule("install", "Drivers were installed in a way that can be changed node by node")
def install(facts: Facts) -> Iterator[Problem]:
    if facts.installs is None:
        yield Problem(
            Level.UNKNOWN,
            "Nobody could tell how the drivers were installed.",
            "Grant the rights to read DaemonSets, ClusterPolicy and GPUCluster.",
            Blocks.NODES,
        )
        return
    both = {Install.CLUSTER_POLICY, Install.GPU_CLUSTER} <= facts.installs
    if both:
        yield Problem(
            Level.BLOCKER,
            "The cluster has a ClusterPolicy and a GPUCluster; they exclude each other.",
            "Remove one of them before anything else.",
        )
    elif Install.CLUSTER_POLICY in facts.installs:
        yield Problem(
            Level.BLOCKER if facts.converts_nodes else Level.WARNING,
            "The GPU Operator runs the device plugin by a ClusterPolicy, which holds for the whole "
            "cluster: it is not converted in place.",
            "Move to a pool of new nodes that the operator leaves alone, or to another cluster.",
            Blocks.NODES,
        )


@rule("driver", "The cards' driver is new enough")
def driver(facts: Facts) -> Iterator[Problem]:
    for one in facts.nodes:
        major = one.driver_version.partition(".")[0]
        if not major and one.path == "device-plugin":
            yield Problem(
                Level.UNKNOWN,
                f"{one.name} does not tell its driver's version.",
                "Run feature discovery there, or look by hand.",
                Blocks.NODES,
            )
        elif major.isdecimal() and int(major) < LEAST_DRIVER and one.path == "device-plugin":
            yield Problem(
                Level.BLOCKER if facts.converts_nodes else Level.WARNING,
                f"{one.name} has driver {one.driver_version}; the DRA driver needs {LEAST_DRIVER}.",
                "Upgrade the driver before this node is converted.",
                Blocks.NODES,
            )


@rule("cdi", "Container runtimes take devices by CDI")
def cdi(facts: Facts) -> Iterator[Problem]:
    off = [one.name for one in facts.nodes if one.cdi is False]
    untold = [one.name for one in facts.nodes if one.cdi is None and one.path == "device-plugin"]
    if off:
        yield Problem(
            Level.BLOCKER,
            f"CDI is off on {named(off)}.",
            "Switch CDI on in the container runtime; the DRA driver hands devices over by it.",
            Blocks.NODES,
        )
    if untold:
        yield Problem(
            Level.UNKNOWN,
            f"Nothing tells whether CDI is on: {named(untold)}.",
            "Check enable_cdi in containerd 1.7, or run containerd 2 or CRI-O, where it is on.",
            Blocks.NODES,
        )


@rule("both-paths", "No node offers its cards twice")
def both_paths(facts: Facts) -> Iterator[Problem]:
    twice = [one.name for one in facts.nodes if one.path == "both"]
    if twice:
        yield Problem(
            Level.BLOCKER,
            f"Device plugin and DRA driver both hand out the cards of {named(twice)}; neither "
            "knows what the other gave away.",
            "Stop one of the two on these nodes.",
        )


@rule("pools", "Every device pool is whole")
def pools(facts: Facts) -> Iterator[Problem]:
    found = [name for one in facts.nodes for name in one.incomplete]
    if found:
        yield Problem(
            Level.WARNING,
            f"Not all slices are there: {named(found)}. Nothing is allocated from such a pool.",
            "Look at the DRA driver's pods on these nodes.",
        )


@rule("shares", "No card is cut into time slices")
def shares(facts: Facts) -> Iterator[Problem]:
    found = [one.name for one in facts.nodes if one.sharing in ("time-slicing", "mps")]
    if found:
        yield Problem(
            Level.WARNING,
            f"{named(found)} share cards ({next(o.sharing for o in facts.nodes if o.sharing)}); a "
            "claim takes a whole device.",
            "Partition the cards, or let several pods share one claim; see the parity table.",
            Blocks.NODES,
        )


@rule("nodes", "The nodes of the scope are in order")
def nodes(facts: Facts) -> Iterator[Problem]:
    away = [one.name for one in facts.nodes if not one.is_ready]
    closed = [one.name for one in facts.nodes if one.is_ready and not one.is_schedulable]
    if away:
        yield Problem(
            Level.WARNING,
            f"Not ready: {named(away)}.",
            "Repair them, or leave them out of the plan.",
        )
    if closed:
        yield Problem(
            Level.WARNING,
            f"Cordoned by somebody else: {named(closed)}. They stay cordoned afterwards.",
            "Uncordon them if they should take part.",
            Blocks.NODES,
        )


@rule("strangers", "Nobody else uses the devices of the nodes to convert")
def strangers(facts: Facts) -> Iterator[Problem]:
    for one in facts.nodes:
        if one.strangers and one.path in ("device-plugin", "both"):
            yield Problem(
                Level.BLOCKER if facts.converts_nodes else Level.WARNING,
                f"{one.name} is used by {named(one.strangers)}, which the portal does not manage.",
                "Ask their owners to move them; they are never touched from here.",
                Blocks.NODES,
            )


@rule("health", "A sick device is noticed as before")
def health(facts: Facts) -> Iterator[Problem]:
    served = any(
        f"resource.k8s.io/{version}/devicetaintrules" in facts.served
        for version in ("v1", "v1beta2", "v1alpha3")
    )
    if not served:
        yield Problem(
            Level.WARNING,
            "The server has no DeviceTaintRule: a sick device leaves service only if its driver "
            "taints it, and that check is off by default in NVIDIA's.",
            "Switch NVMLDeviceHealthCheck on in the driver, or watch the cards by other means.",
        )
