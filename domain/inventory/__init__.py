"""Counting rules: cards, the units they are handed out in, and what is wrong with them."""

from domain.inventory.counts import (
    Card,
    DeviceUse,
    Fault,
    Holder,
    NodeCount,
    Path,
    State,
    Tally,
    Unit,
    tally_of,
    total,
)
from domain.inventory.facts import NodeFacts, facts_of
from domain.inventory.fleet import Homes, count, home_of, split
from domain.inventory.node import count_node

__all__ = [
    "Card",
    "DeviceUse",
    "Fault",
    "Holder",
    "Homes",
    "NodeCount",
    "NodeFacts",
    "Path",
    "State",
    "Tally",
    "Unit",
    "count",
    "count_node",
    "facts_of",
    "home_of",
    "split",
    "tally_of",
    "total",
]
