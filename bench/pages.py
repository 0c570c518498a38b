"""Lists and their parts at fleet size, through one web process over HTTP.

The cluster is the one of bench.sync, mirrored into rows by the product's own watch; beside it there
are 500 tenants. Each list is asked plain, filtered, sorted, searched, and for its last page.
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
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import urllib3

from bench import replay, sync
from bench.figures import Figure, measures, percentile

TENANTS = 500
TIMES = 12
LISTS = {
    "/nodes/": ("free=4", "sort=-free", "q=node-00042"),
    "/devices/": ("state=free", "sort=-product", "q=gpu-7"),
    "/claims/": ("cluster=big", "sort=-name", "q=claim-0004"),
    "/clusters/": ("mode=observe", "sort=-name", "q=big"),
    "/tenants/": ("", "sort=-name", "q=tenant-42"),
    "/audit/": ("verb=created", "sort=-at", "q=tenant-42"),
}
API = {
    "/api/v1/nodes/": ("free=4", "sort=-free", "q=node-00042"),
    "/api/v1/devices/": ("state=free", "sort=-product", "q=gpu-7"),
    "/api/v1/claims/": ("cluster=big", "sort=-name", "q=claim-0004"),
    "/api/v1/tenants/": ("", "sort=-name", "q=tenant-42"),
    "/api/v1/audit/": ("", "", "q=tenant-42"),
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
            cluster = sync.registered(where)
            sync.until_synced(cluster)
            session, token = _people()
            with _web() as address:
                yield from _measured(Asker(address, session, token), sync.Poster(where))
            cluster.thread.stop()
            cluster.thread.join(20)
        finally:
            server.kill()
            server.wait()


def _people() -> tuple[str, str]:
    """500 tenants, an admin with a session, and a token."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore
    from django.utils import timezone

    from apps.api import services as tokens
    from apps.tenancy import services
    from apps.tenancy.models import PlatformRole, User

    roles = [PlatformRole.ADMIN, PlatformRole.AUDITOR]
    admin = User.objects.create_user("admin", platform_roles=roles)
    for number in range(TENANTS):
        services.create_tenant(actor=admin, slug=f"tenant-{number}", name=f"Tenant {number}")
    session = SessionStore()
    session[SESSION_KEY] = str(admin.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = admin.get_session_auth_hash()
    session.save()
    _, secret = tokens.create_token(
        actor=admin,
        name="bench",
        can_write=False,
        expires_at=timezone.now() + timedelta(days=1),
        platform_roles=[PlatformRole.ADMIN],
    )
    return str(session.session_key), secret


@contextlib.contextmanager
def _web() -> Iterator[str]:
    from embedded.processes import free_port

    port = free_port()
    web = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "portal.wsgi", "-b", f"127.0.0.1:{port}", "--threads=1"],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "bench.settings"},
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _until_up(address)
        yield address
    finally:
        web.terminate()
        web.wait(20)


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
    for path, variants in API.items():
        yield _list("api.list", asker, path, [*variants, "cursor=last"], asker.api)
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
