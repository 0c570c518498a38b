"""The small rules of the simulated API server, each by itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.quantity import parse
from simulator.apiserver.columns import duration, json_path, selector_text
from simulator.apiserver.fieldsets import decoded, difference, encoded, fields_of
from simulator.apiserver.merging import merged, without
from simulator.apiserver.ownership import APPLY, Writer, applied, record
from simulator.apiserver.patches import strategic_merge
from simulator.apiserver.paths import Target, target
from simulator.apiserver.problems import Refused
from simulator.apiserver.quantities import canonical
from simulator.apiserver.schema import built_in
from simulator.apiserver.selectors import label_test, selects

CONFIG_MAP = built_in("io.k8s.api.core.v1.ConfigMap")
POD = built_in("io.k8s.api.core.v1.Pod")
NOW = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("2000", "2k"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0", "0"),
        ("-2000m", "-2"),
        (4, "4"),
        ("1e3", "1e3"),
        ("many", "many"),
    ],
)
def test_quantities_have_one_form(written: str | int, stored: str) -> None:
    assert canonical(written) == stored


@given(
    st.integers(0, 10**6),
    st.sampled_from(["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]),
)
def test_the_one_form_has_the_same_value(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"
    assert parse(canonical(text)) == parse(text)
    assert canonical(canonical(text)) == canonical(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (270, "4m30s"),
        (25 * 60, "25m"),
        (179 * 60, "179m"),
        (3 * 3600 + 20 * 60, "3h20m"),
        (12 * 3600 + 59, "12h"),
        (50 * 3600, "2d2h"),
        (20 * 86400, "20d"),
        (800 * 86400, "2y70d"),
    ],
)
def test_ages_read_as_kubectl_writes_them(seconds: int, text: str) -> None:
    assert duration(seconds) == text


def test_json_paths_pick_by_name_place_and_value() -> None:
    item = {"a": {"b": [{"type": "X", "v": 1}, {"type": "Y", "v": 2}]}}
    assert json_path(item, ".a.b[1].v") == 2
    assert json_path(item, '.a.b[?(@.type=="Y")].v') == 2
    assert json_path(item, ".a.c.d") is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", Target("", "v1", "", "pods")),
        ("/api/v1/namespaces", Target("", "v1", "", "namespaces")),
        ("/api/v1/namespaces/a", Target("", "v1", "", "namespaces", "a")),
        ("/api/v1/namespaces/a/finalize", Target("", "v1", "", "namespaces", "a", "finalize")),
        ("/api/v1/namespaces/a/pods/b/log", Target("", "v1", "a", "pods", "b", "log")),
        (
            "/api/v1/namespaces/a/pods/b:80/proxy/x/y",
            Target("", "v1", "a", "pods", "b:80", "proxy", "x/y"),
        ),
        ("/api/v1/watch/pods", Target("", "v1", "", "pods", watched=True)),
        ("/apis/apps/v1/deployments", Target("apps", "v1", "", "deployments")),
        ("/apis/apps/v1", None),
        ("/version", None),
    ],
)
def test_paths_name_their_resource(path: str, expected: Target | None) -> None:
    assert target(path) == expected


def test_label_selectors_compare_numbers_and_presence() -> None:
    test = label_test("size>3,!old")
    assert test
    assert test({"size": "4"}) and not test({"size": "3"})
    assert not test({"size": "4", "old": ""}) and not test({})


def test_selectors_of_the_api_match_as_they_read() -> None:
    selector = {
        "matchLabels": {"a": "b"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["d", "e"]},
            {"key": "f", "operator": "DoesNotExist"},
        ],
    }
    assert selects(selector, {"a": "b", "c": "e"})
    assert not selects(selector, {"a": "b", "c": "e", "f": ""})
    assert not selects(selector, {"a": "b"})
    assert selects({}, {"x": "y"}) and not selects(None, {"x": "y"})
    assert selector_text(selector) == "a=b,c in (d,e),!f"


def test_strategic_merge_obeys_its_directives() -> None:
    spec = POD.child("spec")
    live = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}
    patch: dict[str, Any] = {"containers": [{"$patch": "replace"}, {"name": "c"}]}
    assert strategic_merge(live, patch, spec) == {"containers": [{"name": "c"}]}
    patch = {"containers": [{"name": "a", "$patch": "delete"}, {"name": "b", "image": "3"}]}
    merged_spec = strategic_merge(live, patch, spec)
    assert merged_spec == {"containers": [{"name": "b", "image": "3"}]}
    patch = {"nodeSelector": {"$patch": "replace", "x": "y"}}
    assert strategic_merge({"nodeSelector": {"o": "p"}}, patch, spec)["nodeSelector"] == {"x": "y"}


WORDS = st.sampled_from(["a", "b", "c", "d"])
DATA = st.dictionaries(WORDS, WORDS, max_size=4)
ENVIRONMENTS = st.dictionaries(WORDS, WORDS, max_size=3).map(
    lambda pairs: [{"name": name, "value": value} for name, value in pairs.items()]
)
CONTAINER = st.builds(
    lambda image, env: ({"image": image} if image else {}) | ({"env": env} if env else {}),
    st.sampled_from(["", "a", "b"]),
    ENVIRONMENTS,
)
CONTAINERS = st.dictionaries(WORDS, CONTAINER, max_size=3).map(
    lambda named: [{"name": name} | rest for name, rest in named.items()]
)
PODS = st.builds(
    lambda containers, labels: {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    CONTAINERS,
    DATA,
)


@given(PODS)
def test_field_sets_survive_their_encoding(pod: dict[str, Any]) -> None:
    fields = fields_of(pod, POD)
    assert decoded(encoded(fields)) == fields


@given(PODS, PODS)
def test_a_merge_holds_all_that_was_applied(live: dict[str, Any], config: dict[str, Any]) -> None:
    result = merged(live, config, POD)
    assert merged(result, config, POD) == result
    assert not difference(merged(result, config, POD), result, POD).given
    names = [item["name"] for item in result["spec"]["containers"]]
    assert len(names) == len(set(names))
    wanted = [item["name"] for item in config["spec"]["containers"]]
    assert [name for name in names if name in wanted] == wanted
    assert without(result, (), POD) == result


def put(live: dict[str, Any] | None, data: dict[str, str], manager: str) -> dict[str, Any]:
    """The object after a forced apply of `data`."""
    config = {"metadata": {"name": "x"}} | ({"data": data} if data else {})
    writer = Writer(manager, APPLY, "", "v1")
    result = applied(live, config, CONFIG_MAP, writer, NOW, force=True)
    record(result.item, result.owners)
    return result.item


@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), DATA), min_size=1, max_size=6))
def test_appliers_get_what_they_ask_and_lose_what_they_drop(
    steps: list[tuple[str, dict[str, str]]],
) -> None:
    """Against a model: each manager holds the keys of its last apply; who forces takes others'."""
    live: dict[str, Any] | None = None
    held: dict[str, set[str]] = {"one": set(), "two": set()}
    values: dict[str, str] = {}
    for manager, data in steps:
        other = "two" if manager == "one" else "one"
        dropped = held[manager] - data.keys() - held[other]
        taken = {key for key, value in data.items() if values.get(key, value) != value}
        held[manager], held[other] = set(data), held[other] - taken
        values = {k: v for k, v in (values | data).items() if k not in dropped}
        live = put(live, data, manager)
        assert (live.get("data") or {}) == values


def test_a_conflict_is_refused_without_force() -> None:
    live = put(None, {"a": "1"}, "one")
    writer = Writer("two", APPLY, "", "v1")
    with pytest.raises(Refused, match=r'conflict with "one": .data.a'):
        applied(live, {"metadata": {}, "data": {"a": "2"}}, CONFIG_MAP, writer, NOW, force=False)
