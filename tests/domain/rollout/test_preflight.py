"""Every rule of the preflight: once broken, once fine."""

from dataclasses import replace
from typing import Any

import pytest

from domain.rollout import parity
from domain.rollout.preflight import (
    Blocks,
    ClassFacts,
    Facts,
    Install,
    Level,
    NodeFacts,
    QuotaFacts,
    WorkloadFacts,
    check,
    rules,
)

SERVED = frozenset(
    {
        *(
            f"resource.k8s.io/v1/{name}"
            for name in (
                "resourceslices",
                "deviceclasses",
                "resourceclaims",
                "resourceclaimtemplates",
                "devicetaintrules",
            )
        ),
        "gateway.networking.k8s.io/v1/httproutes",
    }
)
NODE = NodeFacts("n1", "device-plugin", driver_version="580.95.05", cdi=True)
FINE = Facts(
    version="v1.37.2",
    served=SERVED,
    mode="manage",
    installs=frozenset({Install.PLUGIN, Install.DRA}),
    nodes=(NODE,),
    classes=(ClassFacts("h100", "nvidia.com/gpu"),),
    workloads=(WorkloadFacts("vision/llama", "vision"),),
    quotas=(QuotaFacts("vision", "h100", 8, 2, 2),),
    free={"h100": 4},
    first={"h100": 1},
    wanted={"h100": 2},
    converts_nodes=True,
)


def worst(code: str, facts: Facts) -> Level:
    order = [Level.BLOCKER, Level.WARNING, Level.UNKNOWN, Level.OK]
    return min((one.level for one in check(facts) if one.code == code), key=order.index)


def workload(**changes: Any) -> tuple[WorkloadFacts, ...]:
    return (replace(FINE.workloads[0], **changes),)


def node(**changes: Any) -> tuple[NodeFacts, ...]:
    return (replace(NODE, **changes),)


def test_a_cluster_in_order_has_nothing_in_the_way() -> None:
    assert {one.level for one in check(FINE)} == {Level.OK}


BROKEN: list[tuple[str, dict[str, Any], Level]] = [
    ("freshness", {"is_live": False}, Level.BLOCKER),
    ("version", {"version": "v1.33.1"}, Level.BLOCKER),
    ("version", {"version": ""}, Level.UNKNOWN),
    ("version", {"version": "v1.35.0", "workloads": workload(way="bridge")}, Level.BLOCKER),
    ("apis", {"served": frozenset()}, Level.BLOCKER),
    ("mode", {"mode": "propose"}, Level.BLOCKER),
    ("mode", {"writes_stopped": "All writes are stopped."}, Level.BLOCKER),
    ("rights", {"missing_rights": ("patch nodes",)}, Level.BLOCKER),
    ("rights", {"missing_rights": None}, Level.UNKNOWN),
    ("rights", {"missing_node_rights": ("patch nodes",)}, Level.BLOCKER),
    ("routing", {"served": frozenset()}, Level.WARNING),
    ("telemetry", {"metrics": "None named.", "metrics_state": "not-configured"}, Level.BLOCKER),
    ("telemetry", {"metrics": "n1 is down.", "metrics_state": "target-down"}, Level.WARNING),
    (
        "names",
        {"classes": (ClassFacts("a", "nvidia.com/gpu"), ClassFacts("b", "nvidia.com/gpu"))},
        Level.WARNING,
    ),
    ("install", {"installs": None}, Level.UNKNOWN),
    ("install", {"installs": frozenset({Install.CLUSTER_POLICY})}, Level.BLOCKER),
    (
        "install",
        {"installs": frozenset({Install.CLUSTER_POLICY, Install.GPU_CLUSTER})},
        Level.BLOCKER,
    ),
    ("driver", {"nodes": node(driver_version="570.1")}, Level.BLOCKER),
    ("driver", {"nodes": node(driver_version="")}, Level.UNKNOWN),
    ("cdi", {"nodes": node(cdi=False)}, Level.BLOCKER),
    ("cdi", {"nodes": node(cdi=None)}, Level.UNKNOWN),
    ("both-paths", {"nodes": node(path="both")}, Level.BLOCKER),
    ("pools", {"nodes": node(incomplete=("gpu.nvidia.com/n1",))}, Level.WARNING),
    ("shares", {"nodes": node(sharing="time-slicing")}, Level.WARNING),
    ("nodes", {"nodes": node(is_ready=False)}, Level.WARNING),
    ("nodes", {"nodes": node(is_schedulable=False)}, Level.WARNING),
    ("strangers", {"nodes": node(strangers=("labs/box",))}, Level.BLOCKER),
    ("health", {"served": frozenset()}, Level.WARNING),
    ("mapping", {"workloads": ()}, Level.BLOCKER),
    ("mapping", {"workloads": workload(way="none", reason="shares")}, Level.BLOCKER),
    ("foreign", {"workloads": workload(is_ours=False)}, Level.WARNING),
    ("capacity", {"free": {"h100": 0}}, Level.BLOCKER),
    ("capacity", {"free": {"h100": 1}}, Level.WARNING),
    ("capacity", {"free": {"h100": None}}, Level.UNKNOWN),
    ("capacity", {"free": {}}, Level.UNKNOWN),
    ("quota", {"quotas": (QuotaFacts("vision", "h100", 3, 2, 2),)}, Level.BLOCKER),
    ("preemption", {"workloads": workload(priority=1000)}, Level.WARNING),
    ("budgets", {"workloads": workload(budgets=0, budget=None)}, Level.WARNING),
    ("budgets", {"workloads": workload(budgets=2, budget=None)}, Level.BLOCKER),
    ("budgets", {"workloads": workload(budget=0)}, Level.WARNING),
    (
        "kueue",
        {
            "served": SERVED | {"kueue.x-k8s.io/v1beta2/clusterqueues"},
            "workloads": workload(queue="q", constraints=True),
        },
        Level.BLOCKER,
    ),
    (
        "kueue",
        {
            "served": SERVED | {"kueue.x-k8s.io/v1beta2/clusterqueues"},
            "workloads": (*workload(queue="q"), *workload(queue="q", way="bridge")),
        },
        Level.BLOCKER,
    ),
    (
        "kueue",
        {
            "served": SERVED | {"kueue.x-k8s.io/v1beta2/clusterqueues"},
            "workloads": workload(queue="q"),
        },
        Level.WARNING,
    ),
]


