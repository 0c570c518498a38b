"""Which part of the requests each pool of a deployment really got in a window."""

from dataclasses import dataclass
from datetime import datetime

from apps.deployments import routing as deployed
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.rendering import standing
from apps.rollouts import asking
from domain import routing
from domain.figures import Figure


@dataclass(frozen=True, slots=True)
class Share:
    """`figure` is the measured part (0 to 1) of one pool; `requests` those of all pools."""

    figure: Figure
    requests: float


def share_of(
    deployment: Deployment, pool: ModelPool, start: datetime, end: datetime
) -> Share | None:
    """What was measured of `pool`; None when the window is empty or the pool is going."""
    if end <= start:
        return None
    found = asking.figures(lambda: deployed.measured_share(deployment, start, end)).get(pool.name)
    return Share(found, float(found.total or 0)) if found is not None else None


def wished_of(deployment: Deployment, pool: ModelPool) -> float | None:
    """What the share of `pool` ought to be now, by its weight or by its part of the replicas."""
    pools = standing(deployment)
    ready = {one.name: sum(pod["state"] == "Ready" for pod in one.pods) for one in pools}
    weights = {one.name: one.weight for one in pools}
    routed = deployed.is_routed(deployment)
    return routing.expected_shares(weights, ready, routed=routed).get(pool.name)
