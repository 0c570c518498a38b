"""One cluster into rows: a thread for each kind reads, one thread writes.

Only the leader of a cluster writes, see apps.inventory.snapshot.lease. Whatever breaks, the
cluster, the database or this process, the next round begins from what both of them hold.
"""

import functools
import hashlib
import queue
import threading
import time
from dataclasses import dataclass, field

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections
from django.db import connection as database
from django.utils import timezone

from apps.claims import snapshot as claims
from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.inventory.snapshot import (
    WATCHED,
    Batch,
    Intake,
    Known,
    Leadership,
    Mirror,
    NotLeading,
    Watched,
    lead,
    load,
    recalled,
    store,
)
from kube import client, features
from kube.errors import BadCredentials, ClusterError, Forbidden
from kube.watch import Broken, Listed, Step, follow
from workers.telling import Telling

log = structlog.get_logger(__name__)

BATCH_SECONDS = 0.2
BATCH_OBJECTS = 4000
QUEUED_STEPS = 24
HEARTBEAT_SECONDS = 4.0
PULSE_SECONDS = 10.0
FIRST_RETRY = 0.5
RETRY_SECONDS = 2.0
LONGEST_RETRY = 30.0
SERVED_SECONDS = 600.0


@dataclass(slots=True)
class Health:
    """How it goes, by kind; written by the readers, read by the writer."""

    problems: dict[str, ClusterError] = field(default_factory=dict)
    pulse: ClusterError | None = None
    version: str = ""

    @property
    def is_live(self) -> bool:
        """What we may not see is missing, but does not make the rest old."""
        broken = [one for one in self.problems.values() if not isinstance(one, Forbidden)]
        return not broken and self.pulse is None

    @property
    def text(self) -> str:
        found = {kind: error.message for kind, error in self.problems.copy().items()}
        if self.pulse is not None:
            return self.pulse.message
        return "; ".join(f"{kind}: {message}" for kind, message in sorted(found.items())[:3])


