"""Discovery, and kinds that a CustomResourceDefinition adds."""

from collections.abc import Callable
from typing import Any

from tests.contract.client import STRATEGIC, Client
from tests.contract.conftest import Cluster
from tests.contract.objects import definition

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def established(item: dict[str, Any]) -> bool:
    conditions = item.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def served(api: Client, group: str) -> str:
    """A new kind's path, once it is served."""
    assert api.create(DEFINITIONS, definition("widgets", group)).status == 201
    api.wait(f"{DEFINITIONS}/widgets.{group}", established)
    api.wait(f"/apis/{group}/v1", lambda body: body["resources"])
    return f"/apis/{group}/v1/namespaces/default/widgets"


def widget(group: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def test_the_resource_group_is_served(cluster: Cluster) -> None:
    body = cluster.client.get("/apis/resource.k8s.io/v1").body
    resources = {item["name"]: item for item in body["resources"]}
    expected = {
        "deviceclasses",
        "resourceclaims",
        "resourceclaims/status",
        "resourceclaimtemplates",
        "resourceslices",
    }
    taints = {"devicetaintrules", "devicetaintrules/status"}
    assert resources.keys() == expected | (set() if "1.34" in cluster.name else taints)
    assert resources["resourceclaims"]["verbs"] == [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ]


def test_aggregated_discovery_tells_the_same(api: Client) -> None:
    answer = api.ask("GET", "/apis", headers={"Accept": AGGREGATED})
    assert answer.body["kind"] == "APIGroupDiscoveryList"
    groups = {item["metadata"]["name"]: item["versions"] for item in answer.body["items"]}
    (version,) = [v for v in groups["apps"] if v["version"] == "v1"]
    found = {item["resource"]: item for item in version["resources"]}["deployments"]
    assert found["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    assert (found["scope"], found["singularResource"]) == ("Namespaced", "deployment")
    assert {part["subresource"] for part in found["subresources"]} == {"scale", "status"}


def test_health_is_told(api: Client) -> None:
    for path in ("/healthz", "/readyz", "/livez"):
        assert (api.get(path).status, api.get(path).body) == (200, "ok")


def test_a_definition_makes_its_kind_served(api: Client, unique: Callable[[str], str]) -> None:
    group = f"{unique('group')}.example.com"
    path = served(api, group)
    made = api.create(path, widget(group, "w", color="red"))
    assert made.status == 201
    assert made.body["spec"] == {"color": "red", "size": 1}
    assert made.body["metadata"]["generation"] == 1
    body = api.get(path).body
    assert (body["kind"], body["items"][0]["kind"]) == ("WidgetList", "Widget")
    groups = {item["name"] for item in api.get("/apis").body["groups"]}
    assert group in groups
    api.delete(f"{DEFINITIONS}/widgets.{group}")
    api.wait_gone(path)


def test_a_custom_resource_is_checked_against_its_schema(
    api: Client, unique: Callable[[str], str]
) -> None:
    group = f"{unique('group')}.example.com"
    path = served(api, group)
    answer = api.create(path, widget(group, "w"))
    assert answer.message == f'Widget.{group} "w" is invalid: spec.color: Required value'
    answer = api.create(path, widget(group, "w", color=3))
    assert answer.message == (
        f'Widget.{group} "w" is invalid: spec.color: Invalid value: "integer": spec.color in body '
        'must be of type string: "integer"'
    )
    assert api.patch(f"{path}/w", {}, STRATEGIC).status == 415
    api.delete(f"{DEFINITIONS}/widgets.{group}")


def test_a_custom_resource_has_status_scale_and_list_keys(
    api: Client, unique: Callable[[str], str]
) -> None:
    group = f"{unique('group')}.example.com"
    path = served(api, group)
    one = widget(group, "w", color="red", parts=[{"name": "a", "value": "1"}])
    two = widget(group, "w", parts=[{"name": "b", "value": "2"}])
    api.apply(f"{path}/w", one, "one")
    applied = api.apply(f"{path}/w", two, "two").body
    assert [part["name"] for part in applied["spec"]["parts"]] == ["a", "b"]
    ignored = api.patch(f"{path}/w", {"status": {"size": 3}}).body
    assert "status" not in ignored
    api.patch(f"{path}/w/status", {"status": {"size": 3}})
    scale = api.patch(f"{path}/w/scale", {"spec": {"replicas": 5}}).body
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (5, 3)
    assert api.get(f"{path}/w").body["spec"]["size"] == 5
    api.delete(f"{DEFINITIONS}/widgets.{group}")
