"""Deletion: preconditions, finalizers, grace, collections, evictions."""

from tests.contract.client import Client
from tests.contract.objects import claim, claims, config_map, config_maps, pod, pods


def held(name: str) -> dict[str, object]:
    made = config_map(name)
    made["metadata"]["finalizers"] = ["example.com/hold"]
    return made


def test_a_deletion_says_what_went(api: Client, namespace: str) -> None:
    made = api.create(config_maps(namespace), config_map("a")).body
    answer = api.delete(config_maps(namespace, "a"))
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]},
    }
    assert api.get(config_maps(namespace, "a")).status == 404
    assert api.delete(config_maps(namespace, "a")).status == 404


def test_a_deleted_claim_comes_back_as_it_was(api: Client, namespace: str) -> None:
    made = api.create(claims(namespace), claim("c")).body
    answer = api.delete(claims(namespace, "c"))
    assert answer.body["kind"] == "ResourceClaim"
    assert answer.body["metadata"]["uid"] == made["metadata"]["uid"]


def test_a_uid_guards_a_deletion(api: Client, namespace: str) -> None:
    made = api.create(config_maps(namespace), config_map("a")).body
    answer = api.delete(config_maps(namespace, "a"), {"preconditions": {"uid": "other"}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert answer.message == (
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does '
        f"not match the UID in record ({made['metadata']['uid']}). The object might have been "
        "deleted and then recreated"
    )
    guarded = {"preconditions": {"uid": made["metadata"]["uid"]}}
    assert api.delete(config_maps(namespace, "a"), guarded).status == 200


def test_a_finalizer_holds_an_object(api: Client, namespace: str) -> None:
    path = config_maps(namespace, "a")
    api.create(config_maps(namespace), held("a"))
    answer = api.delete(path)
    assert answer.status == 200 and answer.body["metadata"]["deletionTimestamp"]
    assert api.get(path).body["metadata"]["deletionGracePeriodSeconds"] == 0
    again = api.create(config_maps(namespace), config_map("a"))
    assert again.message == 'object is being deleted: configmaps "a" already exists'
    change = {"metadata": {"finalizers": ["example.com/hold", "example.com/late"]}}
    assert 'found new finalizers []string{"example.com/late"}' in api.patch(path, change).message
    assert api.patch(path, {"data": {"x": "1"}}).status == 200
    assert api.patch(path, {"metadata": {"finalizers": None}}).status == 200
    assert api.get(path).status == 404


def test_watchers_see_an_object_held_and_then_gone(api: Client, namespace: str) -> None:
    path = config_maps(namespace, "a")
    made = api.create(config_maps(namespace), held("a")).body
    revision = made["metadata"]["resourceVersion"]
    chosen = {"fieldSelector": "metadata.name=a", "resourceVersion": revision}
    with api.watch(config_maps(namespace), **chosen) as watch:
        api.delete(path)
        api.patch(path, {"metadata": {"finalizers": None}})
        assert watch.seen(2) == [("MODIFIED", "a"), ("DELETED", "a")]


def test_foreground_deletion_leaves_the_rest_to_the_collector(api: Client, namespace: str) -> None:
    api.create(config_maps(namespace), config_map("a"))
    answer = api.delete(config_maps(namespace, "a"), {"propagationPolicy": "Foreground"})
    assert answer.body["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_an_unknown_policy_is_refused(api: Client, namespace: str) -> None:
    api.create(config_maps(namespace), config_map("a"))
    answer = api.delete(config_maps(namespace, "a"), {"propagationPolicy": "Sideways"})
    assert answer.status == 422
    assert answer.message == (
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways"'
        ': supported values: "Foreground", "Background", "Orphan", "nil"'
    )


def test_a_collection_is_deleted_by_selector(api: Client, namespace: str) -> None:
    for name, team in (("a", "x"), ("b", "x"), ("c", "y")):
        api.create(config_maps(namespace), config_map(name, {"team": team}))
    answer = api.delete(config_maps(namespace), labelSelector="team=x")
    assert {item["metadata"]["name"] for item in answer.body["items"]} == {"a", "b"}
    left = api.get(config_maps(namespace), labelSelector="team").body["items"]
    assert [item["metadata"]["name"] for item in left] == ["c"]


def test_a_pod_without_a_node_goes_at_once(api: Client, namespace: str) -> None:
    api.create(pods(namespace), pod("p"))
    assert api.delete(pods(namespace, "p")).body["kind"] == "Pod"
    assert api.get(pods(namespace, "p")).status == 404


def test_a_bound_pod_has_its_grace(api: Client, namespace: str) -> None:
    api.create(pods(namespace), pod("p", terminationGracePeriodSeconds=20))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "nowhere"},
    }
    api.create(f"{pods(namespace, 'p')}/binding", binding)
    meta = api.delete(pods(namespace, "p")).body["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 20
    shorter = api.delete(pods(namespace, "p"), {"gracePeriodSeconds": 5}).body["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 5
    api.delete(pods(namespace, "p"), {"gracePeriodSeconds": 0})
    assert api.get(pods(namespace, "p")).status == 404


def test_an_evicted_pod_is_deleted(api: Client, namespace: str) -> None:
    api.create(pods(namespace), pod("p"))
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p", "namespace": namespace},
    }
    answer = api.create(f"{pods(namespace, 'p')}/eviction", eviction)
    assert (answer.status, answer.body["status"]) == (201, "Success")
    assert api.get(pods(namespace, "p")).status == 404
