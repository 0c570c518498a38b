"""Hints to the rooms above the mirror that rows of theirs to look at have changed.

A hint may be lost, so whoever takes it has a sweep too. Sending is a thread's own work: a broker
that is away must not hold up the watch.
"""

import threading

from apps.deployments import tasks
from apps.inventory.snapshot import Batch, Mirror

KINDS = ("pods", "resourceclaims", "deployments")
GATHER_SECONDS = 0.3


class Telling:
    """Gathers the tenants' namespaces in which something changed, and tells of them together."""

    def __init__(self, cluster_id: int, mirror: Mirror) -> None:
        self.cluster_id, self.mirror = cluster_id, mirror
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._namespaces: set[str] = set()
        self._is_all = False

    def note(self, batch: Batch, *, is_first: bool) -> None:
        """After a batch was stored; `is_first` after the one that completed the first list."""
        touched = {
            one.namespace
            for kind in KINDS
            for changes in (batch.puts, batch.drops)
            for one in changes.get(kind, {}).values()
        }
        touched |= {str(event["namespace"]) for event in batch.events.values()}
        touched = {name for name in touched if self.mirror.tenants.get(name)}
        touched |= {name for name, tenant in batch.tenants.items() if tenant}
        if not (touched or is_first):
            return
        with self._lock:
            self._namespaces |= touched
            self._is_all = self._is_all or is_first
        self._news.set()

    def run(self, over: threading.Event) -> None:
        """Until `over`: what gathers within a moment goes out as one hint."""
        while not over.is_set():
            if not self._news.wait(1.0):
                continue
            over.wait(GATHER_SECONDS)
            self._news.clear()
            with self._lock:
                namespaces, is_all = self._namespaces, self._is_all
                self._namespaces, self._is_all = set(), False
            told = None if is_all else sorted(namespaces)
            tasks.observe_cluster.apply_async((self.cluster_id, told), expires=30)