class Mirroring(threading.Thread):
    """Keeps one cluster's rows in step until it is told to stop."""

    def __init__(self, cluster_id: int, slug: str, holder: str) -> None:
        super().__init__(name=f"mirror-{slug}", daemon=True)
        self.cluster_id, self.slug, self.holder = cluster_id, slug, holder
        self.stopping = threading.Event()
        self.failures = 0
        self.log = log.bind(cluster=slug)

    def stop(self) -> None:
        self.stopping.set()

    def run(self) -> None:
        pause = RETRY_SECONDS
        while not self.stopping.is_set():
            try:
                leadership = lead(self.cluster_id, self.holder)
                if leadership is not None:
                    self._lead(leadership)
                    pause = RETRY_SECONDS
                    continue
            except NotLeading:
                self.log.info("lost the lead")
            except (DatabaseError, InterfaceError) as error:
                self.log.warning("database away", why=str(error)[:200])
                pause = min(pause * 2, LONGEST_RETRY)
                _reconnect()
            except Exception:
                # The outermost loop: a fault of ours in one cluster must not end the others.
                self.log.exception("mirroring failed")
                pause = min(pause * 2, LONGEST_RETRY)
            self.stopping.wait(pause)
        _reconnect()

    def _lead(self, leadership: Leadership) -> None:
        """Mirror for as long as we lead; always lets the next one in."""
        cluster = Cluster.objects.filter(pk=self.cluster_id, retired_at=None).first()
        if cluster is None:
            self.stopping.set()
            leadership.give_up()
            return
        self.log.info("leading", epoch=leadership.epoch)
        try:
            with connections.opened(cluster) as connection:
                watched = self._served(leadership, connection)
                self.failures = 0
                _Round(self, leadership, connection, watched).run()
        except BadCredentials as error:
            leadership.tell(problem=error.message)
            self._hold(leadership, LONGEST_RETRY)
        except ClusterError as error:
            leadership.tell(problem=error.message)
            self._hold(leadership, min(FIRST_RETRY * 2.0**self.failures, LONGEST_RETRY))
            self.failures = min(self.failures + 1, 10)
        finally:
            _quietly(leadership.give_up)

    def _hold(self, leadership: Leadership, seconds: float) -> None:
        """Wait while still leading: another leader would fare no better."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.stopping.wait(min(seconds, 2.0)):
            leadership.renew()

    def _served(self, leadership: Leadership, connection: client.Cluster) -> list[Watched]:
        served = connection.resources()
        leadership.tell(version=connection.version()[:40], features=features.found(served))
        return [one for one in WATCHED if one.kind.key in served]


class _Round:
    """One term of leading: readers, a pulse, and the loop that writes."""

    def __init__(
        self,
        mirroring: Mirroring,
        leadership: Leadership,
        connection: client.Cluster,
        watched: list[Watched],
    ) -> None:
        self.leadership, self.connection, self.watched = leadership, connection, watched
        self.cluster_id, self.log = mirroring.cluster_id, mirroring.log
        self.stopping = mirroring.stopping
        self.over = threading.Event()
        self.health = Health()
        self.steps: queue.Queue[tuple[str, Step]] = queue.Queue(QUEUED_STEPS)
        self.mirror = Mirror()
        stored, detailed, self.stored = load(self.cluster_id)
        detailed["resourceclaims"] = claims.load(self.cluster_id)
        known = None
        if self.stored.is_trusted:
            known = Known(self.mirror, functools.partial(recalled, self.cluster_id))
        self.intake = Intake(watched, self.mirror, stored, detailed, known)
        self.credentials = _fingerprint(self.cluster_id)
        self.telling = Telling(self.cluster_id, self.mirror)
        self.beat_at = 0.0
        self.served_at = time.monotonic()

    def run(self) -> None:
        threads = [
            threading.Thread(target=self._read, args=(one,), name=f"read-{one.name}", daemon=True)
            for one in self.watched
        ]
        threads.append(threading.Thread(target=self._feel_pulse, name="pulse", daemon=True))
        tell = functools.partial(self.telling.run, self.over)
        threads.append(threading.Thread(target=tell, name="telling", daemon=True))
        for thread in threads:
            thread.start()
        try:
            self._write()
        finally:
            self.over.set()
            self.connection.close()
            for thread in threads:
                thread.join(5.0)

    # --- Reading
    def _read(self, watched: Watched) -> None:
        for step in follow(self.connection, watched.kind, stop=self.over):
            if self.over.is_set():
                return
            if isinstance(step, Broken):
                self.health.problems[watched.name] = step.error
                self.log.info("watch broke", kind=watched.name, why=step.error.message[:200])
            elif not isinstance(step, Listed) or step.is_last:
                self.health.problems.pop(watched.name, None)
            if not self._hand_over(watched.name, step):
                return

    def _hand_over(self, kind: str, step: Step) -> bool:
        while not self.over.is_set():
            try:
                self.steps.put((kind, step), timeout=1.0)
            except queue.Full:
                continue
            return True
        return False

    def _feel_pulse(self) -> None:
        """A watch that hears nothing may be a quiet cluster, or none."""
        while not self.over.wait(PULSE_SECONDS):
            try:
                self.health.version = self.connection.version()
                self.health.pulse = None
            except ClusterError as error:
                self.health.pulse = error

    # --- Writing
    def _write(self) -> None:
        batch = Batch()
        while not self.stopping.is_set():
            self._gather(batch)
            if not batch.is_empty or (self.intake.can_count and self.mirror.touched):
                was_counting = self.stored.is_compared
                self._store(batch)
                self.telling.note(batch, is_first=self.stored.is_compared and not was_counting)
                batch = Batch() if self.intake.can_count else batch.carried()
            if time.monotonic() - self.beat_at > HEARTBEAT_SECONDS:
                self._beat()
                if self._is_outdated():
                    return

    def _gather(self, batch: Batch) -> None:
        """Take what comes until the batch is old or large enough."""
        started = time.monotonic()
        objects = 0
        while objects < BATCH_OBJECTS:
            left = BATCH_SECONDS - (time.monotonic() - started)
            if left <= 0:
                return
            try:
                kind, step = self.steps.get(timeout=left)
            except queue.Empty:
                return
            objects += len(step.items) if isinstance(step, Listed) else 1
            if isinstance(step, Broken) and isinstance(step.error, Forbidden):
                self.intake.give_up(kind)
            self.intake.take(kind, step, batch)

    def _store(self, batch: Batch) -> None:
        """Store the batch, however long the database is away: nothing of it may be lost."""
        pause = 0.2
        while True:
            try:
                store(
                    self.leadership,
                    batch,
                    self.mirror,
                    self.stored,
                    can_count=self.intake.can_count,
                    writers=[claims.write],
                )
            except (OperationalError, InterfaceError) as error:
                self.log.warning("database away", why=str(error)[:200])
                _reconnect()
                if self.stopping.wait(pause):
                    return
                pause = min(pause * 2, 5.0)
            else:
                return

    def _beat(self) -> None:
        """Keep the lease, and say how it goes."""
        self.beat_at = time.monotonic()
        try:
            changes: dict[str, object] = {"problem": self.health.text}
            if self.health.is_live and self.intake.can_count:
                changes["heard_at"] = timezone.now()
            if self.health.version:
                changes["version"] = self.health.version[:40]
            self.leadership.tell(**changes)
        except (OperationalError, InterfaceError):
            _reconnect()

    def _is_outdated(self) -> bool:
        """Credentials were changed, the cluster was retired, or it serves other kinds now."""
        try:
            if _fingerprint(self.cluster_id) != self.credentials:
                return True
        except (OperationalError, InterfaceError):
            return False
        if time.monotonic() - self.served_at < SERVED_SECONDS or not self.health.is_live:
            return False
        self.served_at = time.monotonic()
        return self.connection.version() != "" and self._serves_others()

    def _serves_others(self) -> bool:
        try:
            cluster = Cluster.objects.get(pk=self.cluster_id)
            with connections.opened(cluster) as fresh:
                served = fresh.resources()
        except ClusterError:
            return False
        return [one for one in WATCHED if one.kind.key in served] != self.watched


def _fingerprint(cluster_id: int) -> str:
    """Changes with the credentials, and when the cluster is retired."""
    row = (
        Cluster.objects.filter(pk=cluster_id, retired_at=None)
        .values_list("credentials", flat=True)
        .first()
    )
    return hashlib.sha256(bytes(row)).hexdigest() if row is not None else ""


def _quietly(action: object) -> None:
    try:
        action()  # type: ignore[operator]
    except (DatabaseError, InterfaceError):
        _reconnect()


def _reconnect() -> None:
    close_old_connections()
    database.close()
