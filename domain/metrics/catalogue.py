"""Every metric the portal knows: one name of ours, the names it goes by, unit, kind.

Engines rename their metrics, and a scrape may turn `:` into `_` and add or drop `_total`, so the
terms of a metric are tried in order and in every spelling; whoever reads remembers which was found.
"""

from functools import cache

from domain.metrics.pickers import PICKERS
from domain.metrics.platform import CARDS, CONTROLS, PORTAL
from domain.metrics.servers import SERVERS
from domain.metrics.terms import Kind, Metric, Origin

CATALOGUE: dict[str, Metric] = {
    one.name: one for one in (*SERVERS, *PICKERS, *CARDS, *CONTROLS, *PORTAL)
}
# The ten of a serving platform, in the order in which a page shows them.
TEN = (
    "alloc_failures",
    "pending",
    "matches",
    "ready",
    "queue",
    "cache_hit",
    "kv_usage",
    "ttft",
    "tpot",
    "gpu_memory",
)


@cache
def spellings(name: str, *, counter: bool = False) -> tuple[str, ...]:
    """How a series of this name may be called: with `:` or `_`, a counter with or without _total.

    A histogram's parts are spelt as the histogram is: give the part's whole name.
    """
    forms = [name]
    if counter:
        forms.append(name.removesuffix("_total") if name.endswith("_total") else f"{name}_total")
    found = [one for form in forms for one in (form, form.replace(":", "_"))]
    return tuple(dict.fromkeys(found))


@cache
def page_names(origins: frozenset[Origin] = frozenset({Origin.SERVER})) -> frozenset[str]:
    """All names, in all spellings, that a page of these origins may hold of the catalogue."""
    found: set[str] = set()
    for metric in CATALOGUE.values():
        if metric.origin not in origins:
            continue
        counter = metric.kind in {Kind.COUNTER, Kind.RATIO}
        for term in [*metric.terms, *(one for pair in metric.pairs for one in pair)]:
            names = [term.name]
            if metric.kind is Kind.HISTOGRAM:
                names = [f"{term.name}_bucket", f"{term.name}_sum", f"{term.name}_count"]
            if term.absent_is_zero_with:
                names.append(term.absent_is_zero_with)
            for name in names:
                found.update(spellings(name, counter=counter))
    return frozenset(found)