@pytest.mark.parametrize(("code", "changes", "level"), BROKEN)
def test_what_is_wrong_is_found(code: str, changes: dict[str, Any], level: Level) -> None:
    assert worst(code, replace(FINE, **changes)) == level


def test_each_rule_is_broken_by_some_case() -> None:
    assert {rule.code for rule in rules()} == {code for code, _, _ in BROKEN}


def test_whatever_is_found_has_evidence_and_a_remedy() -> None:
    for _, changes, _ in BROKEN:
        for one in check(replace(FINE, **changes)):
            assert one.level == Level.OK or (one.evidence and one.remedy)


def test_what_concerns_nodes_alone_does_not_stop_the_pools() -> None:
    found = check(replace(FINE, nodes=node(strangers=("labs/box",))))
    assert {one.blocks for one in found if one.level == Level.BLOCKER} == {Blocks.NODES}


def test_blockers_come_first() -> None:
    assert check(replace(FINE, mode="observe", free={}))[0].level == Level.BLOCKER


def test_two_owners_of_a_resource_name_stop_the_bridge() -> None:
    classes = (ClassFacts("a", "nvidia.com/gpu"), ClassFacts("b", "nvidia.com/gpu"))
    facts = replace(FINE, classes=classes, workloads=workload(way="bridge"))
    assert worst("names", facts) == Level.BLOCKER


def test_the_parity_table_speaks_of_seven_things_and_of_those_in_use() -> None:
    lines = parity.matrix(parity.ParityFacts(sharing=frozenset({"time-slicing"})))
    assert [one.subject for one in lines] == [
        "Time-slicing",
        "MPS",
        "MIG",
        "Preemption",
        "Health",
        "Topology",
        "Attribution",
    ]
    assert lines[0].verdict == parity.Parity.MISSING
    assert lines[0].matters and not lines[1].matters


def test_what_the_cluster_has_makes_parity_better() -> None:
    facts = parity.ParityFacts(
        has_partitions=True, has_shared_devices=True, has_pcie_root=True, attributes_claims=True
    )
    by_subject = {one.subject: one.verdict for one in parity.matrix(facts)}
    assert by_subject["MIG"] == by_subject["Topology"] == by_subject["Attribution"] == "same"
    assert by_subject["Time-slicing"] == "weaker"
    assert by_subject["Preemption"] == "missing"
