"""Nodes that look alike share one search, and each answer is that of the plain search there."""

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from domain.placement import (
    Change,
    Delete,
    Features,
    Fleet,
    Funnel,
    Upsert,
    apply,
    explain,
    fitting,
    place,
    warm,
)
from domain.placement.lookalikes import census, quick_attempt
from tests.oracle import random_cases

Raw = dict[str, Any]
STEPS = 3_000


def objects(case: Raw, copies: int) -> list[Raw]:
    """The case's first node with what only it has, several times over, beside all the rest."""
    found = [_typed("Node", "v1", one) for one in case["nodes"]]
    found += [_typed("ResourceSlice", "resource.k8s.io/v1", one) for one in case["slices"]]
    found += [_typed("DeviceClass", "resource.k8s.io/v1", one) for one in case["classes"]]
    rules = case.get("taint_rules") or []
    found += [_typed("DeviceTaintRule", "resource.k8s.io/v1", one) for one in rules]
    held = case.get("allocated_claims") or []
    found += [_typed("ResourceClaim", "resource.k8s.io/v1", one) for one in held]
    for number in range(copies):
        found += _copy(case, f"-copy{number}")
    return found


def _typed(kind: str, version: str, raw: Raw) -> Raw:
    return {"kind": kind, "apiVersion": version, **raw}


def _copy(case: Raw, suffix: str) -> Iterator[Raw]:
    """Same content under other names: node, its local slices with their pools, what holds them."""
    node = deepcopy(case["nodes"][0])
    name = node["metadata"]["name"]
    node["metadata"]["name"] = name + suffix
    yield _typed("Node", "v1", node)
    pools = set()
    for one in case["slices"]:
        if one["spec"].get("nodeName") == name:
            again = deepcopy(one)
            again["metadata"]["name"] += suffix
            again["spec"]["nodeName"] += suffix
            pools.add((again["spec"]["driver"], again["spec"]["pool"]["name"]))
            again["spec"]["pool"]["name"] += suffix
            yield _typed("ResourceSlice", "resource.k8s.io/v1", again)
    for held in case.get("allocated_claims") or []:
        results = held.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
        if any((one["driver"], one["pool"]) in pools for one in results):
            again = deepcopy(held)
            again["metadata"]["name"] += suffix
            again["metadata"]["uid"] = f"{again['metadata'].get('uid')}{suffix}"
            for one in again["status"]["allocation"]["devices"]["results"]:
                one["pool"] += suffix
            yield _typed("ResourceClaim", "resource.k8s.io/v1", again)


@pytest.mark.parametrize("seed", range(60))
def test_copies_of_a_node_are_answered_as_the_plain_search_answers_each(seed: int) -> None:
    (case,) = random_cases.cases(1, 50_000 + seed)
    fleet = Fleet.build(objects(case, copies=4))
    features = Features.preset("1.37")
    claims = case["claims"]
    for mode in ("all", "first"):
        quick = place(fleet, claims, None, mode, features, STEPS)
        plain = place(fleet, claims, None, mode, features, STEPS, plain=True)
        assert [_known(one) for one in quick] == [_known(one) for one in plain]
        assert fitting(quick) == [one.node for one in plain if one.fits]
    groups = [[one] for one in claims] * 3
    quick = place(fleet, groups, None, "sequence", features, STEPS)
    plain = place(fleet, groups, None, "sequence", features, STEPS, plain=True)
    assert [_known(one) for one in quick] == [_known(one) for one in plain]


@pytest.mark.parametrize("seed", range(60))
def test_counting_nodes_together_gives_the_funnel_of_counting_each(seed: int) -> None:
    (case,) = random_cases.cases(1, 60_000 + seed)
    fleet = Fleet.build(objects(case, copies=4))
    for asked in case["claims"]:
        together = explain(fleet, asked)
        each = explain(fleet, asked, nodes=sorted(fleet.nodes))
        assert _counts(together) == _counts(each)


def _counts(funnel: Funnel) -> Any:
    layers = [(one.name, one.count, one.removed) for one in funnel.layers]
    return (
        funnel.matches,
        funnel.free,
        funnel.on_nodes,
        funnel.problem,
        layers,
        [_counts(part) for part in funnel.parts],
    )


def _known(decision: Any) -> Any:
    """An answer that one of the two could not give in time is told by neither."""
    return (decision.node, "unknown") if decision.outcome == "unknown" else decision


DRIVER = "gpu.example.com"


def node_of(name: str, *uuids: str) -> list[Raw]:
    devices = [
        {"name": f"gpu-{i}", "attributes": {"uuid": {"string": uuid}, "model": {"string": "x"}}}
        for i, uuid in enumerate(uuids)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    return [
        {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}},
        {
            "kind": "ResourceSlice",
            "apiVersion": "resource.k8s.io/v1",
            "metadata": {"name": f"slice-{name}"},
            "spec": spec,
        },
    ]


