"""Bringing a cluster to what a deployment's rows say."""

from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.catalog.reconcile import away, record
from apps.common import leases
from apps.deployments import handed_over, surge
from apps.deployments.acceptance import acceptance
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.rendering import serving_of
from apps.deployments.selectors import holder
from apps.inventory import connections, writing
from apps.quotas import ledger
from domain import conditions
from domain.conditions import Condition
from domain.errors import DomainError
from domain.manifests import Manifest, render, selector_of
from domain.manifests.labels import POOL
from kube import client, kinds
from kube.errors import NotFound, Permanent, Transient

LEASE_SECONDS = 60
# What shares the requests between pools.
SHARING = ("Service", "HTTPRoute")
# In the order of their removal: what sends requests, then what makes pods.
OWNED = (
    kinds.HTTP_ROUTES,
    kinds.INFERENCE_POOLS,
    kinds.DEPLOYMENTS,
    kinds.DISRUPTION_BUDGETS,
    kinds.SERVICES,
    kinds.CONFIG_MAPS,
    kinds.ROLE_BINDINGS,
    kinds.SERVICE_ACCOUNTS,
    kinds.TEMPLATES,
)


def reconcile_deployment(deployment_id: int) -> None:
    """Apply the newest generation, or take a retiring one away. Safe to run twice, late, or never.

    Transient cluster errors pass through, for the task to retry.
    """
    rows = Deployment.objects.filter(pk=deployment_id, retired_at=None)
    token = leases.claim(rows, seconds=LEASE_SECONDS)
    if token is None:
        return
    deployment = rows.select_related("tenant", "cluster").get()
    changes: dict[str, Any] = {}
    try:
        changes = _retire(deployment) if deployment.is_retiring else _apply(deployment)
    except Transient as error:
        changes = away(deployment, error)
        raise
    finally:
        if leases.finish(rows, token, **changes):
            _tell_pools(deployment, changes)


def _apply(deployment: Deployment) -> dict[str, Any]:
    touch = not deployment.is_settled
    only_weights = touch and deployment.observed_generation >= deployment.content_generation
    try:
        # Asking for a device to surge onto takes its time, and weights may have to change fast.
        if touch and not only_weights:
            surge.decide(deployment)
        whole = serving_of(deployment)
    except DomainError as refusal:
        outcome = writing.Outcome(Condition("Applied", "False", "Invalid", str(refusal)))
        return record(deployment, outcome)
    manifests = render(whole)
    if only_weights:
        manifests = [one for one in manifests if one["kind"] in SHARING]
    outcome = writing.keep_so(deployment.cluster, manifests, force=touch, touch=touch)
    if outcome.condition.status == "True":
        refused = handed_over.keep(deployment, whole, touch=touch)
        outcome = replace(outcome, condition=refused) if refused else outcome
    may_prune = outcome.condition.status == "True" and deployment.cluster.mode == "manage"
    if may_prune and not only_weights:
        outcome = _prune(deployment, manifests, outcome)
    changes = record(deployment, outcome)
    if _end_pools(deployment, outcome):
        return changes
    # A pool that is still ending keeps the row unsettled, so that the sweep comes again.
    return changes | {"observed_generation": deployment.observed_generation}


def _prune(
    deployment: Deployment, manifests: list[Manifest], outcome: writing.Outcome
) -> writing.Outcome:
    """Delete what an earlier generation left: a pool that is gone, a template no pod uses."""
    wanted = {(one["kind"], one["metadata"]["name"]) for one in manifests}
    try:
        with connections.opened(deployment.cluster) as connection:
            owned = _owned(connection, deployment)
            left = [one for one in owned if (one.kind.kind, one.name) not in wanted]
            used = _templates_in_use(connection, deployment) if left else set()
    except Permanent as error:
        note = Condition("Applied", "False", error.reason, error.message)
        return replace(outcome, condition=note)
    unused = [one for one in left if one.kind != kinds.TEMPLATES or one.name not in used]
    if not unused:
        return outcome
    removed = writing.remove(deployment.cluster, unused)
    if removed.condition.status == "True":
        return outcome
    return replace(outcome, condition=removed.condition)


