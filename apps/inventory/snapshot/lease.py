"""Who mirrors a cluster: one leader, known by the epoch of an expiring lease.

Times are the database's. A leader that froze past its lease finds a higher epoch when it wakes, at
its next write at the latest, and that write does nothing.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from apps.inventory.models import Cluster, WatchLease

LEASE_SECONDS = 15


class NotLeading(Exception):
    """Somebody else leads now; nothing was written."""


@dataclass(frozen=True, slots=True)
class Leadership:
    cluster_id: int
    epoch: int

    def renew(self, *, seconds: int = LEASE_SECONDS) -> None:
        """Raise NotLeading when the lease passed on."""
        mine = WatchLease.objects.filter(cluster_id=self.cluster_id, epoch=self.epoch)
        if not mine.update(until=Now() + timedelta(seconds=seconds)):
            raise NotLeading

    def fence(self) -> None:
        """Inside a transaction: nobody can take over before it ends. Raise NotLeading."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT epoch FROM inventory_watchlease WHERE cluster_id = %s FOR SHARE",
                [self.cluster_id],
            )
            row = cursor.fetchone()
        if row is None or row[0] != self.epoch:
            raise NotLeading

    def counted(self, rules: str) -> None:
        """Note by which rules all that is stored is counted; "" for not all of it."""
        WatchLease.objects.filter(cluster_id=self.cluster_id, epoch=self.epoch).exclude(
            counted_by=rules
        ).update(counted_by=rules)

    def tell(self, **changes: object) -> None:
        """Renew, and change the cluster's row with it; raise NotLeading, having written nothing."""
        with transaction.atomic():
            self.renew()  # holds the lease's row, so that nobody takes over in between
            Cluster.objects.filter(pk=self.cluster_id).update(**changes)

    def give_up(self) -> None:
        """Let the next one in at once."""
        WatchLease.objects.filter(cluster_id=self.cluster_id, epoch=self.epoch).update(
            until=None, holder=""
        )


def lead(cluster_id: int, holder: str, *, seconds: int = LEASE_SECONDS) -> Leadership | None:
    """Take the lease if nobody holds it; None when somebody does."""
    with transaction.atomic():
        WatchLease.objects.get_or_create(cluster_id=cluster_id)
        free = WatchLease.objects.filter(Q(until=None) | Q(until__lt=Now()), cluster_id=cluster_id)
        taken = free.update(
            epoch=F("epoch") + 1, holder=holder[:200], until=Now() + timedelta(seconds=seconds)
        )
        if not taken:
            return None
        epoch = WatchLease.objects.values_list("epoch", flat=True).get(cluster_id=cluster_id)
        return Leadership(cluster_id, epoch)
