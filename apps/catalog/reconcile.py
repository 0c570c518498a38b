"""Keeping DeviceClasses in clusters as approved."""

from dataclasses import replace
from typing import Any

from django.utils import timezone

from apps.catalog import selectors
from apps.catalog.models import ClassInCluster
from apps.common import leases
from apps.inventory import writing
from domain import conditions, deviceclasses
from domain.conditions import Condition
from kube.errors import Transient
from kube.kinds import CLASSES

LEASE_SECONDS = 60


def reconcile_class(placement_id: int) -> None:
    """Apply the approved version, or remove a withdrawn one. Safe to run twice, late, or never.

    A settled row is only compared: its drift is recorded and what is missing is made again.
    Transient cluster errors pass through, for the task to retry.
    """
    rows = ClassInCluster.objects.filter(pk=placement_id)
    token = leases.claim(rows, seconds=LEASE_SECONDS)
    if token is None:
        return
    placement = rows.select_related("device_class", "cluster").get()
    changes: dict[str, Any] = {}
    try:
        changes = _outcome(placement)
    except Transient as error:
        changes = away(placement, error)
        raise
    finally:
        leases.finish(rows, token, **changes)


def _outcome(placement: ClassInCluster) -> dict[str, Any]:
    version = selectors.approved_class_version(placement.device_class)
    if version is not None:
        content = deviceclasses.class_from(version.content)
        manifest = deviceclasses.manifest(placement.device_class.name, version.number, content)
        outcome = writing.keep_so(
            placement.cluster,
            [manifest],
            adopt=placement.adopted,
            force=placement.is_forced or placement.adopted,
            touch=not placement.is_settled,
        )
    elif placement.applied_version_id is not None or placement.condition("Applied"):
        name = writing.Object(CLASSES, None, placement.device_class.name)
        outcome = writing.remove(placement.cluster, [name])
    else:
        return {"observed_generation": placement.generation, "checked_at": timezone.now()}
    return record(placement, outcome) | {
        "applied_version": version if outcome.condition.status == "True" else None
    }


def away(row: Any, error: Transient) -> dict[str, Any]:
    """The columns that tell that the cluster did not answer; the row stays unsettled."""
    seen = Condition("Applied", "Unknown", error.reason, error.message, row.observed_generation)
    return {
        "conditions": conditions.merge(row.conditions, [seen], now=timezone.now().isoformat()),
        "checked_at": timezone.now(),
    }


def record(row: Any, outcome: writing.Outcome) -> dict[str, Any]:
    """The columns of an Applied row that tell what came of a run.

    A row that waits for a mode or a switch stays unsettled, so that the sweep tries again.
    """
    now = timezone.now()
    seen = replace(outcome.condition, generation=row.generation)
    waits = outcome.condition.reason in writing.WAITING
    return {
        "observed_generation": row.observed_generation if waits else row.generation,
        "conditions": conditions.merge(row.conditions, [seen], now=now.isoformat()),
        "proposal": outcome.proposal,
        "drift": outcome.drift,
        "checked_at": now,
    }
