"""What people may do with the nodes of a migration. The reconciler carries it out."""

from collections.abc import Sequence
from functools import partial

from django.db import transaction

from apps.audit import services as audit
from apps.inventory.models import Node
from apps.rollouts import tasks
from apps.rollouts.models import Migration, NodeConversion
from apps.tenancy.models import User
from domain.errors import IllegalTransition, InvalidValue
from domain.rollout.conversion import NVIDIA

MOST_NODES = 1000


@transaction.atomic
def convert_nodes(
    *, actor: User | None, migration: Migration, nodes: Sequence[str], direction: str = "forth"
) -> list[NodeConversion]:
    """Ask for these nodes to be converted, or taken back by the same recipe.

    Repeatable. Raises InvalidValue for a node that is not there or has no cards, IllegalTransition
    for a way back of a node that this migration never converted, or once the migration is over.
    """
    migration = Migration.objects.select_for_update(no_key=True).get(pk=migration.pk)
    if migration.started_at is None or migration.is_over:
        raise IllegalTransition(f"{migration} is not under way.")
    names = sorted(set(nodes))
    if not 1 <= len(names) <= MOST_NODES:
        raise InvalidValue(f"Choose 1 to {MOST_NODES} nodes.", field="nodes")
    known = set(
        Node.objects.filter(cluster=migration.cluster, name__in=names, has_cards=True).values_list(
            "name", flat=True
        )
    )
    if missing := [name for name in names if name not in known]:
        raise InvalidValue(f"There is no node {missing[0][:80]!r} with cards.", field="nodes")
    rows = [_ask(migration, name, direction) for name in names]
    audit.record(
        actor=actor,
        verb="asked to convert nodes of" if direction == "forth" else "asked to take back nodes of",
        subject=migration,
        after={"nodes": names},
    )
    transaction.on_commit(partial(tasks.reconcile_migration.delay, migration.pk))
    return rows


def _ask(migration: Migration, node: str, direction: str) -> NodeConversion:
    row = migration.conversions.filter(node=node).first()
    if direction == "back":
        if row is None or row.started_at is None:
            raise IllegalTransition(f"{node} was not converted by {migration}.")
        if row.direction == NodeConversion.Direction.BACK:
            return row
        row.direction, row.state = NodeConversion.Direction.BACK, NodeConversion.State.RUNNING
        row.step, row.finished_at = "", None
        row.save()
        return row
    if row is None:
        return NodeConversion.objects.create(
            migration=migration,
            node=node,
            wave=migration.waves.last(),
            recipe={"labels": dict(NVIDIA.labels)},
        )
    if row.direction == NodeConversion.Direction.BACK:
        row.direction, row.state = NodeConversion.Direction.FORTH, NodeConversion.State.RUNNING
        row.step, row.finished_at = "", None
        row.save()
    return row
