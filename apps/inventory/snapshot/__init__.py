"""From what a cluster says to rows: taken in, mirrored in memory, counted, written."""

from apps.inventory.snapshot.batch import Batch, Put
from apps.inventory.snapshot.intake import Intake
from apps.inventory.snapshot.known import Known, recalled
from apps.inventory.snapshot.lease import Leadership, NotLeading, lead
from apps.inventory.snapshot.mirror import Mirror
from apps.inventory.snapshot.store import Stored, Writer, load, store
from apps.inventory.snapshot.watched import WATCHED, Watched

__all__ = [
    "WATCHED",
    "Batch",
    "Intake",
    "Known",
    "Leadership",
    "Mirror",
    "NotLeading",
    "Put",
    "Stored",
    "Watched",
    "Writer",
    "lead",
    "load",
    "recalled",
    "store",
]
