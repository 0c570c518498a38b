"""The Go allocator's times for every claim of a case, on one core."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embedded import gobuild
from tests.oracle.oracle import SOURCE, features_of, in_go

Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Timed:
    """Milliseconds from cloned state to the answer; what it answered."""

    milliseconds: float
    fitting: int
    first: str


def times(
    case: Raw, claims: Sequence[Raw], *, repeat: int = 3, cold: bool = False, budget: str = "20s"
) -> dict[tuple[str, str], Timed]:
    """By claim name and mode, "first" or "all". cold: with selectors it has never seen."""
    asked = {key: value for key, value in case.items() if key != "features"}
    asked |= {"claims": list(claims), "features": in_go(features_of(case))}
    done = subprocess.run(
        [
            gobuild.binary(SOURCE),
            "bench",
            "-procs=1",
            f"-repeat={repeat}",
            f"-budget={budget}",
            f"-cold={str(cold).lower()}",
        ],
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        env={**os.environ, "GOMAXPROCS": "1"},
        check=True,
    )
    found = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if "claim" in row:
            timed = Timed(row["median_ms"], row["fit"], row.get("first", ""))
            found[row["claim"], row["mode"]] = timed
    return found
