"""The real Prometheus, scraping pages that a test writes."""

import http.server
import json
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.programs import program


@dataclass
class Pages:
    """What each pod's /metrics says now; one without a page answers 500."""

    pages: dict[str, str] = field(default_factory=dict)
    port: int = 0

    def handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        pages = self.pages

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = pages.get(self.path.strip("/").split("/")[0])
                self.send_response(500 if page is None else 200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write((page or "").encode())

            def log_message(self, *_: Any) -> None: ...

        return Handler


@contextmanager
def running(folder: Path, pods: dict[str, str]) -> Iterator[tuple[str, Pages]]:
    """Prometheus' URL and the pages of `pods` (name -> namespace), scraped every half second."""
    pages = Pages()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), pages.handler())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pages.port = server.server_address[1]
    jobs = [
        {
            "job_name": pod,
            "metrics_path": f"/{pod}/metrics",
            "static_configs": [
                {
                    "targets": [f"127.0.0.1:{pages.port}"],
                    "labels": {"pod": pod, "namespace": namespace},
                }
            ],
        }
        for pod, namespace in pods.items()
    ]
    config = {"global": {"scrape_interval": "500ms", "scrape_timeout": "400ms"}}
    path = folder / "prometheus.json"
    path.write_text(json.dumps(config | {"scrape_configs": jobs}))
    port = free_port()
    process = subprocess.Popen(
        [
            program("prometheus", "prometheus"),
            f"--config.file={path}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        ]
    )
    try:
        url = f"http://127.0.0.1:{port}"
        until(lambda: ready(url))
        yield url, pages
    finally:
        process.terminate()
        process.wait(20)
        server.shutdown()
        server.server_close()


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def until(condition: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