@pytest.fixture
def fleet() -> Fleet:
    gpus = {"kind": "DeviceClass", "apiVersion": "resource.k8s.io/v1", "metadata": {"name": "gpu"}}
    found: list[Raw] = [{**gpus, "spec": {}}]
    for number in range(40):
        found += node_of(f"n{number:02d}", f"u{number}-0", f"u{number}-1")
    return Fleet.build(found)


def claim(*selectors: str, count: int = 1, constraints: Any = None) -> Raw:
    exactly: Raw = {"deviceClassName": "gpu", "count": count}
    exactly["selectors"] = [{"cel": {"expression": one}} for one in selectors]
    devices = {
        "requests": [{"name": "gpu", "exactly": exactly}],
        "constraints": constraints or [],
    }
    return {"metadata": {"name": "c", "namespace": "d"}, "spec": {"devices": devices}}


UUID = f'device.attributes["{DRIVER}"].uuid'


def test_forty_nodes_of_one_make_are_searched_once(fleet: Fleet) -> None:
    decisions = place(fleet, [claim()], mode="all")
    assert len(fitting(decisions)) == 40
    attempt = quick_attempt(fleet, Features.preset("1.37"), fleet.ledger(Features.preset("1.37")))
    assert len(set(attempt.album.shapes)) == 1


def test_forty_nodes_of_one_make_are_counted_as_one(fleet: Fleet) -> None:
    counted = census(fleet, Features.preset("1.37"))
    assert counted is not None
    assert [(one.weight, one.nodes) for one in counted.seen] == [(40, ["n00"]), (40, ["n00"])]
    assert explain(fleet, claim(count=3)).first_empty == "constraints"


def test_a_selector_on_what_tells_devices_apart_finds_the_one(fleet: Fleet) -> None:
    assert fitting(place(fleet, [claim(f'{UUID} == "u17-1"')], mode="all")) == ["n17"]
    found = place(fleet, [claim(f'{UUID} == "u17-1"')], mode="first")[-1]
    assert found.allocations[0]["devices"]["results"][0]["device"] == "gpu-1"


def test_a_selector_that_fails_on_some_nodes_fails_there_alone(fleet: Fleet) -> None:
    broken = claim(f'{UUID} == "u3-0" ? device.attributes["{DRIVER}"].nothing == "" : true')
    outcomes = {one.node: one.outcome for one in place(fleet, [broken], mode="all")}
    assert [name for name, outcome in outcomes.items() if outcome == "fatal"] == ["n03"]


def test_a_selector_that_fails_is_told_even_where_too_few_devices_are_free(fleet: Fleet) -> None:
    broken = claim(f'device.attributes["{DRIVER}"].nothing == ""', count=3)
    assert place(fleet, [broken], mode="first")[-1].outcome == "fatal"


def test_a_selector_that_would_fail_is_not_asked_where_nothing_is_free(fleet: Fleet) -> None:
    for number in range(40):
        for gpu in ("gpu-0", "gpu-1"):
            fleet = apply(fleet, Upsert(_holding(f"n{number:02d}", gpu)))
    broken = claim(f'device.attributes["{DRIVER}"].nothing == ""')
    assert place(fleet, [broken], mode="first")[-1].outcome == "no"


