"""Whatever a client sends is stored or refused; the server never stumbles."""

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simulator.apiserver.api import Api, WriteOptions
from simulator.apiserver.decoding import object_of
from simulator.apiserver.kinds import Kind, Kinds
from simulator.apiserver.patches import json_patch, merge_patch, strategic_merge
from simulator.apiserver.problems import Refused
from simulator.apiserver.store import Store
from tests.contract.objects import (
    claim,
    claim_template,
    config_map,
    definition,
    deployment,
    pod,
    resource_slice,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["", "a", "gpu", "x/y", "1Gi"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "a", "spec", "metadata", "$patch"]), inner, max_size=2
        )
    ),
    max_leaves=4,
)
WIDGET = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w"},
    "spec": {"color": "red", "parts": [{"name": "a", "value": "1"}]},
}
SAMPLES = [
    config_map("a", {"x": "y"}, key="value"),
    pod("a", volumes=[{"name": "v"}], tolerations=[{"key": "k"}]),
    deployment("a", env=[{"name": "A", "value": "1"}], livenessProbe={"httpGet": {"port": 1}}),
    claim("a"),
    claim_template("a"),
    resource_slice("a", "n"),
    WIDGET,
    definition("gadgets", "example.org"),
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Api:
    made = Api(Store(tmp_path_factory.mktemp("robust")), Kinds())
    made.create(
        kind_of(
            made,
            namespace := {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
        ),
        "",
        namespace,
        WriteOptions(),
    )
    widgets = definition("widgets", "example.com")
    made.create(kind_of(made, widgets), "", widgets, WriteOptions())
    return made


def kind_of(api: Api, item: dict[str, Any]) -> Kind:
    return next(
        kind
        for kind in api.kinds
        if (kind.group_version, kind.kind) == (item["apiVersion"], item["kind"])
    )


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, below in value.items():
            found += places(below, (*path, key))
    elif isinstance(value, list):
        for number, below in enumerate(value):
            found += places(below, (*path, number))
    return found


@st.composite
def damaged(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A good object, and the same with something else in up to two places."""
    good = draw(st.sampled_from(SAMPLES))
    bad = copy.deepcopy(good)
    for _ in range(draw(st.integers(1, 2))):
        *way, last = draw(st.sampled_from(places(bad)))
        parent: Any = bad
        for step in way:
            parent = parent[step]
        parent[last] = draw(JSON)
    return good, bad


def survives(work: Callable[[], object]) -> None:
    try:
        work()
    except Refused as refusal:
        status = refusal.status()
        assert status["code"] == refusal.code and status["message"]  # noqa: PT017


@settings(max_examples=150)
@given(damaged())
def test_damaged_objects_are_stored_or_refused(
    api: Api, pair: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    good, bad = pair
    kind = kind_of(api, good)
    namespace = "default" if kind.namespaced else ""
    name = good["metadata"]["name"]
    options = WriteOptions(dry_run=True, force=True)

    def create() -> object:
        return api.create(kind, namespace, object_of(kind, copy.deepcopy(bad)), options)

    def apply() -> object:
        config = object_of(kind, copy.deepcopy(bad), applying=True)
        return api.apply(kind, namespace, name, config, options)

    survives(create)
    survives(apply)
    with_live(api, kind, namespace, good)
    kind_type = api.type_of(kind)

    def merge(old: dict[str, Any]) -> Any:
        return merge_patch(old, copy.deepcopy(bad))

    def strategic(old: dict[str, Any]) -> Any:
        return strategic_merge(old, copy.deepcopy(bad), kind_type)

    for change in (merge, strategic):
        survives(partial(api.patch, kind, namespace, name, change, options))
    survives(apply)


def with_live(api: Api, kind: Kind, namespace: str, good: dict[str, Any]) -> None:
    if api.store.get(kind, namespace, good["metadata"]["name"]) is None:
        api.apply(
            kind, namespace, good["metadata"]["name"], copy.deepcopy(good), WriteOptions("one")
        )


@settings(max_examples=200)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]),
                "path": st.sampled_from(["", "/a", "/a/b", "/a/0", "/a/-", "/a/9", "/c~1d", "x"]),
                "from": st.sampled_from(["", "/a", "/a/0", "/q"]),
                "value": JSON,
            }
        ),
        max_size=3,
    )
)
@example([{"op": "add", "path": "/a/-", "from": "", "value": 1}])
def test_any_json_patch_applies_or_is_refused(operations: list[dict[str, Any]]) -> None:
    before = {"a": [1, 2], "c/d": {"x": 1}}
    kept = copy.deepcopy(before)
    survives(lambda: json_patch(before, operations))
    assert before == kept


def test_the_folder_of_objects_is_private(tmp_path: Path) -> None:
    store = Store(tmp_path / "objects")
    store.close()
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "objects").iterdir()}
    assert modes == {0}
