"""Histogram buckets: sums over servers with other bounds, quantiles as PromQL has them."""

import math
from collections.abc import Iterable, Mapping
from itertools import accumulate

Buckets = dict[float, float]  # upper bound -> how many were at most that, counted cumulatively


def added(one: Mapping[float, float], other: Mapping[float, float]) -> Buckets:
    """Both together, at the bounds that both have.

    Counts are cumulative, so each common bound's sum is exact; only resolution is lost. A union of
    the bounds, which a plain sum by `le` makes, would be wrong.
    """
    if one.keys() == other.keys():
        return {bound: count + other[bound] for bound, count in one.items()}
    return {bound: one[bound] + other[bound] for bound in sorted(one.keys() & other.keys())}


def grown(before: Mapping[float, float], after: Mapping[float, float]) -> Buckets | None:
    """What came between two readings of one server; None where its bounds changed.

    A count that went down means that the server began anew: then all it has came since.
    """
    if before.keys() != after.keys():
        return None
    if any(after[bound] < before[bound] for bound in after):
        return dict(after)
    return {bound: count - before[bound] for bound, count in after.items()}


def quantile(buckets: Mapping[float, float], q: float) -> float | None:
    """The q-quantile in the buckets' unit; None without observations or without an +Inf bucket.

    Inside a bucket it interpolates. In the last, unbounded one the answer is its lower bound: "at
    least this". Counts that fall from one bound to the next, which several scrapes put together may
    show, count as level.
    """
    bounds = sorted(buckets)
    if len(bounds) < 2 or not math.isinf(bounds[-1]):
        return None
    counts = list(accumulate((buckets[bound] for bound in bounds), max))
    if not counts[-1] > 0 or math.isinf(counts[-1]):
        return None
    rank = q * counts[-1]
    index = next(i for i, count in enumerate(counts) if count >= rank)
    if index == len(bounds) - 1:
        return bounds[-2]
    upper = bounds[index]
    if index == 0:
        lower, below = (0.0, 0.0) if upper > 0 else (upper, 0.0)
    else:
        lower, below = bounds[index - 1], counts[index - 1]
    inside = counts[index] - below
    return lower + (upper - lower) * ((rank - below) / inside if inside else 1.0)


def total(buckets: Mapping[float, float]) -> float:
    """How many observations there are."""
    return buckets.get(math.inf, 0.0)


def of_samples(samples: Iterable[tuple[Mapping[str, str], float]]) -> Buckets | None:
    """Buckets from `_bucket` samples, series side by side summed; None for what is none."""
    found: Buckets = {}
    for labels, value in samples:
        try:
            bound = float(labels["le"])
        except (KeyError, ValueError):
            return None
        if not math.isfinite(value) or math.isnan(bound):
            return None
        found[bound] = found.get(bound, 0.0) + value
    return dict(sorted(found.items()))
