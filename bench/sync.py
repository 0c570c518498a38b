"""A large cluster into rows: the first time, again, and one change at a time.

The baseline decodes the same bytes with orjson and copies the rows that came out of it into tables
of the same shape, indexes and all, in this process, as ours runs in one process too.
"""

import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from bench import replay
from bench.figures import Figure, measures, percentile

SIZE = replay.Size(
    *(int(word) for word in os.environ.get("BENCH_SYNC_SIZE", "10000,20000,20000").split(","))
)
TABLES = (
    "inventory_mirrored",
    "inventory_node",
    "inventory_device",
    "inventory_pod",
    "claims_claim",
    "claims_use",
)
CHANGES, PER_SECOND = 1000, 100


@measures("sync.first", "sync.relist", "sync.memory", "sync.change_to_row")
def sync_figures() -> Iterator[Figure]:
    """Everything runs in a child, whose memory is the watch's alone."""
    with tempfile.TemporaryDirectory(prefix="claimyard-bench-") as folder:
        run = subprocess.run(
            [sys.executable, "-m", "bench.sync", folder], stdout=subprocess.PIPE, check=True
        )
    for line in run.stdout.splitlines():
        values = orjson.loads(line)
        yield Figure(**values)


def figures(folder: Path) -> Iterator[dict[str, Any]]:
    from embedded import postgres

    with postgres.running(folder / "postgres", fast=True) as url:
        setup(url)
        server, where = replay.started(folder, SIZE)
        try:
            yield from _measured(where)
        finally:
            server.kill()
            server.wait()


def setup(url: str) -> None:
    import django
    from django.core.management import call_command

    os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings_test"
    os.environ["CLAIMYARD_DATABASE_URL"] = url
    os.environ["CLAIMYARD_LOG_LEVEL"] = "WARNING"
    django.setup()
    call_command("migrate", verbosity=0)


def _measured(where: dict[str, str]) -> Iterator[dict[str, Any]]:
    from workers.watch import spare_collections

    spare_collections()  # as the watch process does
    cluster = registered(where)
    first = until_synced(cluster)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    changes = list(_changes(cluster, where))
    again = [_until_relisted(cluster, Poster(where)) for _ in range(3)]
    cluster.thread.stop()
    cluster.thread.join(20)
    restarted = until_synced(cluster)
    cluster.thread.stop()
    cluster.thread.join(20)
    baseline = [_baseline() for _ in range(3)]
    yield {
        "name": "sync.first",
        "unit": "s",
        "samples": [first],
        "baseline": baseline,
        "notes": {"restarted": round(restarted, 2)},
    }
    yield {"name": "sync.relist", "unit": "s", "samples": again, "baseline": baseline}
    yield {"name": "sync.memory", "unit": "MiB", "samples": [memory]}
    yield {
        "name": "sync.change_to_row",
        "unit": "ms",
        "samples": changes,
        "value": percentile(changes, 0.95),
    }


class _Cluster:
    def __init__(self, pk: int) -> None:
        self.pk = pk
        self.thread: Any = None


def registered(where: dict[str, str]) -> _Cluster:
    from apps.inventory import connections
    from apps.inventory.models import Cluster
    from kube import credentials

    opened = credentials.from_parts(server=where["server"], ca=where["ca"], token="replayed")
    row = Cluster.objects.create(
        slug="big", name="Big", server=opened.server, credentials=connections.sealed(opened)
    )
    return _Cluster(row.pk)


def until_synced(cluster: _Cluster) -> float:
    """Seconds from the start of the watch until every kind was listed and all of it is stored."""
    from workers.mirroring import Mirroring

    cluster.thread = Mirroring(cluster.pk, "big", "bench")
    began = datetime.now(UTC)
    started = time.perf_counter()
    cluster.thread.start()
    until_listed(cluster, began)
    return time.perf_counter() - started


def until_listed(cluster: _Cluster, since: datetime) -> None:
    """Wait until every kind was listed, and all of it stored, after `since`."""
    _wait(lambda: _listed_since(cluster, since))


def _until_relisted(cluster: _Cluster, poster: "Poster") -> float:
    """Seconds for every kind to be listed again while nothing has changed."""
    began = datetime.now(UTC)
    started = time.perf_counter()
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    for kind in replay.KINDS:
        poster.post(kind, orjson.dumps({"type": "ERROR", "object": status}))
    _wait(lambda: _listed_since(cluster, began))
    return time.perf_counter() - started


def _listed_since(cluster: _Cluster, began: datetime) -> bool:
    from apps.inventory.models import Revision

    rows = Revision.objects.filter(cluster_id=cluster.pk, listed_at__gte=began)
    return rows.count() == len(replay.KINDS)


def _wait(holds: Any, seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise SystemExit("the rows never came")
        time.sleep(0.05)


def _changes(cluster: _Cluster, where: dict[str, str]) -> Iterator[float]:
    """Milliseconds from a change's sending to its row, for 1,000 changes at 100 a second."""
    from apps.inventory.models import Mirrored

    sent: dict[str, float] = {}
    seen: dict[str, float] = {}
    over = threading.Event()

    def look() -> None:
        while not over.is_set() or len(seen) < len(sent):
            rows = Mirrored.objects.filter(kind="pods", resource_version__startswith="77")
            now = time.perf_counter()
            for version in rows.values_list("resource_version", flat=True):
                seen.setdefault(version, now)
            time.sleep(0.02)

    looker = threading.Thread(target=look, daemon=True)
    looker.start()
    poster = Poster(where)
    begun = time.perf_counter()
    for number in range(CHANGES):
        version = f"77{number:06}"
        raw = replay.stamped(replay.pod(number, SIZE), 3_000_000 + number)
        raw["metadata"]["resourceVersion"] = version
        sent[version] = time.perf_counter()
        poster.post("pods", orjson.dumps({"type": "MODIFIED", "object": raw}))
        time.sleep(max(0.0, begun + (number + 1) / PER_SECOND - time.perf_counter()))
    over.set()
    looker.join(30)
    for version, at in sent.items():
        yield (seen[version] - at) * 1000


class Poster:
    def __init__(self, where: dict[str, str]) -> None:
        import base64
        import ssl

        import urllib3

        context = ssl.create_default_context(cadata=base64.b64decode(where["ca"]).decode())
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        self.pool = urllib3.PoolManager(ssl_context=context)
        self.server = where["server"]

    def post(self, kind: str, body: bytes) -> None:
        self.pool.request("POST", f"{self.server}/replay/{kind}", body=body)


def _baseline() -> float:
    """Decode every byte, and copy every row into an empty table of the same shape."""
    from django.db import connection

    answers = [page for kind in replay.MAKERS for page in replay.pages(kind, SIZE)]
    with connection.cursor() as cursor:
        copies = {}
        for table in TABLES:
            cursor.execute(f"DROP TABLE IF EXISTS bench_{table}")
            cursor.execute(f"CREATE TABLE bench_{table} (LIKE {table} INCLUDING ALL)")
            with cursor.copy(f"COPY {table} TO STDOUT") as copy:
                copies[table] = b"".join(copy)
        started = time.perf_counter()
        for answer in answers:
            orjson.loads(answer)
        for table, data in copies.items():
            with cursor.copy(f"COPY bench_{table} FROM STDIN") as copy:
                copy.write(data)
        return time.perf_counter() - started


if __name__ == "__main__":
    for figure in figures(Path(sys.argv[1])):
        print(orjson.dumps(figure).decode(), flush=True)
