"""How the pools of a deployment share its requests, for pages and the API.

A web request asks no Prometheus: where one has to be asked, a worker does, and the same question
within a few seconds is the same ask.
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.common import asks
from apps.common.models import Ask
from apps.deployments.gateways import gateway_of
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.rendering import standing
from apps.deployments.routing import measured_share, routed_condition
from apps.telemetry import measure
from domain import routing
from domain.figures import Figure, State

KIND = "deployments.share"
WINDOW = timedelta(minutes=5)
# Requests that were under way at a change are still the old weights'.
LEAST = timedelta(seconds=45)
SAME_SECONDS = 15


@dataclass(frozen=True, slots=True)
class PoolSharing:
    """A pool's part: `expected` is what its weight (or its ready replicas) leads to, 0 to 1;
    `share` what was measured since `since`; `follows` None while that is not known."""

    pool: ModelPool
    ready: int
    expected: float | None
    share: Figure | None
    follows: bool | None
    in_route: float | None
    picker: str
    since: datetime

    @property
    def percents(self) -> dict[str, float | None]:
        """The shares as pages show them."""
        shown = {
            "expected": self.expected,
            "measured": self.share.value if self.share else None,
            "in_route": self.in_route,
        }
        return {key: None if one is None else round(100 * one, 1) for key, one in shown.items()}


def sharing(deployment: Deployment, *, asked_by: Any = None) -> list[PoolSharing]:
    """Every pool of it; `share` is None while a worker still asks."""
    pools = standing(deployment)
    ready = {pool.name: sum(pod["state"] == "Ready" for pod in pool.pods) for pool in pools}
    is_routed = gateway_of(deployment.cluster) is not None
    expected = routing.expected_shares(
        {pool.name: pool.weight for pool in pools}, ready, routed=is_routed
    )
    now = timezone.now()
    since = _start(deployment, now)
    measured = shares(deployment, asked_by=asked_by) or {}
    told = deployment.routing.get("pools", {})
    return [
        PoolSharing(
            pool,
            ready[pool.name],
            expected[pool.name],
            measured.get(pool.name),
            _follows(expected[pool.name], measured.get(pool.name)) if now - since > LEAST else None,
            told.get(pool.name, {}).get("share"),
            _picker(told.get(pool.name)),
            since,
        )
        for pool in pools
    ]


def _start(deployment: Deployment, end: datetime) -> datetime:
    """The last minutes, or since the route has had its weights: what was before is not theirs."""
    changed = parse_datetime(deployment.routing.get("since", ""))
    return max(end - WINDOW, min(changed, end)) if changed else end - WINDOW


def _follows(expected: float | None, share: Figure | None) -> bool | None:
    if expected is None or share is None or not share.usable or share.value is None:
        return None
    return routing.follows(expected, share.value, share.total or 0)


def _picker(told: dict[str, Any] | None) -> str:
    if told is None:
        return ""
    return "ready" if told.get("picker_ready") else "not ready"


def note(deployment: Deployment) -> str:
    """What shares the requests, in a sentence."""
    gateway = gateway_of(deployment.cluster)
    if gateway is None:
        return (
            "No gateway carries these requests. One Service does, which knows no weights: each "
            "pool gets the part of its ready replicas, and a pool that has all the weight is "
            "selected alone."
        )
    condition = routed_condition(deployment) or {}
    failure = deployment.routing.get("failure", {}).get("text", "")
    return " ".join(part for part in (condition.get("message", ""), failure) if part)


def shares(deployment: Deployment, *, asked_by: Any = None) -> dict[str, Figure] | None:
    """Measured shares of the last minutes; None while a worker still asks for them."""
    now = timezone.now()
    gateway = gateway_of(deployment.cluster)
    is_far = measure.source_of(deployment.cluster).is_prometheus
    if not is_far and not (gateway and gateway.counter):
        return measured_share(deployment, _start(deployment, now), now)
    stamp = int(now.timestamp()) // SAME_SECONDS * SAME_SECONDS
    end = datetime.fromtimestamp(stamp, UTC).isoformat()
    question = {"deployment": deployment.pk, "end": end}
    since = now - timedelta(seconds=4 * SAME_SECONDS)
    rows = Ask.objects.filter(
        kind=KIND, cluster_id=deployment.cluster_id, question=question, created_at__gte=since
    )
    ask = rows.first() or asks.put(
        KIND,
        question,
        asked_by=asked_by,
        cluster_id=deployment.cluster_id,
        tenant_id=deployment.tenant_id,
    )
    return _answer(deployment, asks.wait(ask))


def _answer(deployment: Deployment, ask: Ask) -> dict[str, Figure] | None:
    if not ask.is_settled:
        return None
    if ask.state == Ask.State.FAILED:
        failed = Figure(None, State.ERROR, ask.problem)
        return {pool.name: failed for pool in standing(deployment)}
    return {name: _figure(one) for name, one in (ask.answer or {})["shares"].items()}


def _figure(told: dict[str, Any]) -> Figure:
    at = parse_datetime(told["at"]) if told["at"] else None
    return Figure(**told | {"state": State(told["state"]), "at": at})


def answer(ask: Ask) -> dict[str, Any]:
    """What a worker answers; raises asks.Unanswerable."""
    deployment = Deployment.objects.filter(pk=ask.question["deployment"]).first()
    end = parse_datetime(ask.question["end"])
    if deployment is None or end is None:
        raise asks.Unanswerable("The deployment is gone.")
    found = measured_share(deployment, _start(deployment, end), end)
    return {"shares": {name: _told(one) for name, one in found.items()}}


def _told(figure: Figure) -> dict[str, Any]:
    told = asdict(figure)
    return told | {"state": str(figure.state), "at": figure.at and figure.at.isoformat()}
