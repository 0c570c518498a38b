"""Telemetry: reading pages, storing a round of 200 servers, a day's chart, usage of a million uses.

The model servers are another process behind TLS, as the API server's pod proxy would be, so that
only the portal's own CPU is counted.
"""

import base64
import http.server
import json
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from prometheus_client.parser import text_string_to_metric_families

from bench import replay
from bench.figures import Figure, measures, percentile, timed
from domain.metrics.exposition import parse

TARGETS = 200
EVERY_SECONDS = 15
ROUNDS = 12
SERIES = 100
TENANTS, USES, DAYS = 500, 1_000_000, 30


@measures("metrics.parse", "metrics.ingest", "charts.range", "usage.query")
def telemetry_figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="claimyard-bench-") as folder:
        run = subprocess.run(
            [sys.executable, "-m", "bench.telemetry", folder], stdout=subprocess.PIPE, check=True
        )
    for line in run.stdout.splitlines():
        yield Figure(**orjson.loads(line))


def page(step: int, pod: int = 0) -> str:
    """About 300 lines, as vLLM writes them."""
    from simulator.fleet.serving.metrics import HISTOGRAMS, Metrics

    metrics = Metrics("meta-llama/Llama-3.1-8B-Instruct", 1e9)
    for name, (_, bounds) in HISTOGRAMS.items():
        for number, bound in enumerate(bounds):
            metrics.observe(name, bound, times=step * (number + 1 + pod % 3))
    for key in metrics.counters:
        metrics.counters[key] = float(step * 100)
    gauges = {"num_requests_running": 3, "num_requests_waiting": 1, "kv_cache_usage_perc": 0.3}
    text = metrics.text({key: float(value) for key, value in gauges.items()}, 'block_size="16"')
    return "\n".join(text.splitlines()[:300]) + "\n"


# --- The API server in front of the model servers, in a process of its own
def pods() -> dict[str, Any]:
    from domain.manifests import labels

    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "1"},
        "items": [
            {
                "metadata": {
                    "name": f"model-{number // 4}-main-{number}",
                    "namespace": "tenant",
                    "uid": f"uid-{number}",
                    "labels": labels.pool_labels("tenant", f"model-{number // 4}", "main"),
                    "annotations": {labels.METRICS_PORT: "8000"},
                },
                "spec": {"nodeName": f"node-{number}"},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            }
            for number in range(TARGETS)
        ],
    }


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    listed = json.dumps(pods()).encode()
    pages = [page(step).encode() for step in range(1, ROUNDS + 4)]
    asked: dict[str, int] = {}

    def do_GET(self) -> None:
        body = self.listed
        if "/proxy" in self.path:
            count = self.asked[self.path] = self.asked.get(self.path, -1) + 1
            body = self.pages[count % len(self.pages)]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


