"""What the pages of telemetry show: figures of now by scope, and how fresh they are."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, QuerySet

from apps.inventory.models import Cluster
from apps.telemetry import measure, window
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from domain.figures import Figure, State
from domain.metrics import CATALOGUE

WINDOW = timedelta(minutes=5)
# What a deployment's page shows of its servers: metric and statistic.
SERVING = (
    ("tokens", "rate"),
    ("requests", "rate"),
    ("error_ratio", "ratio"),
    ("cache_hit", "ratio"),
    ("ttft", "p50"),
    ("ttft", "p95"),
    ("tpot", "p95"),
    ("queue_time", "p50"),
    ("prefill_time", "p50"),
    ("running", "last"),
    ("queue", "last"),
    ("kv_usage", "last"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure with its place in the catalogue."""

    metric: str
    statistic: str
    figure: Figure

    @property
    def title(self) -> str:
        return titled(self.metric, self.statistic)


def titled(metric: str, statistic: str) -> str:
    """The metric's title, with the statistic where it has several."""
    title = CATALOGUE[metric].title
    words = {"rate": " a second", "p50": ", half within", "max": ", at most"}
    if statistic in words:
        return title + words[statistic]
    return f"{title}, {statistic[1:]} % within" if statistic[:1] == "p" else title


def serving(cluster: Cluster, scope: Scope, now: datetime, *, expected: int = 0) -> list[Shown]:
    """The figures of the last five minutes from the portal's own readings; `expected` is how many
    servers ought to report."""
    source = measure.source_of(cluster)
    tracks = window.servers(cluster, scope, now - WINDOW, now)
    found = window.of(tracks, now - WINDOW, now, [name for name, _ in SERVING])
    found.due = max(found.due, expected)
    shown = []
    for name, how in SERVING:
        figure = measure.refused(source, CATALOGUE[name], now - WINDOW)
        figure = figure or measure.figure_of(found, CATALOGUE[name], how, now)
        shown.append(Shown(name, how, figure))
    return shown


def together(figures: list[Shown]) -> Figure:
    """One figure for the badge of a part: what holds for all of them."""
    found = [one.figure for one in figures]
    told = [one for one in found if one.state not in {State.NO_TRAFFIC, State.NOT_EXPORTED}]
    return (told or found)[0]


def tracks_of(tenant: str, deployment: str) -> QuerySet[Track]:
    return Track.objects.filter(tenant=tenant, deployment=deployment, kind=Track.Kind.SERVER)


def cluster_of(tenant: str, deployment: str) -> Cluster | None:
    """Where the deployment's servers were read last."""
    row = tracks_of(tenant, deployment).select_related("cluster").order_by("-tried_at").first()
    return row.cluster if row else None


def revision(tenant: str, deployment: str, *, now: datetime) -> str:
    """A text that changes with every reading of the deployment's servers, and as they grow old."""
    found = tracks_of(tenant, deployment).filter(tried_at__gte=now - WINDOW)
    seen = found.aggregate(newest=Max("read_at"), count=Count("pk"), problem=Max("problem"))
    stale = seen["newest"] is not None and now - seen["newest"] > window.FRESH
    return f"{seen} {stale}"
