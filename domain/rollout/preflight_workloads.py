"""Preflight rules on workloads, capacity, quotas and queues."""

from collections.abc import Iterator

from domain.rollout.preflight import Blocks, Facts, Level, Problem, named, rule


@rule("mapping", "Every workload has something that stands for what it asks")
def mapping(facts: Facts) -> Iterator[Problem]:
    for one in facts.workloads:
        if one.way == "none" and one.is_ours:
            yield Problem(
                Level.WARNING,
                f"{one.name} cannot move: {one.reason}",
                "It stays on the device plugin; its nodes are not converted.",
            )
    if facts.workloads and all(one.way == "none" for one in facts.workloads):
        yield Problem(
            Level.BLOCKER,
            "Nothing in the scope can move.",
            "Approve a pattern that stands for these resources, or choose another scope.",
        )
    if not facts.workloads:
        yield Problem(Level.BLOCKER, "The scope is empty.", "Choose deployments that exist.")


@rule("foreign", "The portal manages the workloads of the scope")
def foreign(facts: Facts) -> Iterator[Problem]:
    found = [one.name for one in facts.workloads if not one.is_ours]
    if found:
        yield Problem(
            Level.WARNING,
            f"Not managed by the portal: {named(found)}. They are listed and never touched.",
            "Their owners can take the changed manifests from the plan.",
            Blocks.NODES,
        )


@rule("capacity", "Devices are free for the new pools beside the old ones")
def capacity(facts: Facts) -> Iterator[Problem]:
    for name, wanted in sorted(facts.wanted.items()):
        free = facts.free.get(name)
        first = facts.first.get(name, 0)
        if free is None:
            yield Problem(
                Level.UNKNOWN,
                f"How many devices of {name} are free could not be told.",
                "See that a placement worker runs; then check again.",
            )
        elif free < first:
            yield Problem(
                Level.BLOCKER,
                f"{name}: {free} free, but the first replica of the canary takes {first}.",
                "Free or add devices on the new path: both pools run side by side for a while.",
            )
        elif free < wanted:
            yield Problem(
                Level.WARNING,
                f"{name}: {free} free of {wanted} that all new pools take together.",
                "Old pools must shrink before the last ones can grow; expect later waves to wait.",
            )


@rule("quota", "The quotas hold for both paths at once")
def quota(facts: Facts) -> Iterator[Problem]:
    for one in facts.quotas:
        left = one.limit - one.used
        if left < one.extra:
            yield Problem(
                Level.BLOCKER,
                f"{one.tenant} may hold {one.limit} of {one.device_class}, holds {one.used}, and "
                f"needs {one.extra} more while both pools run.",
                f"Raise the quota by {one.extra - left} for the time of the move.",
            )


@rule("preemption", "Nobody relies on making others give way")
def preemption(facts: Facts) -> Iterator[Problem]:
    found = [one.name for one in facts.workloads if one.priority > 0 and one.way != "none"]
    if found:
        yield Problem(
            Level.WARNING,
            f"{named(found)} have a priority. For claims the scheduler does not preempt: a pod of "
            "high priority waits until devices are free.",
            "Keep devices in reserve, or let Kueue preempt whole workloads.",
        )


@rule("budgets", "Disruption budgets allow nodes to be drained")
def budgets(facts: Facts) -> Iterator[Problem]:
    ours = [one for one in facts.workloads if one.is_ours and one.way != "none"]
    none = [one.name for one in ours if one.budgets == 0]
    many = [one.name for one in ours if one.budgets > 1]
    shut = [one.name for one in ours if one.budgets == 1 and one.budget == 0]
    if none:
        yield Problem(
            Level.WARNING,
            f"Without a disruption budget: {named(none)}.",
            "Add one, so that a drain never takes all replicas at once.",
            Blocks.NODES,
        )
    if many:
        yield Problem(
            Level.BLOCKER if facts.converts_nodes else Level.WARNING,
            f"Under more than one budget, which no eviction gets past: {named(many)}.",
            "Leave one budget for each of them.",
            Blocks.NODES,
        )
    if shut:
        yield Problem(
            Level.WARNING,
            f"No pod may be away now: {named(shut)}. A drain waits for it.",
            "Add a replica, or let the budget allow one.",
            Blocks.NODES,
        )


_KUEUE = ("kueue.x-k8s.io/v1beta2/clusterqueues", "kueue.x-k8s.io/v1beta1/clusterqueues")


@rule("kueue", "Queues can count what the new pools take")
def kueue(facts: Facts) -> Iterator[Problem]:
    if not any(api in facts.served for api in _KUEUE):
        return
    queued = [one for one in facts.workloads if one.queue and one.way != "none"]
    bound = [one.name for one in queued if one.constraints]
    if bound:
        yield Problem(
            Level.BLOCKER,
            f"{named(bound)} wait in a queue, and their pattern has constraints, which Kueue does "
            "not count.",
            "Use a pattern without constraints for queued workloads.",
        )
    ways = {one.way for one in queued}
    if {"claims", "bridge"} <= ways:
        yield Problem(
            Level.BLOCKER,
            "Claims and extended resources of the same devices are both queued: they would be "
            "counted twice.",
            "Move queued workloads by one of the two ways only.",
        )
    elif queued:
        yield Problem(
            Level.WARNING,
            f"{named(one.name for one in queued)} wait in a queue; a class that Kueue's "
            "configuration does not map is never admitted.",
            "Map the classes under deviceClassMappings before the move.",
        )
