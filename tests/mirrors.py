"""Threads that mirror a cluster for the time of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from apps.inventory.models import Cluster
from workers.mirroring import Mirroring

PATIENCE = 60.0  # seconds


@contextmanager
def mirrored(cluster: Cluster, holder: str) -> Iterator[Mirroring]:
    """One that has ended, and let go of its connection, when the block has."""
    thread = Mirroring(cluster.pk, cluster.slug, holder)
    thread.start()
    try:
        yield thread
    finally:
        ended(thread)


def ended(*threads: Mirroring) -> None:
    """Stop them all; each has to heed it."""
    for thread in threads:
        thread.stop()
    for thread in threads:
        thread.join(PATIENCE)
    assert not [thread.name for thread in threads if thread.is_alive()]
