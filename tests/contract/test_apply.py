"""Server-side apply: ownership of fields, conflicts, force, and what goes when it is given up."""

from typing import Any

from tests.contract.client import APPLY, Client
from tests.contract.objects import config_map, config_maps, deployment, deployments

Object = dict[str, Any]


def owners(item: Object) -> dict[tuple[str, str], Object]:
    """Fields by manager and operation, without what controllers write."""
    return {
        (entry["manager"], entry["operation"]): entry["fieldsV1"]
        for entry in item["metadata"]["managedFields"]
        if entry.get("subresource") != "status"
    }


def partial(**spec: Any) -> Object:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}


def test_apply_makes_a_missing_object(api: Client, namespace: str) -> None:
    answer = api.apply(f"{config_maps(namespace)}/a", config_map("a", x="1"), "one")
    assert (answer.status, answer.body["data"]) == (201, {"x": "1"})
    assert owners(answer.body)[("one", "Apply")]["f:data"] == {"f:x": {}}


def test_applying_the_same_again_changes_nothing(api: Client, namespace: str) -> None:
    path = f"{config_maps(namespace)}/a"
    first = api.apply(path, config_map("a", x="1"), "one").body
    again = api.apply(path, config_map("a", x="1"), "one")
    assert again.status == 200
    assert again.body["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_apply_wants_a_manager(api: Client, namespace: str) -> None:
    answer = api.patch(f"{config_maps(namespace)}/a", config_map("a"), APPLY)
    assert answer.status == 422
    assert answer.message == (
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for '
        "apply patch"
    )


def test_another_managers_value_is_a_conflict(api: Client, namespace: str) -> None:
    path = f"{deployments(namespace)}/d"
    api.apply(path, deployment("d", replicas=1), "one")
    answer = api.apply(path, partial(replicas=3), "two")
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    assert answer.body["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "one"',
            "field": ".spec.replicas",
        }
    ]


def test_a_conflict_with_an_updater_names_its_version(api: Client, namespace: str) -> None:
    path = f"{deployments(namespace)}/d"
    api.apply(path, deployment("d", replicas=1), "one")
    api.patch(path, {"spec": {"replicas": 2}}, fieldManager="hand")
    answer = api.apply(path, deployment("d", replicas=1), "one")
    assert answer.message == (
        'Apply failed with 1 conflict: conflict with "hand" using apps/v1: .spec.replicas'
    )


def test_several_conflicts_are_listed(api: Client, namespace: str) -> None:
    path = f"{deployments(namespace)}/d"
    api.apply(path, deployment("d"), "one")
    containers = [{"name": "main", "image": "example/other:2"}]
    other = partial(replicas=3, template={"spec": {"containers": containers}})
    answer = api.apply(path, other, "two")
    assert answer.message == (
        'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.replicas\n'
        '- .spec.template.spec.containers[name="main"].image'
    )


def test_force_takes_the_field_away(api: Client, namespace: str) -> None:
    path = f"{deployments(namespace)}/d"
    api.apply(path, deployment("d", replicas=1), "one")
    forced = api.apply(path, partial(replicas=3), "two", force="true").body
    assert forced["spec"]["replicas"] == 3
    assert "f:replicas" not in owners(forced)[("one", "Apply")]["f:spec"]
    assert owners(forced)[("two", "Apply")] == {"f:spec": {"f:replicas": {}}}


def test_equal_values_are_shared_without_conflict(api: Client, namespace: str) -> None:
    path = f"{config_maps(namespace)}/a"
    api.apply(path, config_map("a", x="1"), "one")
    shared = api.apply(path, config_map("a", x="1"), "two").body
    assert {manager for manager, _ in owners(shared)} == {"one", "two"}
    kept = api.apply(path, config_map("a", y="2"), "one").body
    assert kept["data"] == {"x": "1", "y": "2"}
    gone = api.apply(path, config_map("a", z="3"), "two").body
    assert gone["data"] == {"y": "2", "z": "3"}


def test_fields_that_are_given_up_go(api: Client, namespace: str) -> None:
    path = f"{deployments(namespace)}/d"
    both = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    api.apply(path, deployment("d", env=both), "one")
    left = api.apply(path, deployment("d", env=both[:1]), "one").body
    (main,) = left["spec"]["template"]["spec"]["containers"]
    assert main["env"] == both[:1]


def test_what_the_server_filled_in_stays_when_an_applier_leaves(
    api: Client, namespace: str
) -> None:
    path = f"{deployments(namespace)}/d"
    api.apply(path, deployment("d", replicas=2), "one")
    without = deployment("d")
    del without["spec"]["replicas"]
    assert api.apply(path, without, "one").body["spec"]["replicas"] == 1


def test_containers_of_two_appliers_live_side_by_side(api: Client, namespace: str) -> None:
    path = f"{deployments(namespace)}/d"
    api.apply(path, deployment("d"), "one")
    side = [{"name": "side", "image": "example/side:1"}]
    joined = api.apply(path, partial(template={"spec": {"containers": side}}), "two").body
    assert [c["name"] for c in joined["spec"]["template"]["spec"]["containers"]] == [
        "main",
        "side",
    ]
    alone = api.apply(path, {"apiVersion": "apps/v1", "kind": "Deployment"}, "two").body
    assert [c["name"] for c in alone["spec"]["template"]["spec"]["containers"]] == ["main"]


def test_tolerations_have_one_owner(api: Client, namespace: str) -> None:
    path = f"{deployments(namespace)}/d"
    first = deployment("d")
    first["spec"]["template"]["spec"]["tolerations"] = [{"key": "a", "operator": "Exists"}]
    api.apply(path, first, "one")
    other = partial(template={"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}})
    answer = api.apply(path, other, "two")
    assert answer.message == (
        'Apply failed with 1 conflict: conflict with "one": .spec.template.spec.tolerations'
    )


def test_status_has_owners_of_its_own(api: Client, namespace: str) -> None:
    path = f"{deployments(namespace)}/d"
    api.apply(path, deployment("d"), "one")
    status = {"conditions": [{"type": "Mine", "status": "True"}]}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "status": status}
    applied = api.apply(f"{path}/status", body, "reporter").body
    entry = next(e for e in applied["metadata"]["managedFields"] if e["manager"] == "reporter")
    assert entry["subresource"] == "status"
    assert entry["fieldsV1"]["f:status"]["f:conditions"] == {
        'k:{"type":"Mine"}': {".": {}, "f:status": {}, "f:type": {}}
    }
    assert applied["spec"]["replicas"] == 1


def test_an_unknown_field_stops_an_apply(api: Client, namespace: str) -> None:
    answer = api.apply(f"{deployments(namespace)}/d", deployment("d") | {"colour": 1}, "one")
    assert answer.status == 500
    assert answer.message.endswith(
        "apps/v1, Kind=Deployment): .colour: field not declared in schema"
    )


def test_a_list_key_may_stand_once(api: Client, namespace: str) -> None:
    twice = deployment("d", env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])
    answer = api.apply(f"{deployments(namespace)}/d", twice, "one")
    assert answer.status == 500
    assert answer.message.endswith('.env: duplicate entries for key [name="A"]')


def test_managed_fields_can_be_cleared(api: Client, namespace: str) -> None:
    path = f"{config_maps(namespace)}/a"
    api.apply(path, config_map("a", x="1"), "one")
    cleared = api.patch(path, {"metadata": {"managedFields": [{}]}}).body
    assert "managedFields" not in cleared["metadata"]
