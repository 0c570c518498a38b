"""Lists, pages and selectors."""

from tests.contract.client import Client
from tests.contract.objects import (
    config_map,
    config_maps,
    node,
    nodes,
    pod,
    pods,
    resource_slice,
    resource_slices,
)


def filled(api: Client, namespace: str, count: int = 5) -> str:
    path = config_maps(namespace)
    for number in range(count):
        made = config_map(f"c{number}", {"parity": "even" if number % 2 == 0 else "odd"})
        assert api.create(path, made).status == 201
    return path


def test_pages_cover_a_list_in_order_and_state_what_remains(api: Client, namespace: str) -> None:
    path = filled(api, namespace)
    names, token = [], ""
    remaining = []
    revisions = set()
    while True:
        page = api.get(path, limit=2, **({"continue": token} if token else {})).body
        names += [item["metadata"]["name"] for item in page["items"]]
        revisions.add(page["metadata"]["resourceVersion"])
        remaining.append(page["metadata"].get("remainingItemCount"))
        token = page["metadata"].get("continue", "")
        if not token:
            break
    own = [name for name in names if name.startswith("c")]
    assert own == ["c0", "c1", "c2", "c3", "c4"]
    assert names == sorted(names)
    assert len(revisions) == 1
    assert remaining[-1] is None and remaining[0] == len(names) - 2


def test_later_pages_show_the_state_of_the_first(api: Client, namespace: str) -> None:
    path = filled(api, namespace)
    first = api.get(path, limit=2).body
    assert api.delete(f"{path}/c4").status == 200
    assert api.create(path, config_map("c5")).status == 201
    token = first["metadata"]["continue"]
    rest = api.get(path, limit=50, **{"continue": token}).body
    names = [item["metadata"]["name"] for item in rest["items"]]
    assert "c4" in names and "c5" not in names


def test_a_token_that_is_none_is_refused(api: Client, namespace: str) -> None:
    answer = api.get(config_maps(namespace), limit=2, **{"continue": "zzz"})
    assert answer.status == 400
    assert answer.message.startswith("invalid continue token: continue key is not valid:")
    assert answer.body["reason"] == "BadRequest"


def test_items_of_a_list_carry_neither_kind_nor_version(api: Client, namespace: str) -> None:
    path = filled(api, namespace, 1)
    body = api.get(path).body
    assert body["kind"] == "ConfigMapList" and body["apiVersion"] == "v1"
    assert not {"kind", "apiVersion"} & body["items"][0].keys()


def test_labels_select(api: Client, namespace: str) -> None:
    path = filled(api, namespace)

    def chosen(selector: str) -> list[str]:
        items = api.get(path, labelSelector=selector).body["items"]
        return [item["metadata"]["name"] for item in items]

    assert chosen("parity=odd") == ["c1", "c3"]
    assert chosen("parity==even") == ["c0", "c2", "c4"]
    assert chosen("parity in (odd, even)") == ["c0", "c1", "c2", "c3", "c4"]
    assert chosen("parity,parity notin (odd)") == ["c0", "c2", "c4"]
    assert chosen("parity!=odd,parity") == ["c0", "c2", "c4"]
    assert not {"c0", "c1"} & set(chosen("!parity"))


def test_a_label_selector_with_bad_syntax_is_refused(api: Client, namespace: str) -> None:
    answer = api.get(config_maps(namespace), labelSelector="a b")
    assert answer.status == 400
    assert answer.message == (
        "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
    )


def test_fields_select_by_name_and_namespace(api: Client, namespace: str) -> None:
    path = filled(api, namespace, 3)
    body = api.get(path, fieldSelector="metadata.name=c1").body
    assert [item["metadata"]["name"] for item in body["items"]] == ["c1"]
    everywhere = api.get("/api/v1/configmaps", fieldSelector=f"metadata.namespace={namespace}").body
    assert {item["metadata"]["namespace"] for item in everywhere["items"]} == {namespace}


def test_pods_are_selected_by_node_and_phase(api: Client, namespace: str) -> None:
    for name in ("a", "b"):
        assert api.create(pods(namespace), pod(name)).status == 201
    waiting = api.get(pods(namespace), fieldSelector="spec.nodeName=,status.phase=Pending").body
    assert [item["metadata"]["name"] for item in waiting["items"]] == ["a", "b"]
    placed = api.get(pods(namespace), fieldSelector="spec.nodeName!=").body
    assert placed["items"] == []


def test_slices_are_selected_by_driver_and_node(api: Client, unique) -> None:  # type: ignore[no-untyped-def]
    first, second = unique("node"), unique("node")
    for name in (first, second):
        assert api.create(nodes(), node(name)).status == 201
        assert api.create(resource_slices(), resource_slice(f"{name}-s", name)).status == 201
    body = api.get(resource_slices(), fieldSelector=f"spec.nodeName={first}").body
    assert [item["metadata"]["name"] for item in body["items"]] == [f"{first}-s"]
    body = api.get(resource_slices(), fieldSelector="spec.driver=other.example.com").body
    assert body["items"] == []


def test_an_unknown_field_in_a_selector_is_refused(api: Client, namespace: str) -> None:
    answer = api.get(pods(namespace), fieldSelector="spec.color=red")
    assert answer.status == 400
    assert answer.message == "field label not supported: spec.color"


def test_a_revision_that_is_no_number_is_refused(api: Client, namespace: str) -> None:
    answer = api.get(config_maps(namespace), resourceVersion="abc")
    assert answer.status == 400
    assert answer.message == (
        'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: '
        'parsing "abc": invalid syntax'
    )


def test_a_list_can_be_cut_to_metadata(api: Client, namespace: str) -> None:
    path = filled(api, namespace, 1)
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    body = api.ask("GET", path, headers={"Accept": accept}).body
    assert body["kind"] == "PartialObjectMetadataList"
    assert all("data" not in item for item in body["items"])


def test_a_list_can_be_a_table(api: Client, namespace: str) -> None:
    path = filled(api, namespace, 1)
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    body = api.ask("GET", path, headers={"Accept": accept}).body
    assert body["kind"] == "Table"
    assert [column["name"] for column in body["columnDefinitions"]] == ["Name", "Data", "Age"]
    rows = {row["cells"][0]: row["cells"][1] for row in body["rows"]}
    assert rows["c0"] == 0
