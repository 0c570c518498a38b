"""Checks every request before the search starts, and settles how many devices it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.placement.claims import (
    ALL,
    EXACT_COUNT,
    MOST_RESULTS,
    Claim,
    DeviceClass,
    Request,
    RequestLine,
)
from domain.placement.faults import Fatal, NodeError
from domain.placement.pools import Candidate
from domain.placement.site import Site


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """One request or alternative, with its class and, for "all devices", which they are."""

    claim: Claim
    request: Request
    owner: DeviceClass
    count: int
    every: tuple[Candidate, ...] | None = None


Wanted = list[list[list[Demand]]]
"""Per claim, per request line, its alternatives."""


def demands(
    site: Site, claims: Sequence[Claim], classes: Mapping[str, DeviceClass]
) -> list[list[list[Demand]]]:
    """Raises Fatal for whatever upstream refuses before it looks for devices."""
    wanted: Wanted = []
    for claim in claims:
        least, lines = 0, []
        for line in claim.lines:
            _check_line(site, claim, line)
            alternatives = [_demand(site, claim, one, classes) for one in line.alternatives]
            fewest = min(one.count for one in alternatives)
            if fewest > MOST_RESULTS - least:
                raise Fatal(
                    f"claim {claim}, request {line.name}: adding {fewest} devices exceeds the "
                    f"claim limit of {MOST_RESULTS}, with {least} already accounted for"
                )
            least += fewest
            lines.append(alternatives)
        _check_constraints(claim)
        wanted.append(lines)
    return wanted


def _check_line(site: Site, claim: Claim, line: RequestLine) -> None:
    if line.is_prioritized and not site.features.prioritized_list:
        raise Fatal(
            f"claim {claim}, request {line.name}: has subrequests, but the DRAPrioritizedList "
            "feature is disabled"
        )
    if site.features.consumable_capacity:
        return
    kind = "subrequest" if line.is_prioritized else "request"
    for one in line.alternatives:
        if one.capacities is not None:
            raise Fatal(
                f"claim {claim}, {kind} {one.name}: has capacity requests, but the "
                "DRAConsumableCapacity feature is disabled"
            )


def _check_constraints(claim: Claim) -> None:
    for i, one in enumerate(claim.constraints):
        if one.match_attribute is None and one.distinct_attribute is None:
            raise Fatal(
                f"claim {claim}, constraint #{i}: empty constraint (unsupported constraint type?)"
            )


def _demand(
    site: Site, claim: Claim, request: Request, classes: Mapping[str, DeviceClass]
) -> Demand:
    where = f"claim {claim}, request {request.name}"
    if request.derived and not site.features.derived_attributes:
        raise Fatal(
            f"{where}: cannot handle request with derived attributes, the feature is disabled"
        )
    for i, expression in enumerate(request.selectors):
        if expression is None:
            raise Fatal(
                f"{where}, selector #{i}: CEL expression empty (unsupported selector type?)"
            )
    if request.admin_access is not None and not site.features.admin_access:
        raise Fatal(f"{where}: admin access is requested, but the feature is disabled")
    owner = _class_of(where, request, classes)
    if request.mode == EXACT_COUNT:
        return Demand(claim, request, owner, request.count)
    if request.mode != ALL:
        raise Fatal(f"{where}: unsupported count mode {request.mode}")
    every = _every_device(site, claim, request, owner)
    return Demand(claim, request, owner, len(every), every)


def _class_of(where: str, request: Request, classes: Mapping[str, DeviceClass]) -> DeviceClass:
    if not request.class_name:
        raise Fatal(f"{where}: missing device class name (unsupported request type?)")
    owner = classes.get(request.class_name)
    if owner is None:
        raise Fatal(
            f"{where}: could not retrieve device class {request.class_name}: "
            f'deviceclasses.resource.k8s.io "{request.class_name}" not found'
        )
    return owner


def _every_device(
    site: Site, claim: Claim, request: Request, owner: DeviceClass
) -> tuple[Candidate, ...]:
    """All that match, in use or not: one that cannot be had later makes the request fail."""
    where = f"claim {claim}, request {request.name}"
    found = []
    for pool in site.view.pools:
        if not pool.is_usable:
            state = "being updated" if pool.is_incomplete else "invalid"
            error = NodeError if site.features.fixed_all_devices else Fatal
            raise error(
                f"{where}: asks for all devices, but resource pool {pool.id} is currently {state}"
            )
        for one in pool.slices:
            for device in one.devices:
                candidate = Candidate(device, one, pool)
                if not site.selectable(claim, request, owner, candidate):
                    continue
                if site.features.consumable_capacity and not _could_serve(
                    where, site, request, candidate
                ):
                    continue
                found.append(candidate)
    return tuple(found)


def _could_serve(where: str, site: Site, request: Request, candidate: Candidate) -> bool:
    try:
        return site.has_static_capacity(request, candidate.device)
    except Fatal as problem:
        name = candidate.device.id.device
        raise Fatal(f"{where}: checking capacity for device {name}: {problem}") from problem
