"""The same figures from a real Prometheus: its queries, and the states of its faults."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.inventory.models import Cluster, Pod
from apps.telemetry import measure, series
from apps.telemetry.models import MetricsSource
from apps.telemetry.scopes import Scope
from domain.figures import Figure, State
from tests.apps.telemetry.prometheus_server import Pages, running

pytestmark = [pytest.mark.django_db, pytest.mark.stack]
PODS = {
    "llama-main-a": "tenant-vision",
    "llama-main-b": "tenant-vision",
    "llama-dra-c": "tenant-vision",
}
MAIN = Scope(tenant="vision", deployment="llama", pool="main")
DRA = Scope(tenant="vision", deployment="llama", pool="dra")


def page(step: int, *, slow: bool = False, wide: bool = True, prefix: str = "vllm:") -> str:
    """A vLLM page after `step` ticks: 10 requests a tick, a quarter of the prompt cached."""
    bounds = ("0.1", "0.5", "1.0") if wide else ("0.5", "1.0")
    fast = 0 if slow else 10 * step
    lines = [
        f'{prefix}num_requests_running{{engine="0",model_name="m"}} 3',
        f'{prefix}num_requests_waiting{{engine="0",model_name="m"}} 1',
        f'{prefix}kv_cache_usage_perc{{engine="0",model_name="m"}} 0.25',
        f'{prefix}request_success_total{{finished_reason="stop",model_name="m"}} {10 * step}',
        f'{prefix}prompt_tokens_total{{model_name="m"}} {400 * step}',
        f'{prefix}prompt_tokens_cached_total{{model_name="m"}} {100 * step}',
        f'http_requests_total{{handler="/v1/completions",status="2xx"}} {9 * step}',
    ]
    if slow:
        lines.append(f'http_requests_total{{handler="/v1/completions",status="5xx"}} {step}')
    name = f"{prefix}time_to_first_token_seconds"
    lines += [f'{name}_bucket{{le="{bound}",model_name="m"}} {fast}' for bound in bounds[:-1]]
    lines += [
        f'{name}_bucket{{le="1.0",model_name="m"}} {10 * step}',
        f'{name}_bucket{{le="+Inf",model_name="m"}} {10 * step}',
        f'{name}_sum{{model_name="m"}} {(8 if slow else 1) * step}',
        f'{name}_count{{model_name="m"}} {10 * step}',
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Pages]]:
    """A Prometheus that has scraped some ticks of three pods; the third is slow and errs."""
    folder: Path = tmp_path_factory.mktemp("prometheus")
    # The fourth one never answers.
    with running(folder, PODS | {"llama-gone-d": "tenant-vision"}) as (url, pages):
        for step in range(1, 13):
            pages.pages |= {
                "llama-main-a": page(step),
                "llama-main-b": page(step, wide=False),
                "llama-dra-c": page(step, slow=True, prefix="vllm_"),
            }
            time.sleep(0.5)
        yield url, pages


@pytest.fixture
def watched(told: tuple[str, Pages], cluster: Cluster) -> Cluster:
    MetricsSource.objects.create(cluster=cluster, kind="prometheus", url=told[0])
    for name, namespace in PODS.items():
        Pod.objects.create(
            cluster=cluster,
            uid=name,
            name=name,
            namespace=namespace,
            phase="Running",
            is_ready=True,
            tenant="vision",
            deployment="llama",
            model_pool=name.split("-")[1],
        )
    return cluster


def measured(cluster: Cluster, metric: str, scope: Scope, statistic: str) -> Figure:
    now = timezone.now()
    return measure.measure(
        cluster,
        metric,
        scope,
        now - timedelta(seconds=30),
        now,
        statistic=statistic,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("metric", "statistic", "main", "dra"),
    [
        ("running", "mean", 6, 3),
        ("running", "max", 3, 3),
        ("kv_usage", "mean", 0.25, 0.25),
        ("cache_hit", "ratio", 0.25, 0.25),
        ("error_ratio", "ratio", 0, 0.1),
        ("errors", "rate", 0, None),
        ("ttft", "mean", 0.1, 0.8),
    ],
)
def test_figures_are_those_of_the_pods(
    watched: Cluster, metric: str, statistic: str, main: float, dra: float | None
) -> None:
    found = measured(watched, metric, MAIN, statistic)
    assert found.state is State.LIVE and found.value == pytest.approx(main), found
    other = measured(watched, metric, DRA, statistic)
    if dra is not None:
        assert other.value == pytest.approx(dra, rel=0.05), other
    assert (found.known, found.total) == (2, 2) and found.query


def test_quantiles_are_of_the_bounds_that_all_servers_have(watched: Cluster) -> None:
    fast = measured(watched, "ttft", MAIN, "p95")
    slow = measured(watched, "ttft", DRA, "p95")
    assert fast.value is not None and slow.value is not None
    # At 0.1 s only one of the two servers counts, so the first bound of both is 0.5 s.
    assert fast.value == pytest.approx(0.475) and slow.value == pytest.approx(0.975)


def test_each_pod_has_its_own_figure(watched: Cluster) -> None:
    now = timezone.now()
    scope = Scope(tenant="vision", deployment="llama")
    found = measure.per_pod(watched, "running", scope, now - timedelta(seconds=30), now)
    assert {name: figure.value for name, figure in found.items()} == dict.fromkeys(PODS, 3)


def test_a_name_that_nobody_exports_says_which_were_tried(watched: Cluster) -> None:
    found = measured(watched, "preemptions", MAIN, "rate")
    assert found.state is State.NOT_EXPORTED and "vllm:num_preemptions_total" in found.detail


def test_a_pod_that_is_not_scraped_makes_it_partial(watched: Cluster) -> None:
    Pod.objects.create(
        cluster=watched,
        uid="d",
        name="llama-main-d",
        namespace="tenant-vision",
        phase="Running",
        is_ready=True,
        tenant="vision",
        deployment="llama",
        model_pool="main",
    )
    found = measured(watched, "running", MAIN, "mean")
    assert (found.state, found.known, found.total) == (State.PARTIAL, 2, 3)


def test_charts_have_a_line_a_pool(watched: Cluster) -> None:
    now = timezone.now()
    scope = Scope(tenant="vision", deployment="llama")
    chart = series.series(
        watched,
        "cache_hit",
        scope,
        now - timedelta(minutes=10),
        now + timedelta(minutes=1),
        by="pool",
    )
    assert [line.name for line in chart.lines] == ["llama-dra", "llama-main"], chart
    assert any(value == pytest.approx(0.25) for value in chart.lines[0].values)


@pytest.mark.parametrize(
    ("query", "state"),
    [
        ("sum(vllm:num_requests_running)", State.LIVE),
        ("vllm:num_requests_running", State.ERROR),
        ("nothing_of_that_name", State.NO_TRAFFIC),
        ("0/0", State.NO_TRAFFIC),
        ("sum(", State.ERROR),
    ],
)
def test_an_owners_query_is_one_number_or_says_why_not(
    watched: Cluster, query: str, state: State
) -> None:
    found = measure.promql(watched, query, timezone.now())
    assert found.state is state, found
    assert (found.value is None) == (state is not State.LIVE)


def test_a_prometheus_that_is_away_is_an_error_and_no_zero(watched: Cluster) -> None:
    MetricsSource.objects.update(url="http://127.0.0.1:9")
    found = measured(watched, "running", MAIN, "mean")
    assert (found.value, found.state) == (None, State.ERROR) and "does not answer" in found.detail


def test_targets_that_are_down_say_so(watched: Cluster) -> None:
    Pod.objects.create(
        cluster=watched,
        uid="gone",
        name="llama-gone-d",
        namespace="tenant-vision",
        phase="Running",
        is_ready=True,
        tenant="vision",
        deployment="llama",
        model_pool="gone",
    )
    gone = Scope(tenant="vision", deployment="llama", pool="gone")
    found = measured(watched, "running", gone, "last")
    assert found.state is State.TARGET_DOWN and found.value is None
