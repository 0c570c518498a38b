"""Compares fresh random selectors with Kubernetes' own, for as long as one likes.

    python -m tests.oracle.cel_fuzz N [SEED]

Prints each difference that is not accepted, and at the end one line with the count.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.oracle.cel_compare import ACCEPTED, compare, questions

BATCH = 2000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    asked = parser.parse_args()
    failed, kinds, evaluations = set[str](), Counter[str](), 0
    for start in range(0, asked.count, BATCH):
        count = min(BATCH, asked.count - start)
        found, tally = compare(questions(count, asked.seed + start))
        evaluations += tally.evaluations
        kinds.update(difference.kind for difference in found)
        for difference in found:
            if difference.kind not in ACCEPTED and difference.expression not in failed:
                failed.add(difference.expression)
                sys.stderr.write(f"{difference}\n")
    accepted = {kind: number for kind, number in kinds.items() if kind in ACCEPTED}
    sys.stdout.write(
        f"evaluations: {evaluations}; accepted differences: {accepted or 'none'}\n"
        f"{asked.count - len(failed)} passed, {len(failed)} failed\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
