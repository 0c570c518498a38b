"""Lists and their parts at fleet size, through one web process over HTTP.

The cluster is the one of bench.sync, mirrored into rows by the product's own watch; the tenants are
those of bench.teams. Each list is asked plain, filtered, sorted, searched, and for its last page.
"""

import contextlib
import os
import statistics
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
import urllib3

from bench import replay, sync, teams
from bench.figures import Figure, measures, percentile

TIMES = 8
LISTS = {
    "/nodes/": ("free=4", "sort=-free", "q=node-00042"),
    "/devices/": ("state=free", "sort=-product", "q=gpu-node-0777"),
    "/claims/": ("cluster=big", "sort=-name", "q=claim-0004"),
    "/clusters/": ("mode=observe", "sort=-name", "q=big"),
    "/tenants/": ("", "sort=-name", "q=tenant-42"),
    "/tenants/+people/": ("", "sort=-name", "q=person-42"),
    "/audit/": ("verb=created", "sort=-at", "q=tenant-42"),
    "/catalog/classes/": ("", "sort=-name", "q=class-7"),
    "/catalog/patterns/": ("", "sort=-name", "q=pattern-7"),
    "/catalog/approvals/": ("state=canceled", "sort=-created_at", ""),
    "/t/tenant-0/deployments/": ("cluster=big", "sort=-name", "q=model-7"),
}
#: Pages of another make: a matrix, with pages by number.
PAGES = {"/quotas/": ("page=10",)}
API = {
    "nodes": ("free=4", "sort=-free", "q=node-00042"),
    "devices": ("state=free", "sort=-product", "q=gpu-node-0777"),
    "claims": ("cluster=big", "sort=-name", "q=claim-0004"),
    "clusters": ("", "sort=-slug", "q=big"),
    "tenants": ("", "sort=-name", "q=tenant-42"),
    "tenants/tenant-0/members": ("", "", ""),
    "audit": ("verb=created", "", "q=tenant-42"),
    "device-classes": ("", "sort=-name", "q=class-7"),
    "claim-patterns": ("", "sort=-name", "q=pattern-7"),
    "approvals": ("state=canceled", "", ""),
    "quotas": ("tenant=tenant-42", "", ""),
    "deployments": ("tenant=tenant-0", "sort=-name", "q=model-7"),
}
UNCHANGED = "/nodes/"


@measures("pages.list", "pages.part", "pages.unchanged", "api.list")
def page_figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="claimyard-bench-") as folder:
        run = subprocess.run(
            [sys.executable, "-m", "bench.pages", folder], stdout=subprocess.PIPE, check=True
        )
    for line in run.stdout.splitlines():
        yield Figure(**orjson.loads(line))


def figures(folder: Path) -> Iterator[dict[str, Any]]:
    from embedded import postgres, valkey

    with (
        postgres.running(folder / "postgres", fast=True) as url,
        valkey.running(folder / "valkey") as broker,
    ):
        os.environ["CLAIMYARD_REDIS_URL"] = broker
        sync.setup(url)
        server, where = replay.started(folder, sync.SIZE)
        try:
            cluster, began = sync.registered(where), datetime.now(UTC)
            with _process("workers.watch"):
                sync.until_listed(cluster, began)
                session, token = teams.fill(cluster.pk)
                _analyzed()
                with _web() as address:
                    yield from _measured(Asker(address, session, token), sync.Poster(where))
        finally:
            server.kill()
            server.wait()


def _analyzed() -> None:
    """As autovacuum does in an installation; the embedded server of tests has it off."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


@contextlib.contextmanager
def _process(*module: str) -> Iterator[None]:
    """A process of the product, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", *module],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "bench.settings"},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


@contextlib.contextmanager
def _web() -> Iterator[str]:
    """One web process, started as an installation starts its own."""
    from embedded.processes import free_port

    port = free_port()
    address = f"http://127.0.0.1:{port}"
    threads = ("--worker-class=gthread", "--threads=8", "--no-control-socket")
    with _process("gunicorn", "portal.wsgi", "-b", f"127.0.0.1:{port}", *threads):
        _until_up(address)
        yield address


def _until_up(address: str) -> None:
    for _ in range(300):
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            urllib3.request("GET", f"{address}/healthz", retries=False)
            return
        time.sleep(0.1)
    raise SystemExit("the web process did not start")


class Asker:
    """One connection, kept open, as a browser does."""

    def __init__(self, address: str, session: str, token: str) -> None:
        self.pool = urllib3.PoolManager(maxsize=1)
        self.address = address
        self.page = {"Cookie": f"sessionid={session}"}
        self.part = self.page | {"HX-Request": "true"}
        self.api = {"Authorization": f"Bearer {token}"}

    def ask(self, path: str, headers: dict[str, str], status: int = 200) -> tuple[float, Any]:
        start = time.perf_counter()
        answer = self.pool.request("GET", self.address + path, headers=headers)
        took = (time.perf_counter() - start) * 1000
        if answer.status != status:
            raise SystemExit(f"{path} answered {answer.status}")
        return took, answer


def _measured(asker: Asker, poster: "sync.Poster") -> Iterator[dict[str, Any]]:
    for name, headers in (("pages.list", asker.page), ("pages.part", asker.part)):
        for path, variants in LISTS.items():
            yield _list(name, asker, path, [*variants, "page=last"], headers)
    for path, pages in PAGES.items():
        yield _list("pages.list", asker, path, list(pages), asker.page)
    for what, variants in API.items():
        yield _list("api.list", asker, f"/api/v1/{what}/", [*variants, "cursor=last"], asker.api)
    yield _unchanged(asker, poster)


def _list(
    name: str, asker: Asker, path: str, variants: list[str], headers: dict[str, str]
) -> dict[str, Any]:
    samples = {}
    for variant in dict.fromkeys(["", *variants]):
        asked = f"{path}?{variant}" if variant else path
        asker.ask(asked, headers)
        samples[variant] = [asker.ask(asked, headers)[0] for _ in range(TIMES)]
    every = [one for some in samples.values() for one in some]
    medians = {key or "plain": round(statistics.median(some), 1) for key, some in samples.items()}
    return {
        "name": name,
        "unit": "ms",
        "samples": every,
        "value": percentile(every, 0.95),
        "cell": path,
        "notes": {"medians": medians},
    }


def _unchanged(asker: Asker, poster: "sync.Poster") -> dict[str, Any]:
    """A part of nodes, asked again while pods change at 100 a second."""
    _, first = asker.ask(UNCHANGED, asker.part)
    headers = asker.part | {"If-None-Match": first.headers["ETag"]}
    over = threading.Event()

    def change() -> None:
        for number in range(1500):
            if over.wait(0.01):
                return
            raw = replay.stamped(replay.pod(number, sync.SIZE), 5_000_000 + number)
            poster.post("events", orjson.dumps({"type": "ADDED", "object": raw}))

    changing = threading.Thread(target=change, daemon=True)
    changing.start()
    samples = [asker.ask(UNCHANGED, headers, 304)[0] for _ in range(200)]
    over.set()
    changing.join()
    return {"name": "pages.unchanged", "unit": "ms", "samples": samples, "cell": UNCHANGED}


if __name__ == "__main__":
    for figure in figures(Path(sys.argv[1])):
        print(orjson.dumps(figure).decode(), flush=True)