def _owned(connection: client.Cluster, deployment: Deployment) -> list[writing.Object]:
    found = []
    served = connection.resources()
    for kind in OWNED:
        if kind.key not in served:
            continue
        for one in connection.list_all(
            kind, namespace=deployment.namespace, label_selector=selector_of(deployment.name)
        ):
            name = str(one["metadata"]["name"])
            found.append(writing.Object(kind, deployment.namespace, name))
    return found


def _templates_in_use(connection: client.Cluster, deployment: Deployment) -> set[str]:
    pods = connection.list_all(
        kinds.PODS, namespace=deployment.namespace, label_selector=selector_of(deployment.name)
    )
    return {
        str(claim.get("resourceClaimTemplateName"))
        for pod in pods
        for claim in (pod.get("spec") or {}).get("resourceClaims") or ()
    }


def _retire(deployment: Deployment) -> dict[str, Any]:
    """Remove everything; only when neither pod nor claim is left is it retired."""
    try:
        with connections.opened(deployment.cluster) as connection:
            outcome = writing.remove(deployment.cluster, _owned(connection, deployment))
            left = _still_there(connection, deployment)
        if outcome.condition.status == "True":
            if not left:
                return record(deployment, outcome) | _retired(deployment)
            text = "Waiting for " + ", ".join(left[:5]) + " to end."
            outcome = writing.Outcome(Condition("Applied", "False", "Removing", text))
    except Permanent as error:
        if isinstance(error, NotFound) and not error.is_path:
            raise
        outcome = writing.Outcome(Condition("Applied", "False", error.reason, error.message))
    # A retiring one stays unsettled until nothing is left, so that the sweep comes again.
    return record(deployment, outcome) | {"observed_generation": deployment.observed_generation}


def _end_pools(deployment: Deployment, outcome: writing.Outcome) -> bool:
    """Forget retiring pools of which nothing is left; whether there is none any more."""
    retiring = list(deployment.pools.exclude(retiring_at=None))
    if not retiring:
        return True
    if outcome.condition.status != "True" or deployment.cluster.mode != "manage":
        return False
    gone = []
    with connections.opened(deployment.cluster) as connection:
        for pool in retiring:
            try:
                if not _still_there(connection, deployment, pool.name):
                    gone.append(pool)
            except Permanent:
                continue  # what may not be read is not known to be gone
    with transaction.atomic():
        ledger.lock(deployment.tenant)
        for pool in gone:
            if ModelPool.objects.filter(pk=pool.pk).exclude(retiring_at=None).delete()[0]:
                ledger.release(holder(pool))
    return len(gone) == len(retiring)


def _still_there(connection: client.Cluster, deployment: Deployment, pool: str = "") -> list[str]:
    chosen = selector_of(deployment.name) + (f",{POOL}={pool}" if pool else "")
    return [
        f"{kind.kind} {one['metadata']['name']}"
        for kind in (kinds.PODS, kinds.CLAIMS)
        for one in connection.list_all(kind, namespace=deployment.namespace, label_selector=chosen)
    ]


def _retired(deployment: Deployment) -> dict[str, Any]:
    with transaction.atomic():
        ledger.lock(deployment.tenant)
        for pool in deployment.pools.all():
            ledger.release(holder(pool))
        deployment.pools.update(pods=[], claims=[])
    return {"retired_at": timezone.now(), "events": []}


def _tell_pools(deployment: Deployment, changes: dict[str, Any]) -> None:
    """Give each pool the deployment's condition Applied."""
    applied = next((one for one in changes.get("conditions", ()) if one["type"] == "Applied"), None)
    if applied is None:
        return
    seen = Condition(
        "Applied", applied["status"], applied["reason"], applied["message"], applied["generation"]
    )
    settled = changes.get("observed_generation") == deployment.generation
    with transaction.atomic():
        rows = ModelPool.objects.select_for_update(of=("self",)).filter(deployment=deployment)
        for pool in rows.select_related("pattern_version__pattern"):
            accepted = acceptance(deployment, pool)
            pool.conditions = conditions.merge(
                pool.conditions, [accepted, seen], now=timezone.now().isoformat()
            )
            if settled:
                pool.observed_generation = pool.generation
            pool.save(update_fields=["conditions", "observed_generation", "updated_at"])
