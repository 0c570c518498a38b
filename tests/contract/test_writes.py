"""Create, replace and patch: what is filled in, what is refused, what a dry run leaves behind."""

import pytest

from tests.contract.client import APPLY, JSON_PATCH, MERGE, STRATEGIC, Client
from tests.contract.objects import (
    claim,
    claim_template,
    claim_templates,
    claims,
    config_map,
    config_maps,
    deployment,
    deployments,
    node,
    nodes,
    pod,
    pods,
    request,
)


def test_a_created_object_is_given_identity_and_revision(api: Client, namespace: str) -> None:
    answer = api.create(config_maps(namespace), config_map("a", x="1"))
    meta = answer.body["metadata"]
    assert answer.status == 201
    assert len(meta["uid"]) == 36 and meta["creationTimestamp"].endswith("Z")
    assert meta["namespace"] == namespace and int(meta["resourceVersion"]) > 0
    assert answer.body["data"] == {"x": "1"}


def test_a_name_can_be_generated(api: Client, namespace: str) -> None:
    made = config_map("") | {"metadata": {"generateName": "prefix-"}}
    names = {api.create(config_maps(namespace), made).body["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("prefix-") and len(name) == 12 for name in names)


def test_an_existing_name_is_refused(api: Client, namespace: str) -> None:
    api.create(config_maps(namespace), config_map("a"))
    answer = api.create(config_maps(namespace), config_map("a"))
    assert (answer.status, answer.body["reason"]) == (409, "AlreadyExists")
    assert answer.message == 'configmaps "a" already exists'
    assert answer.body["details"] == {"name": "a", "kind": "configmaps"}


def test_a_namespace_must_exist(api: Client) -> None:
    answer = api.create(config_maps("no-such-namespace"), config_map("a"))
    assert answer.status == 404
    assert answer.message == 'namespaces "no-such-namespace" not found'


def test_a_stale_replacement_is_refused(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    old = api.create(path, config_map("a", x="1")).body
    api.patch(f"{path}/a", {"data": {"x": "2"}})
    answer = api.put(f"{path}/a", old)
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please '
        "apply your changes to the latest version and try again"
    )


def test_a_replacement_without_revision_wins(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    api.create(path, config_map("a", x="1"))
    answer = api.put(f"{path}/a", config_map("a", y="2"))
    assert answer.status == 200 and answer.body["data"] == {"y": "2"}


def test_a_patch_with_a_stale_revision_is_refused(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    api.create(path, config_map("a"))
    answer = api.patch(f"{path}/a", {"metadata": {"resourceVersion": "1"}, "data": {"x": "1"}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")


def test_a_write_that_changes_nothing_keeps_the_revision(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    before = api.create(path, config_map("a", x="1")).body
    after = api.patch(f"{path}/a", {"data": {"x": "1"}}).body
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_merge_patch_removes_what_is_null(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    api.create(path, config_map("a", x="1", y="2"))
    assert api.patch(f"{path}/a", {"data": {"x": None}}, MERGE).body["data"] == {"y": "2"}


def test_json_patch_tests_before_it_changes(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    api.create(path, config_map("a", x="1"))
    change = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "add", "path": "/metadata/labels", "value": {}},
        {"op": "add", "path": "/metadata/labels/example.com~1y", "value": "2"},
        {"op": "add", "path": "/data/y", "value": "2"},
        {"op": "remove", "path": "/data/x"},
    ]
    patched = api.patch(f"{path}/a", change, JSON_PATCH).body
    assert patched["data"] == {"y": "2"}
    assert patched["metadata"]["labels"] == {"example.com/y": "2"}
    answer = api.patch(f"{path}/a", change, JSON_PATCH)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert answer.message.startswith("the server rejected our request due to an error in our")


def test_strategic_merge_knows_containers_by_name(api: Client, namespace: str) -> None:
    path = deployments(namespace)
    api.create(path, deployment("d", env=[{"name": "A", "value": "1"}]))
    change = {"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}]}]}
    patched = api.patch(f"{path}/d", {"spec": {"template": {"spec": change}}}, STRATEGIC).body
    (main,) = patched["spec"]["template"]["spec"]["containers"]
    assert main["image"] == "example/main:1"
    assert {item["name"] for item in main["env"]} == {"A", "B"}
    change = {"containers": [{"name": "main", "env": [{"name": "A", "$patch": "delete"}]}]}
    patched = api.patch(f"{path}/d", {"spec": {"template": {"spec": change}}}, STRATEGIC).body
    (main,) = patched["spec"]["template"]["spec"]["containers"]
    assert main["env"] == [{"name": "B", "value": "2"}]


@pytest.mark.parametrize("verb", ["create", "apply", "patch", "put", "delete"])
def test_a_dry_run_leaves_nothing_behind(api: Client, namespace: str, verb: str) -> None:
    path = config_maps(namespace)
    before = api.create(path, config_map("old", x="1")).body
    changed = config_map("old", x="2")
    answers = {
        "create": lambda: api.create(path, config_map("new"), dryRun="All"),
        "apply": lambda: api.apply(f"{path}/old", changed, "m", dryRun="All", force="true"),
        "patch": lambda: api.patch(f"{path}/old", {"data": {"x": "2"}}, dryRun="All"),
        "put": lambda: api.put(f"{path}/old", changed, dryRun="All"),
        "delete": lambda: api.delete(f"{path}/old", dryRun="All"),
    }
    answer = answers[verb]()
    assert answer.status in (200, 201)
    if verb in ("apply", "patch", "put"):
        assert answer.body["data"] == {"x": "2"}
    assert api.get(f"{path}/new").status == 404
    assert api.get(f"{path}/old").body == before


def test_a_dry_run_is_refused_as_the_write_would_be(api: Client, namespace: str) -> None:
    answer = api.create(config_maps(namespace), config_map("Not_A_Name"), dryRun="All")
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


def test_status_is_written_through_its_own_endpoint_only(api: Client, namespace: str) -> None:
    path = claims(namespace)
    made = claim("c") | {"status": {"reservedFor": []}}
    assert api.create(path, made).body["status"] == {}
    results = [{"request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": "d"}]
    status = {"allocation": {"devices": {"results": results}}}
    assert api.patch(f"{path}/c", {"status": status}).body["status"] == {}
    change = {"metadata": {"labels": {"x": "y"}}, "status": status}
    patched = api.patch(f"{path}/c/status", change).body
    assert patched["status"] == status
    assert "labels" not in patched["metadata"]
    assert api.patch(f"{path}/c", {"metadata": {"labels": {"x": "y"}}}).body["status"] == status


def test_generation_counts_changes_of_the_specification(api: Client, namespace: str) -> None:
    path = deployments(namespace)

    def generation(change: dict[str, object], part: str = "") -> int:
        number: int = api.patch(f"{path}/d{part}", change).body["metadata"]["generation"]
        return number

    assert api.create(path, deployment("d")).body["metadata"]["generation"] == 1
    assert generation({"metadata": {"labels": {"x": "y"}}}) == 1
    assert generation({"status": {"collisionCount": 3}}, "/status") == 1
    assert generation({"spec": {"replicas": 2}}) == 2


def test_claims_are_filled_with_mode_and_count(api: Client, namespace: str) -> None:
    made = api.create(claims(namespace), claim("c")).body
    (asked,) = made["spec"]["devices"]["requests"]
    assert asked["exactly"] == {
        "deviceClassName": "gpu.example.com",
        "allocationMode": "ExactCount",
        "count": 1,
    }
    every = claim("all", request(allocationMode="All"))
    (asked,) = api.create(claims(namespace), every).body["spec"]["devices"]["requests"]
    assert "count" not in asked["exactly"]
    template = api.create(claim_templates(namespace), claim_template("t")).body
    (asked,) = template["spec"]["spec"]["devices"]["requests"]
    assert asked["exactly"]["count"] == 1


def test_deployments_are_filled_as_people_know_them(api: Client, namespace: str) -> None:
    made = deployment("d", livenessProbe={"httpGet": {"port": 80}}, ports=[{"containerPort": 80}])
    spec = api.create(deployments(namespace), made).body["spec"]
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)
    (main,) = spec["template"]["spec"]["containers"]
    assert main["livenessProbe"] == {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert main["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert main["imagePullPolicy"] == "IfNotPresent"


def test_quantities_are_stored_in_one_form(api: Client, namespace: str) -> None:
    limits = {
        "cpu": "1000m",
        "memory": "1024Mi",
        "example.com/gpu": 2,
        "ephemeral-storage": "1.5Gi",
    }
    made = deployment("d", resources={"limits": limits})
    spec = api.create(deployments(namespace), made).body["spec"]["template"]["spec"]
    assert spec["containers"][0]["resources"]["limits"] == {
        "cpu": "1",
        "memory": "1Gi",
        "example.com/gpu": "2",
        "ephemeral-storage": "1536Mi",
    }


def test_scale_changes_replicas_alone(api: Client, namespace: str) -> None:
    path = deployments(namespace)
    api.create(path, deployment("d", replicas=2))
    scale = api.get(f"{path}/d/scale").body
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"]["selector"] == "app=d"
    assert api.patch(f"{path}/d/scale", {"spec": {"replicas": 0}}).body["spec"] == {}
    found = api.get(f"{path}/d").body
    assert found["spec"]["replicas"] == 0 and found["metadata"]["generation"] == 2


def test_a_pod_is_bound_once(api: Client, namespace: str) -> None:
    api.create(pods(namespace), pod("p"))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "somewhere"},
    }
    assert api.create(f"{pods(namespace)}/p/binding", binding).status == 201
    found = api.get(f"{pods(namespace)}/p").body
    assert found["spec"]["nodeName"] == "somewhere"
    assert "PodScheduled" in {item["type"] for item in found["status"]["conditions"]}
    answer = api.create(f"{pods(namespace)}/p/binding", binding)
    assert answer.status == 409
    assert answer.message.endswith('pod p is already assigned to node "somewhere"')


def test_unknown_fields_are_dropped_with_a_warning_or_refused(api: Client, namespace: str) -> None:
    path = config_maps(namespace)
    odd = config_map("a") | {"colour": "red"}
    answer = api.create(path, odd)
    assert answer.status == 201 and "colour" not in answer.body
    assert answer.headers["Warning"] == '299 - "unknown field \\"colour\\""'
    answer = api.create(path, odd, fieldValidation="Strict")
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert answer.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "colour"'
    )


def test_bodies_may_be_yaml(api: Client, namespace: str) -> None:
    text = (
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\ndata: {when: 2026-01-01}\n"
    )
    path = f"{config_maps(namespace)}/from-yaml"
    answer = api.ask("PATCH", path, text, media=APPLY, fieldManager="m")
    assert (answer.status, answer.body["data"]) == (201, {"when": "2026-01-01"})


def test_cordon_marks_a_node(api: Client, unique) -> None:  # type: ignore[no-untyped-def]
    name = unique("node")
    api.create(nodes(), node(name))
    answer = api.patch(nodes(name), {"spec": {"unschedulable": True}}, STRATEGIC)
    assert answer.body["spec"]["unschedulable"] is True
    listed = api.get(nodes(), fieldSelector="spec.unschedulable=true").body["items"]
    assert name in {item["metadata"]["name"] for item in listed}
