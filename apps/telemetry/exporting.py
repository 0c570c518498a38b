"""The portal's own /metrics: the ten figures, for a Prometheus that watches the portal.

A series more than MOST_SCOPES pools or classes of a cluster is left out and counted. What is not
known has no series, and `claimyard_figure_known` says so: absent is not zero.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.inventory.models import Cluster
from apps.telemetry import columns, history, measure, recorded, rows
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from domain.metrics import CATALOGUE, TEN
from domain.metrics.reading import PART, WHOLE

MOST_SCOPES = 200
MINUTES = 5
PERCENTS = (("50", "p50"), ("95", "p95"))
KIND = "text/plain; version=0.0.4; charset=utf-8"

# Name, help, figure of the catalogue that it belongs to.
NAMES: dict[str, tuple[str, str]] = {
    "claimyard_claim_allocation_failed_pods": (
        "Pods that the scheduler found no devices for, in the last five minutes.",
        "alloc_failures",
    ),
    "claimyard_claim_pending_seconds": (
        "From a claim's creation to its allocation, over the last hour.",
        "pending",
    ),
    "claimyard_claims_waiting": ("Claims that wait for devices.", "waiting"),
    "claimyard_class_devices_matched": ("Devices that a class matches.", "matches"),
    "claimyard_class_devices_free": ("Those of them that could be taken now.", "matches_free"),
    "claimyard_model_servers_ready": ("Model servers that are ready.", "ready"),
    "claimyard_model_servers_wanted": ("Model servers that there are.", "ready"),
    "claimyard_requests_waiting": ("Requests queued in the model servers.", "queue"),
    "claimyard_prefix_cache_hit_ratio": ("Share of prompt tokens from the cache.", "cache_hit"),
    "claimyard_kv_cache_usage_ratio": ("KV cache in use.", "kv_usage"),
    "claimyard_time_to_first_token_seconds": ("Time to the first token.", "ttft"),
    "claimyard_time_per_output_token_seconds": ("Time per output token.", "tpot"),
    "claimyard_error_ratio": ("Share of requests that failed.", "error_ratio"),
    "claimyard_requests_per_second": ("Requests finished per second.", "requests"),
    "claimyard_cards_in_use_ratio": ("Cards in use.", "allocation"),
    "claimyard_devices_held_idle": ("Devices allocated and used by no pod.", "held_idle"),
    "claimyard_fragmentation_ratio": ("Cards that are free only in part.", "fragmentation"),
    "claimyard_gpu_memory_used_bytes": ("GPU memory in use.", "gpu_memory"),
    "claimyard_figure_known": ("Whether a figure of a cluster is known now.", ""),
    "claimyard_cluster_heard_seconds": ("Since when a cluster was not heard of.", ""),
    "claimyard_model_servers_silent": ("Model servers that do not answer.", ""),
    "claimyard_scopes_left_out": ("Pools and classes beyond those that have series.", ""),
}


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


def page(now: datetime) -> str:
    """The whole page, in text exposition."""
    found: dict[str, list[Sample]] = {name: [] for name in NAMES}
    for cluster in Cluster.objects.filter(retired_at=None).order_by("slug"):
        for sample in _of_cluster(cluster, now):
            found[sample.name].append(sample)
    return "".join(_family(name, samples) for name, samples in found.items() if samples)


def _family(name: str, samples: Sequence[Sample]) -> str:
    lines = [f"# HELP {name} {NAMES[name][0]}", f"# TYPE {name} gauge"]
    for one in samples:
        labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in one.labels)
        lines.append(f"{name}{{{labels}}} {one.value!r}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _of_cluster(cluster: Cluster, now: datetime) -> Iterator[Sample]:
    own = (("cluster", cluster.slug),)
    known: set[str] = set()
    for sample in (*_of_rows(cluster, own, now), *_of_pools(cluster, own, now)):
        known.add(NAMES[sample.name][1])
        yield sample
    for figure in TEN:
        is_known = 1.0 if figure in known else 0.0
        yield Sample("claimyard_figure_known", (*own, ("figure", figure)), is_known)
    if cluster.heard_at:
        age = max((now - cluster.heard_at).total_seconds(), 0.0)
        yield Sample("claimyard_cluster_heard_seconds", own, age)
    due = Track.objects.filter(
        cluster=cluster, kind=Track.Kind.SERVER, tried_at__gte=now - timedelta(minutes=1)
    )
    silent = due.exclude(problem="").count()
    yield Sample("claimyard_model_servers_silent", own, float(silent))


def _of_rows(cluster: Cluster, own: tuple[tuple[str, str], ...], now: datetime) -> Iterator[Sample]:
    start = now - timedelta(minutes=MINUTES)
    for name, metric, since, statistic in (
        ("claimyard_claim_allocation_failed_pods", "alloc_failures", start, "increase"),
        ("claimyard_claims_waiting", "waiting", start, "last"),
        ("claimyard_devices_held_idle", "held_idle", start, "last"),
        ("claimyard_cards_in_use_ratio", "allocation", start, "last"),
    ):
        figure = rows.measure(cluster, CATALOGUE[metric], Scope(), since, now, statistic)
        if figure.usable and figure.value is not None:
            yield Sample(name, own, figure.value)
    for percent, statistic in PERCENTS:
        hour = now - timedelta(hours=1)
        figure = rows.measure(cluster, CATALOGUE["pending"], Scope(), hour, now, statistic)
        if figure.usable and figure.value is not None:
            labels = (*own, ("percent", percent))
            yield Sample("claimyard_claim_pending_seconds", labels, figure.value)
    yield from _of_classes(cluster, own, now)


def _of_classes(
    cluster: Cluster, own: tuple[tuple[str, str], ...], now: datetime
) -> Iterator[Sample]:
    tracks = Track.objects.filter(
        cluster=cluster, kind__in=[Track.Kind.CLASS, Track.Kind.CLUSTER]
    ).order_by("key")[:MOST_SCOPES]
    minute = columns.minute_of(now)
    fresh = recorded.FRESH_MINUTES
    held = columns.load([track.pk for track in tracks], "", minute - fresh, fresh + 1)
    for track in tracks:
        table = held.get(track.pk)
        if table is None:
            continue
        if track.kind == Track.Kind.CLUSTER:
            yield from _last(table, "fragmentation", "claimyard_fragmentation_ratio", own)
            continue
        labels = (*own, ("device_class", track.key))
        yield from _last(table, "matches", "claimyard_class_devices_matched", labels)
        yield from _last(table, "matches_free", "claimyard_class_devices_free", labels)


def _last(
    table: columns.Table, column: str, name: str, labels: tuple[tuple[str, str], ...]
) -> Iterator[Sample]:
    values = [value for value in table.column(column).tolist() if value == value]
    if values:
        yield Sample(name, labels, values[-1])


def _of_pools(
    cluster: Cluster, own: tuple[tuple[str, str], ...], now: datetime
) -> Iterator[Sample]:
    """Of each model pool, over the last whole minutes. None where another store has them."""
    rows_ = Track.objects.filter(
        cluster=cluster, kind=Track.Kind.POOL, tried_at__gte=now - timedelta(minutes=MINUTES + 1)
    ).order_by("key")
    tracks = list(rows_[: MOST_SCOPES + 1])
    if len(tracks) > MOST_SCOPES:
        left = float(rows_.count() - MOST_SCOPES)
        yield Sample("claimyard_scopes_left_out", own, left)
    tracks = tracks[:MOST_SCOPES]
    if not tracks:
        return
    ids = [track.pk for track in tracks]
    first = columns.minute_of(now) - MINUTES
    is_kept = not measure.source_of(cluster).is_prometheus
    families = ("", "ttft", "tpot") if is_kept else ()
    held = {family: columns.load(ids, family, first, MINUTES) for family in families}
    standing = columns.load(ids, history.FAMILY, first, MINUTES + 1)
    for track in tracks:
        labels = (
            *own,
            ("tenant", track.tenant),
            ("deployment", track.deployment),
            ("pool", track.pool),
        )
        if table := standing.get(track.pk):
            yield from _last(table, f"ready/{PART}", "claimyard_model_servers_ready", labels)
            yield from _last(table, f"ready/{WHOLE}", "claimyard_model_servers_wanted", labels)
        for family, name in (
            ("ttft", "claimyard_time_to_first_token_seconds"),
            ("tpot", "claimyard_time_per_output_token_seconds"),
        ):
            if table := held.get(family, {}).get(track.pk):
                yield from _quantiles(table, name, labels)
        if table := held.get("", {}).get(track.pk):
            yield from _numbers(table, labels)


def _quantiles(
    table: columns.Table, name: str, labels: tuple[tuple[str, str], ...]
) -> Iterable[Sample]:
    whole = columns.steps(table, len(table.values))
    for percent, _ in PERCENTS:
        value = float(columns.quantiles(whole, float(percent) / 100)[0])
        if value == value:
            yield Sample(name, (*labels, ("percent", percent)), value)


def _numbers(table: columns.Table, labels: tuple[tuple[str, str], ...]) -> Iterable[Sample]:
    yield from _last(table, "queue", "claimyard_requests_waiting", labels)
    yield from _last(table, "kv_usage", "claimyard_kv_cache_usage_ratio", labels)
    whole = columns.steps(table, len(table.values))
    seconds = columns.known_minutes(table, len(table.values), "requests")[0] * 60
    requests = float(whole.column("requests")[0])
    if requests == requests and seconds:
        yield Sample("claimyard_requests_per_second", labels, requests / float(seconds))
    for metric, name in (
        ("cache_hit", "claimyard_prefix_cache_hit_ratio"),
        ("error_ratio", "claimyard_error_ratio"),
    ):
        part = float(whole.column(f"{metric}/{PART}")[0])
        total = float(whole.column(f"{metric}/{WHOLE}")[0])
        if total > 0:
            yield Sample(name, labels, part / total)
