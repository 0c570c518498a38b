"""Metrics of serving: names, text exposition, counters, histogram quantiles. All pure.

The vocabulary of every page, gate and report: `catalogue` says what exists, `read` takes a page
apart, `flow` says what happened between two readings.
"""

from domain.metrics.buckets import Buckets, quantile
from domain.metrics.catalogue import CATALOGUE, TEN
from domain.metrics.exposition import Unreadable, parse
from domain.metrics.flows import Flow, Timed, flow, together
from domain.metrics.reading import Reading, read
from domain.metrics.terms import Kind, Metric, Origin, Term

__all__ = [
    "CATALOGUE",
    "TEN",
    "Buckets",
    "Flow",
    "Kind",
    "Metric",
    "Origin",
    "Reading",
    "Term",
    "Timed",
    "Unreadable",
    "flow",
    "parse",
    "quantile",
    "read",
    "together",
]
