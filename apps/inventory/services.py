"""Writing what the portal knows of its clusters; nothing here talks to one."""

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.audit import services as audit
from apps.inventory import connections, tasks
from apps.inventory.models import Cluster, Mode, WriteSwitch
from domain.errors import DomainError, IllegalTransition
from kube.credentials import Credentials


class OtherCluster(DomainError):
    """New credentials must be for the cluster that is registered."""

    code = "other_cluster"


@transaction.atomic
def register_cluster(
    *, actor: Any, slug: str, name: str, credentials: Credentials, mode: str = Mode.OBSERVE
) -> Cluster:
    """Add a cluster; the watch begins to mirror it within seconds.

    Raises ValidationError for a name that is taken or no name.
    """
    cluster = Cluster(slug=slug, name=name, server=credentials.server, mode=mode)
    _keep(cluster, credentials)
    cluster.full_clean()
    cluster.save()
    audit.record(
        actor=actor,
        verb="registered",
        subject=cluster,
        after={"name": name, "server": credentials.server, "mode": mode},
    )
    transaction.on_commit(partial(tasks.check_cluster.delay, cluster.pk))
    return cluster


@transaction.atomic
def rotate_credentials(*, actor: Any, cluster: Cluster, credentials: Credentials) -> Cluster:
    """Replace the credentials; the watch takes the new ones within seconds.

    Raises OtherCluster when they are for another address: rows of two clusters must not mix.
    """
    held = _locked(cluster)
    if credentials.server != held.server:
        raise OtherCluster(
            f"These credentials are for {credentials.server}, but {held.slug} is {held.server}. "
            "Register the other cluster by itself."
        )
    before = held.credentials_expire_at
    _keep(held, credentials)
    held.problem = ""
    held.save(
        update_fields=[
            "credentials",
            "credentials_expire_at",
            "problem",
            "checked_at",
            "updated_at",
        ]
    )
    audit.record(
        actor=actor,
        verb="changed credentials of",
        subject=held,
        before={"expire_at": _said(before)},
        after={"expire_at": _said(held.credentials_expire_at)},
    )
    transaction.on_commit(partial(tasks.check_cluster.delay, held.pk))
    return held


@transaction.atomic
def set_mode(*, actor: Any, cluster: Cluster, mode: str) -> Cluster:
    """observe only looks, propose shows patches, manage applies."""
    held = _locked(cluster)
    if mode not in Mode.values:
        raise DomainError(f"{mode!r} is not a mode; use {', '.join(Mode.values)}.")
    if held.mode == mode:
        return held
    before, held.mode = held.mode, mode
    held.save(update_fields=["mode", "updated_at"])
    audit.record(
        actor=actor,
        verb="changed mode of",
        subject=held,
        before={"mode": before},
        after={"mode": mode},
    )
    transaction.on_commit(partial(tasks.check_cluster.delay, held.pk))
    return held


@transaction.atomic
def retire_cluster(*, actor: Any, cluster: Cluster) -> Cluster:
    """Stop looking at a cluster. Its rows and history stay; its credentials do not."""
    held = _locked(cluster)
    held.retired_at = timezone.now()
    held.credentials, held.credentials_expire_at = b"", None
    held.mode = Mode.OBSERVE
    held.save(
        update_fields=["retired_at", "credentials", "credentials_expire_at", "mode", "updated_at"]
    )
    # What was in use when we last looked ends here, as far as we know.
    audit.record(actor=actor, verb="retired", subject=held, message="Its history is kept.")
    return held


@transaction.atomic
def stop_writes(*, actor: Any, reason: str) -> WriteSwitch:
    """Stop every write to every cluster at once."""
    return _switch(actor, stopped=True, reason=reason)


@transaction.atomic
def allow_writes(*, actor: Any) -> WriteSwitch:
    return _switch(actor, stopped=False, reason="")


def _switch(actor: Any, *, stopped: bool, reason: str) -> WriteSwitch:
    WriteSwitch.objects.get_or_create(pk=1)
    switch = WriteSwitch.objects.select_for_update().get(pk=1)
    if switch.stopped == stopped:
        return switch
    before = {"stopped": switch.stopped, "reason": switch.reason}
    switch.stopped, switch.reason = stopped, reason[:200]
    switch.save()
    audit.record(
        actor=actor,
        verb="stopped" if stopped else "allowed",
        subject=switch,
        before=before,
        after={"stopped": stopped, "reason": switch.reason},
        message="all writes to clusters",
    )
    return switch


def _locked(cluster: Cluster) -> Cluster:
    held = Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
    if held.retired_at is not None:
        raise IllegalTransition(f"{held.slug} is retired; register it anew to use it again.")
    return held


def _keep(cluster: Cluster, credentials: Credentials) -> None:
    cluster.credentials = connections.sealed(credentials)
    cluster.credentials_expire_at = credentials.token_expires_at
    cluster.checked_at = None


def _said(moment: Any) -> str | None:
    return moment.isoformat() if moment else None
