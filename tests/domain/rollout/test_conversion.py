"""One node, from one driver to the other and back."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.rollout.conversion import (
    NVIDIA,
    Before,
    Kind,
    NodeNow,
    Step,
    Unit,
    User,
    Wanted,
    is_closed,
    next_step,
    target,
    to_begin,
    waves,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PLUGIN = {"nvidia.com/gpu.deploy.device-plugin": "true"}
BEFORE = Before(False, {key: PLUGIN.get(key) for key in NVIDIA.labels})
OURS = User("vision", "llama-1", is_ours=True)
NODE = NodeNow("n1", PLUGIN, False, True, {"nvidia.com/gpu": 8}, None, (OURS,))


def step(node: NodeNow | None, wanted: Wanted = "converted", before: Before = BEFORE) -> Step:
    return next_step(NVIDIA, node, wanted, before, since=NOW, now=NOW)


def test_the_steps_in_their_order() -> None:
    assert step(NODE).kind == Kind.CORDON
    node = replace(NODE, is_cordoned=True)
    assert step(node).pods == (OURS,)
    node = replace(node, users=())
    assert step(node).labels == NVIDIA.labels
    node = replace(node, labels=PLUGIN | dict(NVIDIA.labels))
    assert "still offers nvidia.com/gpu" in step(node).text
    node = replace(node, capacity={})
    assert "has not published" in step(node).text
    node = replace(node, slices=False)
    assert "Not all slices" in step(node).text
    node = replace(node, slices=True)
    assert step(node).kind == Kind.UNCORDON
    assert step(replace(node, is_cordoned=False)).kind == Kind.DONE


def test_a_stranger_on_the_node_blocks_it_before_it_is_cordoned() -> None:
    stranger = User("labs", "box", is_ours=False)
    found = step(replace(NODE, users=(OURS, stranger)))
    assert (found.kind, found.owner) == (Kind.BLOCKED, "labs")
    assert "labs/box" in found.text


def test_a_pod_that_cannot_be_spared_is_waited_for() -> None:
    found = step(replace(NODE, is_cordoned=True, users=(replace(OURS, spare=False),)))
    assert (found.kind, found.owner) == (Kind.WAIT, "vision")


def test_a_node_that_was_cordoned_before_stays_so() -> None:
    node = replace(
        NODE, is_cordoned=True, users=(), labels=dict(NVIDIA.labels), capacity={}, slices=True
    )
    assert step(node, before=replace(BEFORE, was_cordoned=True)).kind == Kind.DONE


def test_a_driver_that_does_not_come_is_told_with_its_owner() -> None:
    node = replace(NODE, is_cordoned=True, users=(), labels=dict(NVIDIA.labels), capacity={})
    late = NOW + timedelta(seconds=NVIDIA.patience_seconds + 1)
    found = next_step(NVIDIA, node, "converted", BEFORE, since=NOW, now=late)
    assert (found.kind, found.owner) == (Kind.BLOCKED, "platform team")


def test_the_way_back_puts_back_what_was_there_also_a_label_that_was_not() -> None:
    assert target(NVIDIA, "back", BEFORE) == {
        "nvidia.com/gpu.deploy.device-plugin": "true",
        "nvidia.com/gpu.deploy.dra-driver": None,
    }


def test_a_node_that_is_gone_blocks() -> None:
    assert step(None).kind == Kind.BLOCKED


@dataclass
class World:
    """A node whose drivers do, sooner or later, what its labels say."""

    node: NodeNow
    delays: list[int]
    acts: list[Kind] = field(default_factory=list)

    def do(self, found: Step) -> None:
        self.acts.append(found.kind)
        node = self.node
        if found.kind == Kind.CORDON:
            node = replace(node, is_cordoned=True)
        elif found.kind == Kind.UNCORDON:
            node = replace(node, is_cordoned=False)
        elif found.kind == Kind.EVICT:
            assert all(user.is_ours and user.spare for user in found.pods)
            node = replace(node, users=tuple(u for u in node.users if u not in found.pods[:1]))
        elif found.kind == Kind.LABEL:
            assert not node.users
            labels = dict(node.labels) | {k: v for k, v in found.labels.items() if v is not None}
            for key in [key for key, value in found.labels.items() if value is None]:
                labels.pop(key, None)
            node = replace(node, labels=labels)
        elif self.delays:
            self.delays.pop()
        else:
            on = node.labels.get("nvidia.com/gpu.deploy.device-plugin") == "true"
            capacity = {"nvidia.com/gpu": 8} if on else {}
            node = replace(node, capacity=capacity, slices=None if on else True)
        self.node = node


@given(
    st.lists(st.booleans(), max_size=5),
    st.booleans(),
    st.lists(st.just(1), max_size=4),
)
def test_it_ends_and_back_again_leaves_the_node_as_it_was(
    users: list[bool], cordoned: bool, delays: list[int]
) -> None:
    pods = tuple(User("vision", f"p{n}", is_ours=True) for n, _ in enumerate(users))
    begin = replace(NODE, is_cordoned=cordoned, users=pods)
    before = Before(cordoned, BEFORE.labels)
    world = World(begin, list(delays))
    ways: tuple[Wanted, ...] = ("converted", "back")
    for wanted in ways:
        for _ in range(40):
            found = next_step(NVIDIA, world.node, wanted, before, since=NOW, now=NOW)
            if found.kind == Kind.DONE:
                break
            world.do(found)
        assert found.kind == Kind.DONE
    assert world.node == replace(begin, users=())


@given(
    st.booleans(),
    st.booleans(),
    st.lists(st.tuples(st.booleans(), st.booleans()), max_size=4),
    st.sampled_from([PLUGIN, PLUGIN | dict(NVIDIA.labels), {}]),
    st.sampled_from([None, True, False]),
)
def test_nobody_elses_pod_is_evicted_and_no_driver_changed_under_a_pod(
    cordoned: bool,
    ready: bool,
    users: list[tuple[bool, bool]],
    labels: dict[str, str],
    slices: bool | None,
) -> None:
    pods = tuple(User("a", f"p{n}", ours, spare) for n, (ours, spare) in enumerate(users))
    found = step(NodeNow("n", labels, cordoned, ready, {}, slices, pods))
    assert all(user.is_ours and user.spare for user in found.pods)
    assert found.kind != Kind.LABEL or (not pods and cordoned)
    assert found.kind != Kind.EVICT or all(user.is_ours for user in pods)
    assert found.text and found.owner


def test_the_first_wave_is_the_one_that_risks_least_and_then_value_counts() -> None:
    units = [Unit("big", 32, 8), Unit("small", 1, 1), Unit("shut", 99, 1, True), Unit("mid", 8, 2)]
    assert waves(units, size=2) == [["small"], ["big", "mid"], ["shut"]]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans())), st.integers(1, 5))
def test_every_unit_is_in_one_wave(found: list[tuple[int, int, bool]], size: int) -> None:
    units = [Unit(f"u{n}", value, risk, shut) for n, (value, risk, shut) in enumerate(found)]
    made = waves(units, size=size)
    assert sorted(name for wave in made for name in wave) == sorted(one.name for one in units)
    assert all(len(wave) <= size for wave in made)


def test_a_wave_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        waves([], size=0)


def test_only_as_many_begin_as_may_go_at_once_and_none_in_blackout_hours() -> None:
    assert to_begin(["a", "b", "c"], under_way=1, concurrency=2, is_closed=False) == ["a"]
    assert to_begin(["a"], under_way=3, concurrency=2, is_closed=False) == []
    assert to_begin(["a"], under_way=0, concurrency=2, is_closed=True) == []


@pytest.mark.parametrize(
    ("hours", "at", "closed"),
    [
        ({"from": "08:00", "to": "18:00"}, "2026-11-30T08:00", True),
        ({"from": "08:00", "to": "18:00"}, "2026-11-30T18:00", False),
        ({"from": "08:00", "to": "18:00", "days": [5, 6]}, "2026-11-30T12:00", False),
        ({"from": "22:00", "to": "06:00", "days": [0]}, "2026-12-01T05:59", True),
        ({"from": "22:00", "to": "06:00", "days": [0]}, "2026-11-30T05:59", False),
        ({"from": "22:00", "to": "06:00", "days": [0]}, "2026-11-30T23:00", True),
    ],
)
def test_hours_of_the_day_may_pass_midnight(
    hours: dict[str, object], at: str, closed: bool
) -> None:
    assert is_closed([hours], datetime.fromisoformat(at).replace(tzinfo=UTC)) == closed
