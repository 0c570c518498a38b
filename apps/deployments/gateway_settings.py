"""The platform team chooses the Gateway through which a cluster's deployments are reached."""

from typing import Any

from django.db import transaction

from apps.audit import services as audit
from apps.deployments import services
from apps.deployments.models import ClusterGateway, Deployment
from apps.deployments.selectors import live
from apps.inventory.models import Cluster
from apps.tenancy.models import User
from domain.errors import InvalidValue
from domain.manifests.runtimes import is_image

FIELDS = (
    "is_on",
    "namespace",
    "name",
    "section",
    "domain",
    "picker_image",
    "failure_mode",
    "counter",
)


def content_of(gateway: ClusterGateway) -> dict[str, Any]:
    return {field: getattr(gateway, field) for field in FIELDS}


@transaction.atomic
def set_gateway(*, actor: User | None, cluster: Cluster, **wanted: Any) -> ClusterGateway:
    """Set some or all of FIELDS; every deployment of the cluster follows. Repeatable.

    Raises ValidationError by field, or InvalidValue for an image that is none. Turning it off takes
    routes and pickers away: the Services are then the only way in.
    """
    # The cluster's row stands in for the one that may not be there yet.
    Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
    row = ClusterGateway.objects.filter(cluster=cluster).first()
    before = content_of(row) if row else None
    row = row or ClusterGateway(cluster=cluster)
    for field, value in wanted.items():
        if field not in FIELDS:
            raise InvalidValue(f"There is no field {field!r}.", field=field)
        setattr(row, field, value)
    if not is_image(row.picker_image):
        raise InvalidValue("This is not an image.", field="picker_image")
    row.full_clean()
    if before == content_of(row):
        return row
    row.save()
    audit.record(
        actor=actor, verb="set gateway of", subject=cluster, before=before, after=content_of(row)
    )
    for deployment in live().filter(cluster=cluster, retiring_at=None).order_by("pk"):
        _follow(deployment)
    return row


def _follow(deployment: Deployment) -> None:
    found = services.locked(deployment, None)
    services.raise_generation(found)
    services.send(found)