def _holding(pool: str, device: str) -> Raw:
    held = claim() | {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1"}
    held["metadata"] = {"name": f"held-{pool}-{device}", "namespace": "d"}
    result = {"request": "gpu", "driver": DRIVER, "pool": pool, "device": device}
    return held | {"status": {"allocation": {"devices": {"results": [result]}}}}


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_off_is_what_the_search_finds(seed: int, count: int) -> None:
    """Common cards in several makes, some in use, with selectors and a value to share."""
    rng = random.Random(seed)
    found: list[Raw] = [{"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}]
    for number in range(12):
        for one in node_of(f"n{number:02d}", *["u"] * 4):
            for device in one["spec"]["devices"] if one["kind"] == "ResourceSlice" else ():
                device["attributes"] = _attributes(rng)
            found.append(one)
        found += [_holding(f"n{number:02d}", f"gpu-{i}") for i in range(4) if rng.random() < 0.4]
    fleet = Fleet.build(found)
    rule = [{"matchAttribute": f"{DRIVER}/root"}]
    device = f'device.attributes["{DRIVER}"]'
    for text in ("true", f'{device}.model == "x"', f"{device}.index < 2"):
        for constraints in (None, rule):
            asked = claim(text, count=count, constraints=constraints)
            for mode in ("all", "first"):
                quick = place(fleet, [asked], mode=mode)
                assert list(quick) == list(place(fleet, [asked], mode=mode, plain=True))


def _attributes(rng: random.Random) -> Raw:
    found: Raw = {"model": {"string": rng.choice("xxy")}}
    if rng.random() < 0.97:
        found["index"] = {"int": rng.randrange(3)}
    if rng.random() < 0.8:
        found["root"] = rng.choice([{"string": "a"}, {"string": "b"}, {"int": 1}])
    return found


def test_constraints_see_values_that_pictures_hide(fleet: Fleet) -> None:
    rule = [{"matchAttribute": f"{DRIVER}/uuid"}]
    assert fitting(place(fleet, [claim(count=2, constraints=rule)], mode="all")) == []
    twin = apply(fleet, Upsert(node_of("n05", "same", "same")[1]))
    assert fitting(place(twin, [claim(count=2, constraints=rule)], mode="all")) == ["n05"]


def test_what_is_taken_and_given_back_changes_the_answer_there(fleet: Fleet) -> None:
    held = claim() | {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1"}
    result = {"request": "gpu", "driver": DRIVER, "pool": "n07", "device": "gpu-0"}
    held["status"] = {"allocation": {"devices": {"results": [result]}}}
    warm(fleet)
    taken = apply(fleet, Upsert(held))
    assert "n07" not in fitting(place(taken, [claim(count=2)], mode="all"))
    back = apply(taken, Delete("ResourceClaim", "d", "c"))
    assert "n07" in fitting(place(back, [claim(count=2)], mode="all"))
    assert "n07" in fitting(place(fleet, [claim(count=2)], mode="all"))


def test_two_nodes_that_publish_one_pool_name_are_asked_alone(fleet: Fleet) -> None:
    """What is in use goes by the pool's name, so it says nothing of either node alone."""
    extra = node_of("zz", "a", "b")
    extra[1]["spec"]["pool"]["name"] = "n00"
    both = apply(apply(fleet, Upsert(extra[0])), Upsert(extra[1]))
    quick = place(both, [claim()], mode="all")
    plain = place(both, [claim()], mode="all", plain=True)
    assert list(quick) == list(plain)


def test_a_class_that_changes_is_looked_at_again(fleet: Fleet) -> None:
    assert len(fitting(place(fleet, [claim()], mode="all"))) == 40
    none = {"cel": {"expression": "device.driver == 'other'"}}
    changed = {"metadata": {"name": "gpu"}, "spec": {"selectors": [none]}}
    after = apply(fleet, Upsert(_typed("DeviceClass", "resource.k8s.io/v1", changed)))
    assert fitting(place(after, [claim()], mode="all")) == []


def test_a_history_of_changes_gives_what_building_anew_gives(fleet: Fleet) -> None:
    rng = random.Random(5)
    now = fleet
    for step in range(30):
        name = f"n{rng.randrange(40):02d}"
        slice_ = node_of(name, f"s{step}a", f"s{step}b", *(["third"] if step % 3 else []))[1]
        changes: list[Change] = [Upsert(slice_), Delete("Node", "", name)]
        now = apply(now, rng.choice(changes))
        asked = [claim(count=2 + step % 2)]
        plain = place(now, asked, mode="all", plain=True)
        assert fitting(place(now, asked, mode="all")) == [one.node for one in plain if one.fits]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_kept_from_change_to_change_answers_as_if_it_were_built_anew(seed: int) -> None:
    """Allocations, releases and slices come and go; what is known is brought up to date at times
    only, and older fleets are asked in between."""
    rng = random.Random(seed)
    classes: list[Raw] = [{"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}]
    now = Fleet.build(classes + [one for n in range(10) for one in node_of(f"n{n:02d}", "a", "b")])
    older = now
    for step in range(40):
        name, gpu = f"n{rng.randrange(10):02d}", f"gpu-{rng.randrange(3)}"
        now = apply(now, _some_change(rng, step, name, gpu))
        if rng.random() < 0.6:
            warm(now)
        if rng.random() < 0.2:
            older, now = now, now if rng.random() < 0.5 else older
        asked = [claim(count=rng.choice((1, 2, 3)))]
        for fleet in (now, older):
            for mode in ("all", "first"):
                quick = place(fleet, asked, mode=mode)
                assert list(quick) == list(place(fleet, asked, mode=mode, plain=True))


def _some_change(rng: random.Random, step: int, name: str, gpu: str) -> Change:
    slice_ = node_of(name, f"s{step}a", f"s{step}b", *(["third"] if step % 2 else []))[1]
    changes: list[Change] = [
        Upsert(_holding(name, gpu)),
        Upsert(_holding(name, gpu)),
        Delete("ResourceClaim", "d", f"held-{name}-{gpu}"),
        Upsert(slice_),
        Delete("Node", "", name),
        Upsert(node_of(name)[0]),
    ]
    return rng.choice(changes)
