import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidValue
from domain.figures import Figure, State
from domain.gates import (
    TEMPLATES,
    Gate,
    Side,
    Verdict,
    content_of,
    gates_from,
    judge,
    standing,
    tally,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TTFT = Gate(name="ttft", metric="ttft", statistic="p95", ratio_at_most=1.2, margin=0.05)
ERRORS = Gate(name="errors", metric="errors", at_most=0.01)
CACHE = Gate(name="cache", metric="cache_hit", ratio_at_least=0.85)


def live(value: float) -> Figure:
    return Figure(value, State.LIVE)


def side(value: float, requests: float = 100, **pods: float) -> Side:
    return Side(live(value), live(requests), {name: live(one) for name, one in pods.items()})


@pytest.mark.parametrize(
    ("candidate", "current", "verdict"),
    [
        (0.10, 0.10, Verdict.PASS),
        (0.119, 0.10, Verdict.PASS),
        (0.125, 0.10, Verdict.INCONCLUSIVE),  # beyond the limit by less than the margin
        (0.14, 0.10, Verdict.FAIL),
        (math.nan, 0.10, Verdict.NO_DATA),
        (math.inf, 0.10, Verdict.NO_DATA),
        (0.10, math.nan, Verdict.NO_DATA),
        (0.0, 0.0, Verdict.PASS),
        (0.1, 0.0, Verdict.INCONCLUSIVE),  # no ratio to nothing
    ],
)
def test_a_pool_is_compared_with_the_other_in_the_same_window(
    candidate: float, current: float, verdict: Verdict
) -> None:
    assert judge(TTFT, side(candidate), side(current)).verdict is verdict


def test_higher_may_be_better() -> None:
    assert judge(CACHE, side(0.8), side(0.8)).verdict is Verdict.PASS
    assert judge(CACHE, side(0.56), side(0.8)).verdict is Verdict.FAIL


@pytest.mark.parametrize("state", [one for one in State if one is not State.LIVE])
def test_a_figure_that_is_not_whole_and_recent_never_passes(state: State) -> None:
    """Not even one whose value would: an old good figure says nothing of now."""
    figure = Figure(0.0, state, "as it was", known=1, total=2)
    judged = judge(ERRORS, Side(figure, live(100)), None)
    assert judged.verdict is not Verdict.PASS
    assert judged.reason


def test_few_requests_on_either_side_are_no_evidence() -> None:
    assert judge(TTFT, side(0.1, requests=3), side(0.1)).verdict is Verdict.INCONCLUSIVE
    assert judge(TTFT, side(0.1), side(0.1, requests=3)).verdict is Verdict.INCONCLUSIVE
    assert judge(TTFT, side(0.1, requests=0), side(0.1)).verdict is Verdict.NO_DATA


def test_the_worst_server_is_judged_besides_all_together() -> None:
    judged = judge(TTFT, side(0.1, a=0.1, b=0.3), side(0.1))
    assert (judged.verdict, judged.worst_pod) == (Verdict.FAIL, "b")


@pytest.mark.parametrize(
    ("new", "old", "hit", "gate", "verdict"),
    [
        (2, 4, 0.67, CACHE, Verdict.INCONCLUSIVE),  # 67 % beside 94 % was seen without any fault
        (4, 4, 0.67, CACHE, Verdict.FAIL),
        (4, 2, 0.67, CACHE, Verdict.FAIL),
        (None, 4, 0.67, CACHE, Verdict.FAIL),  # what nobody told excuses nothing
        (2, 4, 0.93, CACHE, Verdict.PASS),
        (2, 4, 0.67, replace(CACHE, at_least=0.7), Verdict.FAIL),  # its own limit holds
        (2, 4, 0.67, replace(CACHE, metric="kv_usage", min_requests=0), Verdict.FAIL),
    ],
)
def test_fewer_servers_hit_their_caches_less_without_any_regression(
    new: int | None, old: int, hit: float, gate: Gate, verdict: Verdict
) -> None:
    candidate, current = (
        Side(live(hit), live(500), servers=new),
        Side(live(0.94), live(500), servers=old),
    )
    assert judge(gate, candidate, current).verdict is verdict


@given(
    value=st.floats(allow_nan=True, allow_infinity=True),
    state=st.sampled_from(list(State)),
    requests=st.floats(min_value=0, max_value=1000),
)
def test_nothing_passes_but_a_live_finite_figure_within_its_limit(
    value: float, state: State, requests: float
) -> None:
    judged = judge(ERRORS, Side(Figure(value, state), live(requests)), None)
    if judged.verdict is Verdict.PASS:
        assert state is State.LIVE
        assert value <= 0.01
        assert requests >= ERRORS.min_requests


def samples(*verdicts: Verdict) -> list[tuple[Verdict, str, datetime]]:
    return [(one, "why", NOW + timedelta(seconds=15 * n)) for n, one in enumerate(verdicts)]


QUERY = {"name": "x", "metric": "promql", "at_most": 1}
P, F, N, E = Verdict.PASS, Verdict.FAIL, Verdict.NO_DATA, Verdict.ERROR


@pytest.mark.parametrize(
    ("gate", "verdicts", "ready", "breached"),
    [
        (ERRORS, (), False, False),
        (ERRORS, (P,), False, False),
        (ERRORS, (P, P), True, False),
        (ERRORS, (F,), False, False),  # one is forgiven
        (ERRORS, (F, F), False, True),  # two in a row are not
        (ERRORS, (F, P, P), True, False),
        (ERRORS, (F, P, F, P, F, P, P), False, True),  # three in all are not
        (ERRORS, (P, P, N), False, False),
        (ERRORS, (N,) * 60, False, True),  # the time box
        (ERRORS, (E,) * 20, False, False),  # twenty intervals without Prometheus are held
        (Gate(name="x", metric="errors", at_most=0.01, on_no_data="fail"), (N, N), False, True),
        (Gate(name="x", metric="errors", at_most=0.01, dry_run=True), (F, F, F), True, False),
        (Gate(name="x", metric="errors", at_most=0.01, no_data_seconds=0), (N,) * 90, False, False),
    ],
)
def test_budgets(gate: Gate, verdicts: tuple[Verdict, ...], ready: bool, breached: bool) -> None:
    found = samples(*verdicts)
    now = found[-1][2] if found else NOW
    stands = standing(gate, tally(gate, found, NOW), now)
    assert (stands.ready, stands.breached) == (ready, breached), stands.reason


def test_a_new_step_wants_its_own_passes_and_forgets_no_failure() -> None:
    found = samples(F, P, P, F)
    later = NOW + timedelta(seconds=100)
    held = tally(ERRORS, found, later)
    assert (held.passes, held.failures, held.last) == (0, 2, None)
    assert not standing(ERRORS, held, later).ready
    more = [*found, (F, "why", later)]
    assert standing(ERRORS, tally(ERRORS, more, later), later).breached


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ([{"name": "x", "metric": "ttft"}], "gates[0].at_most"),
        ([{"name": "x", "metric": "nope", "at_most": 1}], "gates[0].metric"),
        ([{"name": "X!", "metric": "ttft", "at_most": 1}], "gates[0].name"),
        ([{"name": "x", "metric": "ttft", "at_most": 1, "att_most": 2}], "gates[0].att_most"),
        ([{"name": "x", "metric": "ttft", "at_most": "1"}], "gates[0].at_most"),
        ([{"name": "x", "metric": "ttft", "at_most": 1, "at_least": 2}], "gates[0].at_least"),
        ([{"name": "x", "metric": "errors", "statistic": "p95", "at_most": 1}], "statistic"),
        ([{"name": "x", "metric": "promql", "at_most": 1}], "gates[0].query"),
        ([QUERY | {"query": 'a{pod_hash="$hash"}'}], "gates[0].query"),
        ([QUERY | {"query": 'a{pool="$pools"}'}], "gates[0].query"),
        ([{"name": "x", "metric": "fragmentation", "ratio_at_most": 1}], "ratio_at_most"),
        ([{"name": "x", "metric": "ttft", "at_most": 1, "passes": 0}], "gates[0].passes"),
        ([{"name": "x", "metric": "ttft", "at_most": 1}] * 2, "gates[0].name"),
        ("standard", "gates"),
    ],
)
def test_a_gate_that_cannot_be_is_refused_by_field(content: object, field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        gates_from(content)
    assert field in refused.value.field


def test_a_query_may_have_what_is_filled_in_and_dollars_of_patterns() -> None:
    query = 'label_replace(a{pool="$pool",pod=~"x$"}, "b", "$1", "c", "(.*)$")'
    assert gates_from([QUERY | {"query": query}])[0].query == query


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_are_gates_that_can_be_written_and_read(name: str) -> None:
    gates = TEMPLATES[name].gates
    assert gates_from(content_of(gates)) == gates
