"""The placement check as a person meets it, in processes of its own."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from bench.figures import Figure, measures


@measures("placement.check.known", "placement.check.new")
def from_page_to_answer() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="claimyard-bench-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "bench.placement.asking_process", folder],
            stdout=subprocess.PIPE,
            check=True,
        )
    for line in done.stdout.splitlines():
        yield Figure(**json.loads(line))
