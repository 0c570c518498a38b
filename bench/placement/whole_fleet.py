"""A whole fleet in a process of its own, since memory is one of the figures."""

import json
import subprocess
import sys
from collections.abc import Iterator

from bench.figures import Figure, measures


@measures(
    "placement.snapshot.memory",
    "placement.snapshot.build",
    "placement.refresh",
    "placement.explain.known",
    "placement.explain.new",
    "placement.shadow",
)
def whole_fleet() -> Iterator[Figure]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.placement.fleetwide_process"],
        stdout=subprocess.PIPE,
        check=True,
    )
    for line in done.stdout.splitlines():
        row = json.loads(line)
        yield Figure(row["name"], row["unit"], row["samples"], value=row["value"])
