"""Writing down where a cluster's metrics come from."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.audit import services as audit
from apps.common import secrets
from apps.inventory.models import Cluster
from apps.telemetry.models import MetricsSource
from domain.errors import InvalidValue

FIELDS = (
    "kind",
    "url",
    "service_namespace",
    "service_name",
    "service_port",
    "service_tls",
    "service_path",
    "ca",
    "tenant_header",
    "tenant_value",
)


@transaction.atomic
def set_source(
    *, actor: Any, cluster: Cluster, token: str | None = None, **values: Any
) -> MetricsSource:
    """Say where the cluster's metrics come from; repeatable. `token` None keeps the stored one.

    Raises InvalidValue, naming the field.
    """
    source = MetricsSource.objects.select_for_update().filter(cluster=cluster).first()
    source = source or MetricsSource(cluster=cluster)
    before = shown(source) if source.pk else None
    for name in FIELDS:
        if name in values:
            setattr(source, name, values[name])
    if token is not None:
        source.token = secrets.seal(token.encode()) if token else b""
    source.checked_at, source.version, source.problem = None, "", ""
    _check(source)
    source.save()
    audit.record(
        actor=actor,
        verb="updated" if before else "created",
        subject=source,
        before=before,
        after=shown(source),
        message=f"metrics of {cluster.slug}: {source.get_kind_display()}",
    )
    return source


def shown(source: MetricsSource) -> dict[str, Any]:
    """The source without its secret, as audit and API show it."""
    return {name: getattr(source, name) for name in FIELDS} | {"has_token": bool(source.token)}


def _check(source: MetricsSource) -> None:
    if source.kind == MetricsSource.Kind.PROMETHEUS and not source.url:
        raise InvalidValue("Name the URL of the Prometheus.", field="url")
    if source.kind == MetricsSource.Kind.SERVICE:
        for name in ("service_namespace", "service_name", "service_port"):
            if not getattr(source, name):
                raise InvalidValue("The API server's proxy needs it.", field=name)
    for name in ("tenant_header", "tenant_value"):
        if any(ord(letter) < 32 or ord(letter) > 126 for letter in getattr(source, name)):
            raise InvalidValue("A header is of plain letters.", field=name)
    try:
        source.full_clean(exclude=["cluster"])
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise InvalidValue(str(messages[0]), field=field) from None
