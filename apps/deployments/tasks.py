from typing import Any

from celery import shared_task

from apps.catalog.tasks import due
from apps.common import asks
from apps.common.models import Ask
from apps.deployments import observe, reconcile, selectors, sharing
from apps.deployments.models import Deployment
from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.quotas import occupants
from apps.tenancy.models import Tenant
from kube.errors import ClusterError, Transient

LOG_LINES = 500
LONGEST_ANSWER = 4000


@shared_task(
    acks_late=True,
    autoretry_for=(Transient,),
    retry_backoff=True,
    retry_backoff_max=60,
    max_retries=3,
    soft_time_limit=45,
    time_limit=55,  # under the lease, so that a killed worker's lease outlives its work
)
def reconcile_deployment(deployment_id: int) -> None:
    reconcile.reconcile_deployment(deployment_id)
    row = Deployment.objects.filter(pk=deployment_id).first()
    if row is not None:
        observe_cluster.delay(row.cluster_id, [row.namespace])


@shared_task
def sweep_deployments() -> None:
    """Whatever a lost message left, and a look for drift at what is settled."""
    for pk in due(selectors.live()):
        reconcile_deployment.delay(pk)


@shared_task(soft_time_limit=25, time_limit=30)
def observe_cluster(cluster_id: int, namespaces: list[str] | None = None) -> None:
    """Note what the rows say of a cluster's deployments; the watch sends this after a change."""
    cluster = Cluster.objects.filter(pk=cluster_id, retired_at=None).first()
    if cluster is not None:
        observe.observe_cluster(cluster, namespaces)


@shared_task
def observe_clusters() -> None:
    """Whatever a lost message left."""
    for pk in selectors.live().order_by().values_list("cluster_id", flat=True).distinct():
        observe_cluster.apply_async((pk,), expires=10)


@occupants.occupies
def deployed_by(tenant: Tenant, cluster: Cluster) -> list[str]:
    """What keeps a cluster from being taken back from a tenant."""
    names = selectors.live().filter(tenant=tenant, cluster=cluster).values_list("name", flat=True)
    return [f"Deployment {name}" for name in names]


@asks.answers("deployments.logs")
def pod_logs(ask: Ask) -> dict[str, Any]:
    """The end of a pod's log; the view has checked that the pod is one of the tenant's."""
    cluster = Cluster.objects.get(pk=ask.cluster_id or 0)
    question = ask.question
    try:
        with connections.opened(cluster) as connection:
            text = connection.logs(
                question["namespace"],
                question["pod"],
                container="server",
                tail=LOG_LINES,
                previous=bool(question.get("previous")),
            )
    except ClusterError as error:
        raise asks.Unanswerable(error.message) from None
    return {"text": text, "pod": question["pod"]}


@asks.answers(sharing.KIND)
def measured_shares(ask: Ask) -> dict[str, Any]:
    return sharing.answer(ask)


@asks.answers("deployments.try")
def try_server(ask: Ask) -> dict[str, Any]:
    """What a server answers on the path that tells whether its model is loaded."""
    cluster = Cluster.objects.get(pk=ask.cluster_id or 0)
    question = ask.question
    try:
        with connections.opened(cluster) as connection:
            body = connection.proxy_get(
                question["namespace"], question["pod"], question["port"], question["path"]
            )
    except ClusterError as error:
        raise asks.Unanswerable(error.message) from None
    text = body[:LONGEST_ANSWER].decode(errors="replace").replace("\0", "\ufffd")
    return {"text": text, "pod": question["pod"]}
