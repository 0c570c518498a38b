"""Which part of the requests each pool of a deployment really got in a window."""

from dataclasses import dataclass
from datetime import datetime

from apps.deployments.models import Deployment, ModelPool
from apps.telemetry import measure as telemetry
from apps.telemetry.scopes import Scope
from domain import routing
from domain.figures import Figure, State


@dataclass(frozen=True, slots=True)
class Share:
    """`figure` is the measured part (0 to 1) of one pool; `requests` those of all pools."""

    figure: Figure
    requests: float


def share_of(
    deployment: Deployment, pool: ModelPool, start: datetime, end: datetime
) -> Share | None:
    """What was measured of `pool`; None when the window is empty or the pool is unknown."""
    if end <= start:
        return None
    counted = {
        one.name: telemetry.requests(deployment.cluster, Scope.of_pool(one), start, end)
        for one in deployment.pools.all()
    }
    mine = counted.get(pool.name)
    if mine is None:
        return None
    silent = next((one for one in counted.values() if one.value is None), None)
    if silent is not None and any(
        one.value is None and one.state is not State.NO_TRAFFIC for one in counted.values()
    ):
        return Share(Figure(None, silent.state, silent.detail), 0.0)
    total = sum(one.value or 0.0 for one in counted.values())
    if not total:
        return Share(Figure(None, State.NO_TRAFFIC, "no request ended in the window"), 0.0)
    return Share(Figure((mine.value or 0.0) / total, State.LIVE, at=end), total)


def wished_of(deployment: Deployment, pool: ModelPool) -> float | None:
    """What the share of `pool` ought to be now, by its weight or by its part of the replicas."""
    pools = list(deployment.pools.all())
    ready = {one.name: sum(pod["state"] == "Ready" for pod in one.pods) for one in pools}
    weights = {one.name: one.weight for one in pools}
    found = routing.expected_shares(weights, ready, routed=is_routed(deployment))
    return found.get(pool.name)


def is_routed(deployment: Deployment) -> bool:
    """Whether a gateway shares the requests by weight; a Service does it by ready replicas."""
    return hasattr(deployment.cluster, "gateway")
