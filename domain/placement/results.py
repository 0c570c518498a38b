"""The AllocationResult of a claim, as the scheduler writes it into the claim's status."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.placement.amounts import Amount
from domain.placement.claims import Claim, DeviceClass, Request
from domain.placement.devices import Device, Slice
from domain.placement.faults import Fatal
from domain.placement.features import Features
from domain.placement.nodeselectors import Requirement

_SHARES = uuid.UUID("6f0b1e0e-8a57-4a4c-9f3e-5f0f6c1d2a10")


@dataclass(frozen=True, slots=True)
class Pick:
    """One device given to one request."""

    request: Request
    device: Device
    slice: Slice
    consumed: Mapping[str, Amount]
    is_share: bool


Selected = Sequence[tuple[str, Request, DeviceClass]]
"""Per request line: its name, the request or alternative chosen, and that one's class."""


def allocation(
    claim: Claim, picks: Sequence[Pick], selected: Selected, node_name: str, features: Features
) -> dict[str, Any]:
    """Raises Fatal for a slice whose node selector has more than one term."""
    devices: dict[str, Any] = {
        "results": [_result(claim, i, pick, features) for i, pick in enumerate(picks)]
    }
    if configs := _configs(claim, selected):
        devices["config"] = configs
    found: dict[str, Any] = {"devices": devices}
    if selector := _node_selector(claim, picks, node_name):
        found["nodeSelector"] = selector
    return found


def _result(claim: Claim, index: int, pick: Pick, features: Features) -> dict[str, Any]:
    device = pick.device
    found: dict[str, Any] = {
        "request": pick.request.full_name,
        "driver": device.id.driver,
        "pool": device.id.pool,
        "device": device.id.device,
    }
    if pick.request.is_admin:
        found["adminAccess"] = True
    if pick.request.tolerations:
        found["tolerations"] = [dict(one.raw) for one in pick.request.tolerations]
    if features.device_binding_and_status and device.binding_conditions:
        found["bindingConditions"] = list(device.binding_conditions)
    if features.device_binding_and_status and device.binding_failure_conditions:
        found["bindingFailureConditions"] = list(device.binding_failure_conditions)
    if pick.is_share:
        found["shareID"] = _share_id(claim, index)
    if pick.consumed:
        found["consumedCapacity"] = {name: str(amount) for name, amount in pick.consumed.items()}
    if pick.slice.skipped_operations and features.knows_skipped_operations:
        found["skipNodeOperations"] = list(pick.slice.skipped_operations)
    return found


def _share_id(claim: Claim, index: int) -> str:
    """Random upstream; here the same claim gets the same ids, so that answers can be compared."""
    return str(uuid.uuid5(_SHARES, f"{claim.uid or claim}/{index}"))


def _configs(claim: Claim, selected: Selected) -> list[dict[str, Any]]:
    found = _class_configs(selected)
    names = {name for line, request, _ in selected for name in (line, request.full_name)}
    found += [
        (list(one.requests), {"source": "FromClaim", **one.parameters})
        for one in claim.configs
        if not one.requests or names.intersection(one.requests)
    ]
    return [_scoped(requests, config, selected) for requests, config in found]


def _class_configs(selected: Selected) -> list[tuple[list[str], dict[str, Any]]]:
    """Each class speaks once, for all requests that use it."""
    found: list[tuple[list[str], dict[str, Any]]] = []
    users: dict[str, list[list[str]]] = {}
    for _, request, device_class in selected:
        known = users.get(device_class.name)
        if known is None:
            own = [([request.full_name], config) for config in device_class.configs]
            users[device_class.name] = [requests for requests, _ in own]
            found += [
                (requests, {"source": "FromClass", **config.parameters}) for requests, config in own
            ]
        else:
            for requests in known:
                requests.append(request.full_name)
    return found


def _scoped(requests: list[str], config: dict[str, Any], selected: Selected) -> dict[str, Any]:
    """A config that covers every request names none."""
    covers_all = all(
        line in requests or request.full_name in requests for line, request, _ in selected
    )
    if not requests or covers_all:
        return config
    return {"source": config["source"], "requests": requests, **config}


def _node_selector(claim: Claim, picks: Sequence[Pick], node_name: str) -> dict[str, Any] | None:
    """One local device binds the claim to the node; else all requirements together."""
    fields: list[Requirement] = []
    expressions: list[Requirement] = []
    for pick in picks:
        reach = pick.device.reach if pick.slice.per_device else pick.slice.reach
        if reach.node_name or pick.device.binds_to_node:
            only = Requirement("metadata.name", "In", (node_name,))
            return {"nodeSelectorTerms": [{"matchFields": [only.as_json()]}]}
        if reach.selector is not None and reach.selector.terms:
            if len(reach.selector.terms) > 1:
                raise Fatal(
                    f"create NodeSelector for claim {claim.name}: unsupported "
                    f"ResourceSlice.NodeSelector with {len(reach.selector.terms)} terms"
                )
            _add_new(fields, reach.selector.terms[0].fields)
            _add_new(expressions, reach.selector.terms[0].expressions)
    term: dict[str, Any] = {}
    if expressions:
        term["matchExpressions"] = [one.as_json() for one in expressions]
    if fields:
        term["matchFields"] = [one.as_json() for one in fields]
    return {"nodeSelectorTerms": [term]} if term else None


def _add_new(known: list[Requirement], more: Sequence[Requirement]) -> None:
    seen = {(one.key, one.operator, frozenset(one.values)) for one in known}
    for one in more:
        if (one.key, one.operator, frozenset(one.values)) not in seen:
            known.append(one)
            seen.add((one.key, one.operator, frozenset(one.values)))
