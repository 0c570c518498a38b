"""`make demo` as someone starts it: how long until the login page, how much memory."""

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, measures
from embedded.demo_process import ROOT, DemoProcess, memory

#: Long enough for the clusters to be mirrored and the workers to have done their first work.
SETTLED_AFTER = 30


def started(checkout: Path) -> tuple[DemoProcess, float, float]:
    """A demo that is ready, the seconds it took from `make` on, and those to its login page."""
    began = time.monotonic()
    demo = DemoProcess(["make", "demo"], checkout)
    demo.until(r"the login page answers", 600)
    page = time.monotonic() - began
    demo.url()
    return demo, time.monotonic() - began, page


def ended(demo: DemoProcess) -> None:
    demo.end(signal.SIGINT)


@measures("demo.start", "demo.again", "demo.memory")
def demo_figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="claimyard-bench-") as folder:
        checkout = Path(folder) / "claimyard"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(checkout)], check=True)
        demo, ready, page = started(checkout)
        ended(demo)
        yield Figure("demo.start", "s", [page], notes={"ready": round(ready, 1)})
        demo, ready, page = started(checkout)
        yield Figure("demo.again", "s", [page], notes={"ready": round(ready, 1)})
        time.sleep(SETTLED_AFTER)
        used = memory(demo.family()) / 2**20
        yield Figure("demo.memory", "MiB", [used])
        ended(demo)
        subprocess.run(["make", "demo-reset"], cwd=checkout, check=True, capture_output=True)
