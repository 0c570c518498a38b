"""Compares the engine with the upstream allocator on generated cases.

    python -m tests.oracle.fuzz --n 20000 --seed 0

Prints each difference, shrunk to a small case, and ends with one line: "N passed, M failed".
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from embedded.processes import ProcessFailedError
from tests.oracle import random_cases
from tests.oracle.compare import Verdict, verdict
from tests.oracle.oracle import Case, Oracle
from tests.oracle.shrinking import shrunk

BAD = ("different", "crashed")
MOST_SHOWN = 10
MOST_ASKED_AGAIN = 16
PROGRESS_EVERY = 10_000


def main() -> int:
    asked = _arguments()
    try:
        oracle = Oracle()
    except ProcessFailedError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    with oracle:
        failed = _run(oracle, asked)
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=20_000, help="generated cases")
    parser.add_argument("--seed", type=int, default=None, help="first seed; default: the time")
    parser.add_argument("--sequences", type=int, default=0, help="sequences of --claims claims")
    parser.add_argument("--claims", type=int, default=300)
    parser.add_argument("--nodes", type=int, default=0, help="most nodes of a sequence")
    parser.add_argument("--out", type=Path, default=None, help="folder for shrunk cases")
    found = parser.parse_args()
    if found.seed is None:
        found.seed = int(time.time()) * 1000
    return found


def _run(oracle: Oracle, asked: argparse.Namespace) -> int:
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()

    def judge(case: Case, answer: dict[str, object]) -> None:
        found = _settled(case, _judged(case, answer))
        counts[found.kind] += 1
        if found.kind == "not compared":
            reasons[found.detail[:60]] += 1
        if found.kind in BAD and sum(counts[kind] for kind in BAD) <= MOST_SHOWN:
            _report(case, found, asked.out)
        if sum(counts.values()) % PROGRESS_EVERY == 0:
            _say(f"{sum(counts.values())} cases: {dict(counts)}")

    _say(f"seed {asked.seed}")
    _ask(oracle, judge, asked)
    if reasons:
        _say(f"not compared: {dict(reasons.most_common(8))}")
    failed = sum(counts[kind] for kind in BAD)
    _say(f"{sum(counts.values()) - failed} passed, {failed} failed")
    return failed


def _ask(
    oracle: Oracle, judge: Callable[[Case, dict[str, object]], None], asked: argparse.Namespace
) -> None:
    for case, answer in oracle.answers(random_cases.cases(asked.n, asked.seed)):
        judge(case, answer)
    large = (
        random_cases.sequence(asked.seed + i, asked.nodes, asked.claims)
        for i in range(asked.sequences)
    )
    for case, answer in oracle.answers(large):
        judge(case, answer)


def _judged(case: Case, answer: dict[str, object]) -> Verdict:
    try:
        return verdict(case, answer)
    except Exception as problem:  # noqa: BLE001  any crash of the engine is a finding
        return Verdict("crashed", f"{type(problem).__name__}: {problem}")


def _settled(case: Case, found: Verdict) -> Verdict:
    """Loops over attributes walk a Go map: where one value fails and another ends the loop,
    upstream answers now so and now so. A case on which it does is no expectation."""
    if found.kind != "different":
        return found
    with Oracle() as oracle:  # the other one has questions waiting
        said = {json.dumps(oracle.ask(case)["results"]) for _ in range(MOST_ASKED_AGAIN)}
    if len(said) > 1:
        return Verdict("not compared", "upstream's own answers differ")
    return found


def _report(case: Case, found: Verdict, folder: Path | None) -> None:
    _say(f"DIFFERENT {case['id']}: {found.detail}")
    with Oracle() as oracle:  # the other one has questions waiting
        crashed = found.kind == "crashed"

        def still_fails(one: Case) -> bool:
            again = _judged(one, oracle.ask(one))
            return again.kind == found.kind and (not crashed or again.detail == found.detail)

        small = shrunk(case, still_fails)
        _say(f"  shrunk: {_judged(small, oracle.ask(small)).detail}")
    text = json.dumps(small, separators=(",", ":"))
    if folder is None:
        _say(f"  {text}")
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{case['id']}.json").write_text(text)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
