"""What a metric of the catalogue consists of: its terms, unit, kind and origin."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    RATIO = "ratio"  # of two counters that belong together
    ROWS = "rows"  # of the portal's own rows, not of a page


class Origin(StrEnum):
    """Who exports it: what its series are labelled with, and who may read it."""

    SERVER = "model server"
    PICKER = "endpoint picker"
    CARD = "DCGM exporter"
    CONTROL = "Kubernetes control plane"
    PORTAL = "Claimyard"


@dataclass(frozen=True, slots=True)
class Term:
    """One name of a metric. `where` keeps series whose labels match whole, as PromQL's =~ does.

    `scale` brings a value to the metric's unit. A counter may exist only after its first event:
    `absent_is_zero_with` names a series whose presence says that nothing happened yet. `split` is a
    label that tells a counter's series apart.
    """

    name: str
    where: tuple[tuple[str, str], ...] = ()
    scale: float = 1.0
    absent_is_zero_with: str = ""
    split: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """`terms` are tried in order; a ratio's are pairs of part and whole, never mixed.

    `join` says how the servers side by side make one value of a gauge.
    """

    name: str
    title: str
    unit: str
    kind: Kind
    terms: tuple[Term, ...] = ()
    pairs: tuple[tuple[Term, Term], ...] = ()
    join: Literal["sum", "mean"] = "sum"
    origin: Origin = Origin.SERVER
    statistic: str = "mean"

    @property
    def names(self) -> tuple[str, ...]:
        """All names that are tried, in order: what a page says when none was found."""
        inside = [*self.terms, *(term for pair in self.pairs for term in pair)]
        return tuple(dict.fromkeys(term.name for term in inside))


def terms(*names: str) -> tuple[Term, ...]:
    return tuple(Term(name) for name in names)


def pair(part: str, whole: str) -> tuple[Term, Term]:
    return Term(part), Term(whole)
