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
    """Milliseconds of processor time from cloned state to the answer, the median of `runs`; what it
    answered."""

    milliseconds: float
    fitting: int
    first: str
    runs: int


def times(
    case: Raw,
    claims: Sequence[Raw],
    mode: str,
    *,
    repeat: int = 3,
    cold: bool = False,
    warm_nodes: int = 0,
) -> dict[str, Timed]:
    """By claim name, for mode "first" or "all".

    cold: with selectors it has never seen, those of classes aside. warm_nodes: on how many nodes
    it makes the first run, which is not counted; 0 for all.
    """
    asked = {key: value for key, value in case.items() if key != "features"}
    asked |= {"claims": list(claims), "features": in_go(features_of(case))}
    done = subprocess.run(
        [
            gobuild.binary(SOURCE),
            "bench",
            "-procs=1",
            f"-modes={mode}",
            f"-repeat={repeat}",
            f"-warm-nodes={warm_nodes}",
            f"-cold={str(cold).lower()}",
        ],
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        env={**os.environ, "GOMAXPROCS": "1"},
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        row["claim"]: Timed(row["median_ms"], row["fit"], row.get("first", ""), row["runs"])
        for row in rows
        if "claim" in row
    }
