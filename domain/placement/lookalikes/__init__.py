"""Speed: nodes that look alike get one search.

A *picture* of a node is everything on which the search there depends, names aside: what its
devices publish, what of them is in use, and, for selectors that read values which differ from
device to device, their verdicts. Equal pictures have equal answers up to names, so the plain search
runs once for each, on one of them, and the picks are carried over by position.

The rules are not here. What cannot be pictured (pools over several nodes, broken pools, answers
that name a device in an error) is answered by the plain search on that node alone.
"""

from domain.placement.lookalikes.census import census
from domain.placement.lookalikes.decisions import Decisions, first_failure, fitting
from domain.placement.lookalikes.quick import QuickAttempt, quick_attempt, reads_identity, warm

__all__ = [
    "Decisions",
    "QuickAttempt",
    "census",
    "first_failure",
    "fitting",
    "quick_attempt",
    "reads_identity",
    "warm",
]
