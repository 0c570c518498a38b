"""Reading deployments."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, QuerySet, Sum
from django.http import Http404

from apps.deployments.models import Deployment, ModelPool, Runtime
from apps.tenancy.models import Tenant
from domain import canonical
from domain.manifests import OwnImage
from domain.manifests.runtimes import VLLM_PORT
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
        "message": _NOT_YET.get(kind, ""),
        "generation": 0,
        "transitioned_at": "",
    }


_NOT_YET = {
    "Applied": "It has not been written to the cluster yet.",
    "Allocated": "The cluster has not told of its pods yet.",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """A deployment in one word, with the sentence behind it."""

    word: str
    message: str
    ready: int
    wanted: int


WORDS = {
    "Applied": "Not applied",
    "Allocated": "Pending",
    "Loaded": "Loading",
    "Ready": "Starting",
}


def summary_of(deployment: Deployment) -> Summary:
    """The first condition that does not hold names the state.

    What is no longer accepted, such as a pool over a quota that was lowered, serves on: that is
    said, but it is no state of its own.
    """
    pools = [pool for pool in deployment.pools.all() if pool.retiring_at is None]
    wanted = sum(pool.replicas for pool in pools)
    ready = sum(1 for pool in pools for pod in pool.pods if pod["state"] == "Ready")
    if deployment.retired_at:
        return Summary("Retired", "", 0, 0)
    if deployment.is_retiring:
        applied = deployment.condition("Applied") or {}
        return Summary("Retiring", str(applied.get("message", "")), ready, wanted)
    told = [{one["type"]: one for one in conditions_of(pool)} for pool in pools]
    notes = [one["Accepted"]["message"] for one in told if one["Accepted"]["status"] == "False"]
    for kind, word in WORDS.items():
        for conditions in told:
            if conditions[kind]["status"] != "True":
                if kind == "Applied" and conditions[kind]["reason"] == "NotYetKnown":
                    word = "Applying"
                text = " ".join([*notes, conditions[kind]["message"]])
                return Summary(word, text, ready, wanted)
    if wanted == 0:
        return Summary("Stopped", " ".join([*notes, "Scaled to zero."]), ready, wanted)
    return Summary("Ready", " ".join(notes), ready, wanted)


def list_revision(tenant: Tenant) -> str:
    """A text that changes when anything in the tenant's list of deployments does."""
    return revision_of_many(Deployment.objects.filter(tenant=tenant))


def revision_of_many(rows: QuerySet[Deployment]) -> str:
    found = rows.order_by().aggregate(
        newest=Max("updated_at"),
        generations=Sum("observed_generation"),
        pools=Max("pools__updated_at"),
        count=Count("pk", distinct=True),
    )
    return str(found)


def revision_of(deployment: Deployment) -> str:
    """What the live part of a deployment's page depends on."""
    pools = [str(pool.updated_at) for pool in deployment.pools.all()]
    rest = (
        deployment.generation,
        deployment.observed_generation,
        deployment.conditions,
        deployment.events,
        deployment.drift,
        deployment.proposal,
        deployment.retired_at,
        pools,
    )
    return canonical.digest([str(one) for one in rest])


def pod_names(deployment: Deployment) -> set[str]:
    return {pod["name"] for pool in deployment.pools.all() for pod in pool.pods}


def ready_pod(pools: list[ModelPool]) -> str | None:
    return next(
        (pod["name"] for pool in pools for pod in pool.pods if pod["state"] == "Ready"), None
    )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a deployment answers: inside the cluster by its Service."""

    service: str
    namespace: str
    port: int
    path: str  # answers once the model is loaded

    @property
    def url(self) -> str:
        return f"http://{self.service}.{self.namespace}.svc:{self.port}"

    @property
    def curl(self) -> str:
        """Works in any pod of the cluster."""
        return f"curl {self.url}{self.path}"

    def from_outside(self, pod: str) -> str:
        """Works wherever kubectl does: through the API server to one ready pod."""
        base = "http://127.0.0.1:8001/api/v1/namespaces"
        return f"curl {base}/{self.namespace}/pods/{pod}:{self.port}/proxy{self.path}"


def endpoint_of(deployment: Deployment) -> Endpoint:
    own = deployment.own or {}
    is_vllm = deployment.runtime == Runtime.VLLM
    return Endpoint(
        service=deployment.name,
        namespace=deployment.namespace,
        port=VLLM_PORT if is_vllm else int(own.get("port", OwnImage().port)),
        path="/v1/models" if is_vllm else str(own.get("ready_path", OwnImage().ready_path)),
    )


def live_of(tenants: QuerySet[Tenant], *, cluster: str = "") -> QuerySet[Deployment]:
    found = live().filter(tenant__in=tenants)
    return found.filter(cluster__slug=cluster) if cluster else found


MOST_COUNTED = 2000


def counted(rows: QuerySet[Deployment]) -> dict[str, Any]:
    """Numbers by state, and up to five that do not serve."""
    found = list(rows.select_related("tenant").prefetch_related("pools")[:MOST_COUNTED])
    words: dict[str, int] = {}
    waiting: list[tuple[Deployment, Summary]] = []
    for deployment in found:
        summary = summary_of(deployment)
        words[summary.word] = words.get(summary.word, 0) + 1
        if summary.word not in ("Ready", "Stopped") and len(waiting) < 5:
            waiting.append((deployment, summary))
    return {"words": sorted(words.items()), "waiting": waiting, "total": len(found)}
