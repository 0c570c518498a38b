"""Requests that cannot be met, seen by counting instead of by trying every combination.

Only for a single request of a number of devices: there, whatever the order of the search, it looks
at every free device before it gives up, so counting raises the same errors and finds the same "no".
"""

from collections import Counter
from collections.abc import Hashable

from domain.placement.claims import ALL
from domain.placement.constraints import values_of
from domain.placement.devices import Device
from domain.placement.faults import PlacementError
from domain.placement.requests import Demand
from domain.placement.search import Search


def is_hopeless(search: Search) -> bool:
    """True if there are too few devices, or too few with one value of a matchAttribute.

    False says nothing. Errors are left to the search, which words them.
    """
    demand = _only_demand(search)
    if demand is None:
        return False
    try:
        usable = search.free_for(demand)
    except PlacementError:
        return False
    if len(usable) < demand.count:
        return True
    if search.site.features.list_type_attributes:
        return False
    return any(
        _largest_group(usable, rule.match_attribute) < demand.count
        for rule in search.claims[0].constraints
        if rule.match_attribute is not None and demand.request.named_in(rule.requests)
    )


def _only_demand(search: Search) -> Demand | None:
    if len(search.wanted) != 1 or len(search.wanted[0]) != 1 or len(search.wanted[0][0]) != 1:
        return None
    demand = search.wanted[0][0][0]
    return None if demand.request.mode == ALL or demand.request.derived else demand


def _largest_group(devices: list[Device], attribute: str) -> int:
    groups: Counter[Hashable] = Counter()
    for device in devices:
        values = values_of(device.attribute(attribute), lists=False)
        if values is not None:
            groups[values] += 1
    return max(groups.values(), default=0)
