"""`python -m workers.watch`: mirrors every cluster into rows.

Several may run: each cluster has one leader at a time, and another process takes over when it is
gone for longer than its lease. SIGTERM ends it cleanly, with the leases given back.
"""

import gc
import os
import signal
import socket
import threading
from types import FrameType

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

LOOK_SECONDS = 2.0
STOP_SECONDS = 10.0


class Watch:
    """The threads, one for each cluster that is not retired."""

    def __init__(self) -> None:
        from workers.mirroring import Mirroring

        self._make = Mirroring
        self.holder = f"{socket.gethostname()}:{os.getpid()}"
        self.stopping = threading.Event()
        self.threads: dict[int, Mirroring] = {}

    def run(self) -> None:
        """Until `stopping` is set."""
        import structlog
        from django.db import Error, InterfaceError

        log = structlog.get_logger(__name__)
        log.info("watching", holder=self.holder)
        while not self.stopping.is_set():
            try:
                self.look()
            except (Error, InterfaceError) as error:
                log.warning("database away", why=str(error)[:200])
                _forget_connection()
            self.stopping.wait(LOOK_SECONDS)
        self.stop()

    def look(self) -> None:
        """Start what is new, stop what is retired."""
        from apps.inventory.models import Cluster

        wanted = dict(Cluster.objects.filter(retired_at=None).values_list("pk", "slug"))
        for pk in [pk for pk in self.threads if pk not in wanted]:
            self.threads.pop(pk).stop()
        for pk, slug in wanted.items():
            thread = self.threads.get(pk)
            if thread is None or not thread.is_alive():
                self.threads[pk] = self._make(pk, slug, self.holder)
                self.threads[pk].start()

    def stop(self) -> None:
        for thread in self.threads.values():
            thread.stop()
        for thread in self.threads.values():
            thread.join(STOP_SECONDS)
        _forget_connection()


def _forget_connection() -> None:
    from django.db import connection

    connection.close()


def spare_collections() -> None:
    """The mirror is hundreds of thousands of objects that live on and hold no cycles: looking
    through all of them again and again takes a quarter of a first list's time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def main() -> None:
    django.setup()
    spare_collections()
    watch = Watch()

    def end(signum: int, frame: FrameType | None) -> None:
        watch.stopping.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    watch.run()


if __name__ == "__main__":
    main()
