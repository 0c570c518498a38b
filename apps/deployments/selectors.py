"""Reading deployments."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import Http404

from apps.deployments.models import Deployment, ModelPool
from apps.tenancy.models import Tenant
from domain.serving import ORDER


def holder(pool: ModelPool) -> str:
    """The name under which a pool charges its tenant's quota."""
    return f"pool:{pool.pk}"


def deployments_of(
    tenant: Tenant, *, search: str = "", retired: bool = False
) -> QuerySet[Deployment]:
    found = (
        Deployment.objects.filter(tenant=tenant)
        .select_related("tenant", "cluster")
        .prefetch_related("pools__pattern_version__pattern")
    )
    if not retired:
        found = found.filter(retired_at=None)
    if search:
        found = found.filter(name__icontains=search)
    return found


def deployment_of(tenant: Tenant, name: str) -> Deployment:
    """The deployment of that name that is not retired, or the newest retired one; 404 for none."""
    found = (
        deployments_of(tenant, retired=True)
        .filter(name=name)
        .order_by("-retired_at")  # null, which is not retired, sorts first
        .first()
    )
    if found is None:
        raise Http404(f"{tenant} has no deployment {name}")
    return found


def live() -> QuerySet[Deployment]:
    return Deployment.objects.filter(retired_at=None, cluster__retired_at=None)


def conditions_of(pool: ModelPool) -> list[dict[str, Any]]:
    """The five conditions in their order; what was never told is Unknown."""
    held = {one["type"]: one for one in pool.conditions}
    return [held.get(kind) or _unknown(kind) for kind in ORDER]


def _unknown(kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "status": "Unknown",
        "reason": "NotYetKnown",
        "message": "",
        "generation": 0,
        "transitioned_at": "",
    }


@dataclass(frozen=True, slots=True)
class Summary:
    """A deployment in one word, with the sentence behind it."""

    word: str
    message: str
    ready: int
    wanted: int


def summary_of(deployment: Deployment) -> Summary:
    """The first condition that does not hold names the state."""
    pools = list(deployment.pools.all())
    wanted = sum(pool.replicas for pool in pools)
    ready = sum(1 for pool in pools for pod in pool.pods if pod["state"] == "Ready")
    if deployment.retired_at:
        return Summary("Retired", "", 0, 0)
    if deployment.is_retiring:
        applied = deployment.condition("Applied") or {}
        return Summary("Retiring", str(applied.get("message", "")), ready, wanted)
    words = {
        "Accepted": "Refused",
        "Applied": "Not applied",
        "Allocated": "Pending",
        "Loaded": "Loading",
        "Ready": "Starting",
    }
    for kind in ORDER:
        for pool in pools:
            found = next(one for one in conditions_of(pool) if one["type"] == kind)
            if found["status"] != "True":
                return Summary(words[kind], found["message"], ready, wanted)
    if wanted == 0:
        return Summary("Stopped", "Scaled to zero.", ready, wanted)
    return Summary("Ready", "", ready, wanted)