def serve(folder: Path) -> None:
    pem = replay.certificate(folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    ca = pem.read_text().partition("-----BEGIN PRIVATE")[0]
    ready = {
        "server": f"https://127.0.0.1:{server.server_port}",
        "ca": base64.b64encode(ca.encode()).decode(),
    }
    print(json.dumps(ready), flush=True)
    server.serve_forever()


# --- Measuring
def figures(folder: Path) -> Iterator[dict[str, Any]]:
    from bench import sync
    from embedded import postgres

    yield _parse()
    with postgres.running(folder / "postgres", fast=True) as url:
        sync.setup(url)
        yield _ingest(folder)
        yield _range()
        yield _usage()


def _parse() -> dict[str, Any]:
    text = page(7)
    ours = timed(lambda: parse(text), times=50)
    theirs = timed(lambda: list(text_string_to_metric_families(text)), times=15)
    notes = {"lines": len(text.splitlines()), "bytes": len(text)}
    return {
        "name": "metrics.parse",
        "unit": "ms",
        "samples": ours,
        "baseline": theirs,
        "notes": notes,
    }


def _ingest(folder: Path) -> dict[str, Any]:
    """CPU of this process for a round, and its part of a minute's roll-up, of 15 seconds."""
    from apps.telemetry import collect, rollup
    from bench import sync

    server = subprocess.Popen(
        [sys.executable, "-m", "bench.telemetry", str(folder), "serve"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        where = json.loads(server.stdout.readline()) if server.stdout else {}
        cluster = sync.registered(where)
        row = _row(cluster.pk)
        shares = []
        for number in range(ROUNDS):
            began = time.process_time()
            heard = collect.read_cluster(row)
            spent = time.process_time() - began
            if heard != TARGETS:
                raise SystemExit(f"only {heard} of {TARGETS} servers were heard")
            if number:
                shares.append(spent / EVERY_SECONDS * 100)
        began = time.process_time()
        minutes = rollup.roll_up(cluster.pk, datetime.now(UTC) + timedelta(minutes=1))
        rolled = (time.process_time() - began) / max(minutes, 1) / 60 * 100
    finally:
        server.kill()
        server.wait()
    samples = [share + rolled for share in shares]
    notes = {"roll_up_percent": round(rolled, 2), **_sizes()}
    return {"name": "metrics.ingest", "unit": "%", "samples": samples, "notes": notes}


def _row(pk: int) -> Any:
    from apps.inventory.models import Cluster

    return Cluster.objects.get(pk=pk)


def _sizes() -> dict[str, Any]:
    """What a day would take: readings for three hours, minutes for a day."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits"
            " WHERE inhparent = 'telemetry_raw'::regclass), (SELECT count(*) FROM telemetry_raw),"
            " (SELECT avg(length(packed)) FROM telemetry_block WHERE family <> ''),"
            " (SELECT count(*) FROM telemetry_block)"
        )
        raw, readings, _, blocks = cursor.fetchone()
    kept = TARGETS * 4 * 60 * 4
    return {"raw_mb": round(float(raw) / readings * kept / 1e6), "blocks_an_hour": blocks}


def _day_of_servers() -> None:
    """SERIES servers of one pool, with a minute's histogram in each minute of a day."""
    from django.utils import timezone

    from apps.inventory.models import Cluster
    from apps.telemetry import columns
    from apps.telemetry.models import Track

    cluster = Cluster.objects.create(slug="day", name="Day", server="https://x", credentials=b"")
    now = timezone.now()
    first = columns.minute_of(now) - 1439
    bounds = [*(0.001 * 1.6**number for number in range(21)), float("inf")]
    for number in range(SERIES):
        track = Track.objects.create(
            cluster=cluster,
            key=f"u{number}",
            pod=f"pod-{number:03}",
            tenant="tenant",
            deployment="model",
            pool="main",
            first_at=now - timedelta(days=1),
            tried_at=now,
            read_at=now,
        )
        rows: dict[columns.RowKey, dict[str, float]] = {}
        for minute in range(1440):
            count = 40.0 + (minute * 7 + number) % 23
            family = {repr(b): min(count, 3.0 * i) for i, b in enumerate(bounds)}
            family |= {"inf": count, "sum": count / 4}
            rows[track.pk, "ttft", first + minute] = family
        columns.put(rows)


def _range() -> dict[str, Any]:
    """A day of 100 servers, a line each, through the API's own view and renderer."""
    from django.test import Client

    from apps.tenancy.models import PlatformRole, User

    _day_of_servers()
    user = User.objects.create(username="bench", platform_roles=[PlatformRole.ADMIN.value])
    client = Client()
    client.force_login(user)
    address = "/api/v1/series/?metric=ttft&statistic=p95&by=pod&range=24h&cluster=day"

    found = client.get(address).json()
    if len(found["lines"]) != SERIES or len(found["times"]) > 500:
        raise SystemExit(f"{len(found['lines'])} lines of {len(found['times'])} points")

    def ask() -> None:
        if client.get(address).status_code != 200:
            raise SystemExit("the series were not answered")

    samples = timed(ask, times=30, warm=3)
    return {
        "name": "charts.range",
        "unit": "ms",
        "samples": samples,
        "value": percentile(samples, 0.95),
    }


def _usage() -> dict[str, Any]:
    """30 days of 500 tenants, summed up as the sweep does it; the page's own two queries."""
    from django.db import connection
    from django.utils import timezone

    from apps.inventory.models import Cluster
    from apps.telemetry import usage

    cluster = Cluster.objects.create(slug="uses", name="U", server="https://x", credentials=b"")
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO claims_use (cluster_id, kind, uid, namespace, name, driver, pool, device,"
            " share_id, device_class, amount, node_name, tenant, deployment, model_pool,"
            " created_at, allocated_at, ended_at)"
            " SELECT %s, 'claim', 'u' || n, 'ns', 'c', 'gpu', 'p', 'd' || n %% 8000, '',"
            " 'class-' || n %% 6, 1, 'node', 'tenant-' || n %% %s, 'model-' || n %% 3, 'main',"
            " begun, begun,"
            " CASE WHEN n %% 50 > 0 THEN begun + (n %% 97) * interval '11 minutes' END"
            " FROM (SELECT n, %s - ((n * 2654435761) %% 2592000) * interval '1 second' AS begun"
            " FROM generate_series(1::bigint, %s) n) uses",
            [cluster.pk, TENANTS, now, USES],
        )
        cursor.execute("VACUUM ANALYZE claims_use")
    began = time.perf_counter()
    usage.sum_up(now)
    summed = time.perf_counter() - began
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE telemetry_usageday")
    asked = usage.Asked(usage.midnight(now - timedelta(days=DAYS)), now)

    def ask() -> None:
        found = usage.amounts(asked, now)
        usage.steps(asked, now)
        if len(found) != TENANTS:
            raise SystemExit(f"usage of {len(found)} tenants")

    samples = timed(ask, times=20, warm=2)
    return {
        "name": "usage.query",
        "unit": "ms",
        "samples": samples,
        "value": percentile(samples, 0.95),
        "notes": {"sum_up_seconds": round(summed, 1)},
    }


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if sys.argv[2:] == ["serve"]:
        serve(place)
    for figure in figures(place):
        print(json.dumps(figure), flush=True)
