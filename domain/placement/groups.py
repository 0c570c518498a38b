"""The largest group of devices that one claim could have now, found by asking the engine."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from domain.placement.claims import MOST_RESULTS
from domain.placement.fleet import Fleet
from domain.placement.trials import Trials, Wanted

LINKS = re.compile(r"(pcieroot|clique|nvlink|fabric|numanode)$", re.IGNORECASE)
"""Attributes whose equal values mean that devices are near each other."""

MOST_LINKS = 4


@dataclass(frozen=True, slots=True)
class Group:
    """The largest claim of a class that fits now, and on which node.

    link: the attribute that all must share; "" for any devices of one node. `size` is at most 32,
    the API's limit of one claim. is_sure: False if a larger one was given up for its many ways to
    search; kube-scheduler gives up on such claims too.
    """

    class_name: str
    link: str
    size: int
    node: str = ""
    is_sure: bool = True


def groups_of_nodes(trials: Trials, classes: Iterable[str]) -> Iterator[Group]:
    """Raises OutOfTries."""
    return (largest_group(trials, name) for name in classes)


def groups_of_links(trials: Trials, classes: Iterable[str]) -> Iterator[Group]:
    """Of each link that drivers publish for devices of the class. Raises OutOfTries."""
    names = list(classes)
    for link in _links(trials.fleet):
        for name in names:
            found = largest_group(trials, name, link)
            if found.size:
                yield found


def _links(fleet: Fleet) -> list[str]:
    """Fully qualified, the most published first."""
    found: Counter[str] = Counter()
    for one in fleet.slices.by_name.values():
        for device in one.devices:
            for name in device.attributes:
                if LINKS.search(name):
                    found[name if "/" in name else f"{device.id.driver}/{name}"] += 1
    return [name for name, _ in found.most_common(MOST_LINKS)]


def largest_group(trials: Trials, class_name: str, link: str = "") -> Group:
    """By bisection: whoever fits with n devices of a class fits with fewer. Raises OutOfTries."""
    best = Group(class_name, link, 0)
    low, high, unsure = 1, MOST_RESULTS, trials.unsure
    while low <= high:
        middle = (low + high) // 2
        if nodes := trials.where(Wanted((claim_of(class_name, middle, link),))):
            best, low = Group(class_name, link, middle, nodes[0]), middle + 1
        else:
            high = middle - 1
    return replace(best, is_sure=trials.unsure == unsure)


def claim_of(class_name: str, count: int, link: str) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": class_name, "count": count}}
    devices: dict[str, Any] = {"requests": [request]}
    if link:
        devices["constraints"] = [{"matchAttribute": link}]
    return {"metadata": {"name": "group"}, "spec": {"devices": devices}}
