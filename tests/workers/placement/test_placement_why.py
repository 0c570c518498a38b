"""A pod that waits is told why, node by node and filter by filter, and what would fit now."""

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.common.models import Ask
from apps.inventory.models import Event, Pod, Revision
from domain.placement import Fleet, fitting, place
from tests.workers.placement.test_placement_worker import (
    BIG,
    DRIVER,
    Mirror,
    ask,
    device,
    held_claim,
    mirror,
    service,
    slice_of,
)

__all__ = ["mirror", "service"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("service")]
Json = dict[str, Any]


def answered(mirror: Mirror, kind: str, question: Json) -> Json:
    found = ask(mirror, kind, question)
    assert found.answer is not None, found.problem
    answer: Json = found.answer
    return answer


def template(count: int = 1, *selectors: str) -> Json:
    exactly = {
        "deviceClassName": "gpu",
        "count": count,
        "selectors": [{"cel": {"expression": text}} for text in selectors],
    }
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    return {"metadata": {"name": "t", "namespace": "vision"}, "spec": {"spec": spec}}


def pod(name: str = "p", **spec: Any) -> Json:
    return {
        "metadata": {"name": name, "namespace": "vision", "uid": f"uid-{name}"},
        "spec": {
            "containers": [{"name": "main"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def give(mirror: Mirror, *objects: tuple[str, Json]) -> None:
    for kind, body in objects:
        Revision.objects.get_or_create(
            cluster=mirror.cluster, kind=kind, defaults={"listed_at": timezone.now()}
        )
        mirror.put(kind, body)


@pytest.fixture(autouse=True)
def room_for_pods(mirror: Mirror) -> None:
    mirror.put("nodes", NODE)


NODE: Json = {"metadata": {"name": "n1"}, "status": {"allocatable": {"pods": "110"}}}
WHO = {"namespace": "vision", "pod": "p"}


def test_a_pod_that_asks_for_too_many_is_told_how_many_there_are(mirror: Mirror) -> None:
    give(mirror, ("resourceclaimtemplates", template(3)), ("pods", pod()))
    found = answered(mirror, "why", WHO)
    assert found["outcome"] == "no"
    assert found["message"] == "0/1 nodes are available: 1 cannot allocate all claims."
    assert found["reasons"] == [
        {"reason": "cannot allocate all claims", "count": 1, "nodes": ["n1"]}
    ]
    assert found["funnels"][0]["first_empty"] == "constraints"
    texts = [fix["text"] for fix in found["fixes"]["found"]]
    assert texts == ["Ask for 2 instead of 3 in gpu"]


def test_the_selector_that_removed_the_devices_is_named_with_what_they_have(mirror: Mirror) -> None:
    mirror.put("resourceslices", slice_of("n1", device("gpu-0", "40Gi"), device("gpu-1", "24Gi")))
    give(mirror, ("resourceclaimtemplates", template(1, BIG)), ("pods", pod()))
    found = answered(mirror, "why", WHO)
    (funnel,) = found["funnels"]
    assert funnel["first_empty"] == "request selectors"
    layer = next(one for one in funnel["layers"] if one["name"] == "request selectors")
    assert (layer["count"], layer["removed"]) == (0, 2)
    assert "memory is 40Gi" in layer["detail"]
    lower = next(fix for fix in found["fixes"]["found"] if fix["kind"] == "lower")
    assert lower["text"].startswith("Ask for 40Gi instead of 80Gi")


def test_each_fix_fits_when_it_is_carried_out(mirror: Mirror) -> None:
    give(mirror, ("resourceclaimtemplates", template(5)), ("pods", pod()))
    found = answered(mirror, "why", WHO)
    fleet = Fleet.build(
        [
            {"kind": "Node", "metadata": {"name": "n1"}},
            {"kind": "ResourceSlice", **slice_of("n1", device("gpu-0"), device("gpu-1", "40Gi"))},
            {
                "kind": "DeviceClass",
                "metadata": {"name": "gpu"},
                "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
            },
        ]
    )
    claims = [fix["claims"] for fix in found["fixes"]["found"] if fix["claims"]]
    assert claims
    for one in claims:
        assert fitting(place(fleet, one, mode="all")) == ["n1"]


def test_who_has_to_end_is_named(mirror: Mirror) -> None:
    give(mirror, ("resourceclaims", held_claim()))
    give(mirror, ("resourceclaimtemplates", template(2)), ("pods", pod()))
    found = answered(mirror, "why", WHO)
    ends = [fix for fix in found["fixes"]["found"] if fix["kind"] == "end"]
    assert [fix["ends"] for fix in ends] == [["vision/c1"]]


def test_claims_of_others_are_not_named_to_who_may_not_end_them(mirror: Mirror) -> None:
    give(mirror, ("resourceclaims", held_claim()))
    give(mirror, ("resourceclaimtemplates", template(2)), ("pods", pod()))
    found = answered(mirror, "why", WHO | {"may_end": ["speech"]})
    assert {fix["kind"] for fix in found["fixes"]["found"]} == {"fewer"}


def test_a_pod_refused_by_its_node_is_told_so_and_by_how_many(mirror: Mirror) -> None:
    tainted = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    mirror.put("nodes", NODE | {"spec": {"taints": [tainted]}})
    give(mirror, ("resourceclaimtemplates", template()), ("pods", pod()))
    found = answered(mirror, "why", WHO)
    assert "untolerated taint" in found["reasons"][0]["reason"]
    assert found["reasons"][0]["count"] == 1
    assert [fix["text"] for fix in found["fixes"]["found"]] == [
        "Tolerate the node taint dedicated=x:NoSchedule"
    ]


def test_what_was_not_considered_is_said(mirror: Mirror) -> None:
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    give(mirror, ("resourceclaimtemplates", template(3)))
    give(mirror, ("pods", pod(topologySpreadConstraints=spread)))
    found = answered(mirror, "why", WHO)
    assert any("spread" in said for said in found["considered_not"])


def test_a_pod_that_runs_and_one_that_is_gone_are_no_riddles(mirror: Mirror) -> None:
    give(mirror, ("pods", pod(nodeName="n1")))
    assert answered(mirror, "why", WHO)["outcome"] == "settled"
    gone = ask(mirror, "why", {"namespace": "vision", "pod": "other"})
    assert (gone.state, "no pod vision/other" in gone.problem) == (Ask.State.FAILED, True)


def test_a_claim_without_a_pod_is_explained_too(mirror: Mirror) -> None:
    waiting = held_claim() | {"status": {}}
    waiting["spec"]["devices"]["requests"][0]["exactly"]["count"] = 4
    give(mirror, ("resourceclaims", waiting))
    found = answered(mirror, "why", {"namespace": "vision", "claim": "c1"})
    assert (found["outcome"], found["fixes"]["found"][0]["kind"]) == ("no", "fewer")
    assert any("the pod that will use it" in said for said in found["considered_not"])


def test_approved_patterns_that_fit_are_proposed(mirror: Mirror) -> None:
    give(mirror, ("resourceclaimtemplates", template(3)), ("pods", pod()))
    other = {"metadata": {"name": "x"}, "spec": template(2)["spec"]["spec"]}
    found = answered(mirror, "why", WHO | {"candidates": {"pair": [other]}})
    assert "Pattern pair fits now" in [fix["text"] for fix in found["fixes"]["found"]]


def test_a_check_gives_fixes_when_they_are_asked_for(mirror: Mirror) -> None:
    claim = {"metadata": {"name": "asked"}, "spec": template(3)["spec"]["spec"]}
    assert "fixes" not in answered(mirror, "check", {"claims": [claim]})
    found = answered(mirror, "check", {"claims": [claim], "fixes": True})
    assert found["fixes"]["found"][0]["text"] == "Ask for 2 instead of 3 in gpu"
    assert answered(mirror, "fixes", {"claims": [claim]})["fixes"] == found["fixes"]


def test_a_check_looks_at_every_node_of_a_larger_cluster(mirror: Mirror) -> None:
    for i in range(2, 61):
        mirror.put("nodes", {"metadata": {"name": f"n{i}"}})
    mirror.put("resourceslices", slice_of("n60", device("a"), device("b"), device("c")))
    claim = {"metadata": {"name": "asked"}, "spec": template(3)["spec"]["spec"]}
    found = answered(mirror, "check", {"claims": [claim]})
    assert (found["looked_at"], found["of"], found["nodes"]) == (60, 60, ["n60"])
    assert not found["partial"]


# --- Lint
def test_a_name_that_no_driver_publishes_is_remarked_on(mirror: Mirror) -> None:
    text = f'device.attributes["{DRIVER}"].typ == "gpu"'
    (remark,) = [
        one
        for one in answered(mirror, "lint", {"expressions": [text]})["remarks"]
        if one["code"] == "name"
    ]
    assert remark["expression"] == 0
    assert "type" in remark["advice"]
    matched = answered(mirror, "match", {"request_selectors": [text]})
    assert remark in matched["remarks"]


# --- Shadow
RESOURCE = "nvidia.com/gpu"


def plugin_pod(name: str, units: int, node: str = "old", namespace: str = "vision") -> Json:
    resources = {"limits": {RESOURCE: str(units)}, "requests": {RESOURCE: str(units)}}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": resources}]},
        "status": {"phase": "Running"},
    }


@pytest.fixture
def plugin(mirror: Mirror) -> Mirror:
    amounts = {RESOURCE: "8", "pods": "110", "cpu": "64"}
    node = {
        "metadata": {"name": "old", "labels": {"pool": "a"}},
        "status": {"allocatable": amounts},
    }
    mirror.put("nodes", node)
    for name, units in (("a", 4), ("b", 2), ("c", 1)):
        mirror.put("pods", plugin_pod(name, units))
    return mirror


ASKED = {"class": "gpu", "resource": RESOURCE}


def test_workloads_are_put_onto_what_is_published_now(plugin: Mirror) -> None:
    """Two devices are free: the pod that wants four does not fit, the one that wants two does."""
    found = answered(plugin, "shadow", ASKED)
    assert (found["of"], found["fits"], found["misfits"]) == (3, 1, 2)
    assert found["placed"][0] == {
        "namespace": "vision",
        "name": "b",
        "units": 2,
        "node": "old",
        "to": "n1",
    }
    assert [(one["units"], one["count"]) for one in found["left"]] == [(4, 1), (1, 1)]
    assert found["left"][1]["funnel"]["first_empty"] == "not in use"
    assert (found["before"]["free"], found["after"]["free"]) == (2, 0)
    assert not found["partial"]


def test_with_their_own_node_s_cards_published_all_of_them_fit(plugin: Mirror) -> None:
    found = answered(plugin, "shadow", ASKED | {"as_published": True})
    assert (found["fits"], found["misfits"], found["published_nodes"]) == (3, 0, ["old"])
    assert (found["before"]["free"], found["after"]["free"]) == (10, 3)


def test_cards_that_other_pods_hold_there_are_not_given_away(plugin: Mirror) -> None:
    plugin.put("pods", plugin_pod("theirs", 1, namespace="speech"))
    question = ASKED | {"as_published": True, "namespaces": ["vision"]}
    found = answered(plugin, "shadow", question)
    assert (found["of"], found["before"]["free"]) == (3, 9)


def test_only_the_nodes_that_are_asked_for_count(plugin: Mirror) -> None:
    assert answered(plugin, "shadow", ASKED | {"node_labels": {"pool": "a"}})["of"] == 3
    assert answered(plugin, "shadow", ASKED | {"node_labels": {"pool": "b"}})["of"] == 0


def test_a_class_that_is_not_there_is_said(plugin: Mirror) -> None:
    found = ask(plugin, "shadow", ASKED | {"class": "other"})
    assert "no device class other" in found.problem


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("why", {"namespace": 3, "pod": "p"}),
        ("why", {}),
        ("lint", {"expressions": "text"}),
        ("shadow", ASKED | {"namespaces": "vision"}),
        ("shadow", ASKED | {"node_labels": {"a": 1}}),
        ("check", {"claims": [{"metadata": {"name": "x"}}], "candidates": []}),
        ("check", {"claims": [{"metadata": {"name": "x"}}], "candidates": {"a": 3}}),
    ],
)
def test_what_cannot_be_read_is_said_and_no_failure(
    mirror: Mirror, kind: str, question: Json
) -> None:
    found = ask(mirror, kind, question)
    assert "its log" not in found.problem


def test_an_answer_fits_into_a_row(mirror: Mirror) -> None:
    give(mirror, ("resourceclaimtemplates", template(3)), ("pods", pod()))
    found = ask(mirror, "why", WHO)
    with connection.cursor() as cursor:
        cursor.execute("SELECT answer->>'cluster' FROM common_ask WHERE id = %s", [found.pk])
        assert cursor.fetchone()[0] == "east"


def test_cards_that_the_plugin_shares_count_once(plugin: Mirror) -> None:
    """Eight units, four to a card, are two cards."""
    meta = {"name": "old", "labels": {"nvidia.com/gpu.replicas": "4"}}
    plugin.put("nodes", {"metadata": meta, "status": {"allocatable": {RESOURCE: "8"}}})
    assert answered(plugin, "shadow", ASKED | {"as_published": True})["before"]["cards"] == 4


def of(found: Json, name: str) -> Json:
    layer: Json = next(one for one in found["layers"] if one["name"] == name)
    return layer


def test_the_layers_say_how_far_a_pod_has_come(mirror: Mirror) -> None:
    give(mirror, ("resourceclaimtemplates", template(3)), ("pods", pod()))
    found = answered(mirror, "why", WHO)
    assert [one["name"] for one in found["layers"]] == [
        "Approval",
        "Quota",
        "Admission checks",
        "Class",
        "Device selection",
        "Node",
        "Image and start",
    ]
    assert [one["name"] for one in found["layers"] if one["is_first"]] == ["Device selection"]
    assert of(found, "Class")["verdict"] == "passed"
    assert of(found, "Node")["verdict"] == "none"
    assert "2 is the most there is" in of(found, "Device selection")["text"]


def test_a_claim_that_quota_refused_is_the_first_reason(mirror: Mirror) -> None:
    give(mirror, ("resourceclaimtemplates", template(1)), ("pods", pod()))
    Pod.objects.create(
        cluster=mirror.cluster, uid="uid-p", namespace="vision", name="p", phase="Pending"
    )
    said = 'resourceclaims "p-gpu" is forbidden: exceeded quota: claimyard, limited: gpu=1'
    Event.objects.create(
        cluster=mirror.cluster,
        uid="e1",
        about_kind="Pod",
        about_uid="uid-p",
        about_name="p",
        reason="FailedResourceClaimCreation",
        message=said,
        last_at=timezone.now(),
    )
    found = answered(mirror, "why", WHO)
    quota = of(found, "Quota")
    assert (quota["verdict"], quota["words"], quota["is_first"]) == ("stuck", said, True)
    assert of(found, "Admission checks")["verdict"] == "none"


def test_a_gate_holds_a_pod_back_before_its_devices_count(mirror: Mirror) -> None:
    gated = pod(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    give(mirror, ("resourceclaimtemplates", template(1)), ("pods", gated))
    found = answered(mirror, "why", WHO)
    assert of(found, "Admission checks")["is_first"]


def test_a_container_that_does_not_start_is_named(mirror: Mirror) -> None:
    placed = pod(nodeName="n1")
    give(mirror, ("resourceclaimtemplates", template(1)), ("pods", placed))
    waiting = {"name": "main", "state": "waiting", "reason": "ErrImagePull", "message": "no such"}
    Pod.objects.create(
        cluster=mirror.cluster,
        uid="uid-p",
        namespace="vision",
        name="p",
        phase="Pending",
        node_name="n1",
        containers=[waiting],
    )
    start = of(answered(mirror, "why", WHO), "Image and start")
    assert (start["is_first"], start["words"]) == (True, "no such")
