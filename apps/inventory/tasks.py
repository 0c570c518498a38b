"""Trying out connections, keeping what is known of clusters fresh, and forgetting what is old."""

import base64
from datetime import timedelta
from typing import Any

from celery import shared_task
from django.db.models import F, Q
from django.utils import timezone

from apps.common import asks, secrets
from apps.common.models import Ask
from apps.inventory import checks, connections
from apps.inventory.models import Cluster, Event, Gone
from apps.inventory.snapshot.events import EVENT_SECONDS
from apps.inventory.snapshot.store import GONE_SECONDS
from kube import api, credentials
from kube.errors import ClusterError, Transient

TRY_OUT = "inventory.try"
CHECK_SECONDS = 3600
EVENTS_PER_CLUSTER = 20_000


def question_of(opened: credentials.Credentials) -> dict[str, str]:
    """The question of an ask that tries credentials out. They are sealed in it, and go with it."""
    sealed = base64.b64encode(connections.sealed(opened)).decode()
    return {"server": opened.server, "sealed": sealed}


def credentials_of(ask: Ask) -> credentials.Credentials:
    """What was tried out, for the one who registers it next."""
    return credentials.load(secrets.unseal(base64.b64decode(ask.question["sealed"])))


@asks.answers(TRY_OUT)
def try_out(ask: Ask) -> dict[str, Any]:
    opened = credentials_of(ask)
    try:
        connection = api.connect(opened)
        try:
            return checks.try_out(connection, opened)
        finally:
            connection.close()
    except ClusterError as error:
        raise asks.Unanswerable(error.message) from None


@shared_task(acks_late=True, soft_time_limit=50, time_limit=55)
def check_cluster(cluster_id: int) -> None:
    """Note what a registered cluster serves and grants. Safe to run twice."""
    cluster = Cluster.objects.filter(pk=cluster_id, retired_at=None).first()
    if cluster is None:
        return
    rows = Cluster.objects.filter(pk=cluster_id, credentials=cluster.credentials)
    try:
        with connections.opened(cluster) as connection:
            found = checks.try_out(connection, connections.stored(cluster))
    except Transient:
        return  # the watch tells of that; the sweep comes round again
    except ClusterError as error:
        rows.update(problem=error.message, checked_at=timezone.now())
        return
    rows.update(
        version=found["version"][:40],
        features=found["features"],
        rights={"missing": found["missing"], "user": found["user"]},
        checked_at=timezone.now(),
    )


@shared_task
def sweep_clusters() -> None:
    """Look again at what has not been looked at for an hour."""
    old = timezone.now() - timedelta(seconds=CHECK_SECONDS)
    due = Cluster.objects.filter(
        Q(checked_at=None) | Q(checked_at__lt=old), retired_at=None
    ).order_by(F("checked_at").asc(nulls_first=True))
    for pk in due.values_list("pk", flat=True)[:20]:
        check_cluster.delay(pk)


@shared_task
def sweep_mirror() -> None:
    """Forget what went away long ago, and events that are old or too many."""
    now = timezone.now()
    Gone.objects.filter(at__lt=now - timedelta(seconds=GONE_SECONDS)).delete()
    Event.objects.filter(last_at__lt=now - timedelta(seconds=EVENT_SECONDS)).delete()
    for cluster_id in Cluster.objects.values_list("pk", flat=True):
        mine = Event.objects.filter(cluster_id=cluster_id).order_by("-last_at")
        first_too_many = mine.values_list("last_at", flat=True)[EVENTS_PER_CLUSTER:].first()
        if first_too_many is not None:
            mine.filter(last_at__lte=first_too_many).delete()
