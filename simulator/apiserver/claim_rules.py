"""What the API server refuses of claims, claim templates and slices."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from simulator.apiserver.problems import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    required,
    unsupported_value,
)

Item = dict[str, Any]
MAX_DEVICES = 128
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
    f"used for validation is '{LABEL}')"
)


def check_class(item: Item) -> list[Cause]:
    return check_selectors(item.get("spec", {}).get("selectors", ()), "spec.selectors")


def check_selectors(selectors: Sequence[Item], where: str) -> list[Cause]:
    """Whether each CEL expression compiles and stays within the cost that is allowed."""
    if not selectors:
        return []
    # Only here, since the compiler takes longer to load than the rest of the server.
    from domain.placement.cel import ADMISSION, LENGTH_LIMIT, CompileFailure, compile_selector
    from domain.placement.cel.program import Program

    causes = []
    for place, selector in enumerate(selectors):
        field = f"{where}[{place}].cel.expression"
        text = (selector.get("cel") or {}).get("expression", "")
        if len(text.encode()) > LENGTH_LIMIT:
            message = f"Too long: may not be more than {LENGTH_LIMIT} bytes"
            causes.append(Cause(field, "FieldValueTooLong", message))
            continue
        compiled = compile_selector(text, ADMISSION)
        if isinstance(compiled, CompileFailure):
            causes.append(invalid_value(field, text, compiled.message))
        elif isinstance(compiled, Program) and compiled.over_limit:
            causes.append(forbidden_field(field, "too complex, exceeds cost limit"))
    return causes


def check_claim(item: Item) -> list[Cause]:
    return _check_claim_spec(item.get("spec", {}), "spec")


def check_claim_template(item: Item) -> list[Cause]:
    return _check_claim_spec(item.get("spec", {}).get("spec", {}), "spec.spec")


def _check_claim_spec(spec: Item, path: str) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for place, request in enumerate(spec.get("devices", {}).get("requests", ())):
        where = f"{path}.devices.requests[{place}]"
        name = request.get("name", "")
        if not name:
            causes.append(required(f"{where}.name"))
        elif name in seen:
            causes.append(duplicate(where, request))
        elif not re.fullmatch(LABEL, name):
            causes.append(invalid_value(f"{where}.name", name, LABEL_TEXT))
        seen.add(name)
        causes += _check_request(request, where)
    return causes


_ON_NODES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def check_slice(item: Item) -> list[Cause]:
    spec = item.get("spec", {})
    causes = []
    if sum(1 for name in _ON_NODES if spec.get(name)) != 1:
        listed = ", ".join(f"`{name}`" for name in _ON_NODES)
        causes.append(required("spec", f"exactly one of {listed} is required"))
    seen: set[str] = set()
    for place, device in enumerate(spec.get("devices", ())):
        if device.get("name", "") in seen:
            causes.append(duplicate(f"spec.devices[{place}]", device["name"]))
        seen.add(device.get("name", ""))
    if len(seen) > MAX_DEVICES:
        causes.append(
            Cause(
                "spec.devices",
                "FieldValueTooMany",
                f"Too many: {len(seen)}: must have at most {MAX_DEVICES} items",
            )
        )
    return causes


def check_claim_status(new: Item, old: Item) -> list[Cause]:
    """An allocation is set or cleared as a whole, and what hangs on it follows it."""
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation, had = status.get("allocation"), before.get("allocation")
    causes = []
    if allocation and had and allocation != had:
        causes.append(invalid_value("status.allocation", None, "field cannot be modified once set"))
    elif allocation:
        causes += _check_results(new, allocation)
    if status.get("reservedFor") and not allocation:
        causes.append(
            forbidden_field(
                "status.reservedFor", "may not be specified when `allocated` is not set"
            )
        )
    return causes + list(_check_devices(status))


def _check_results(claim: Item, allocation: Item) -> list[Cause]:
    known = set()
    for request in claim.get("spec", {}).get("devices", {}).get("requests", ()):
        parts = request.get("firstAvailable", ())
        known |= {f"{request['name']}/{part['name']}" for part in parts} or {request["name"]}
    words = (
        "must be the name of a request in the claim or the name of a request and a subrequest "
        "separated by '/'"
    )
    where = "status.allocation.devices.results[{}].request"
    results = (allocation.get("devices") or {}).get("results", ())
    return [
        invalid_value(where.format(place), result["request"], words)
        for place, result in enumerate(results)
        if result["request"] not in known
    ]


def _check_devices(status: Item) -> Iterator[Cause]:
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results", ())
    allocated = [_identity(result) for result in results]
    for place, device in enumerate(status.get("devices") or ()):
        where = f"status.devices[{place}]"
        identity = _identity(device)
        if identity not in allocated:
            yield invalid_value(where, identity, "must be an allocated device in the claim")
        for number, condition in enumerate(device.get("conditions") or ()):
            for name in ("status", "lastTransitionTime", "reason"):
                if not condition.get(name):
                    yield required(f"{where}.conditions[{number}].{name}")


def _identity(device: Item) -> dict[str, str]:
    names = {"Driver": "driver", "Pool": "pool", "Device": "device", "ShareID": "shareID"}
    return {shown: device.get(name, "") for shown, name in names.items()}


def _check_request(request: Item, where: str) -> list[Cause]:
    has_exactly, has_list = "exactly" in request, bool(request.get("firstAvailable"))
    if has_exactly == has_list:
        words = "exactly one of `exactly` or `firstAvailable` is required"
        if has_exactly:
            return [invalid_value(where, None, f"{words}, but multiple fields are set")]
        return [required(where, words)]
    causes = []
    if has_exactly:
        causes += _check_device_request(request["exactly"], f"{where}.exactly")
    for place, part in enumerate(request.get("firstAvailable", ())):
        causes += _check_device_request(part, f"{where}.firstAvailable[{place}]")
    return causes


def _check_device_request(part: Item, where: str) -> list[Cause]:
    causes = check_selectors(part.get("selectors", ()), f"{where}.selectors")
    if not part.get("deviceClassName"):
        causes.append(required(f"{where}.deviceClassName"))
    mode = part.get("allocationMode")
    count = part.get("count", 0)
    if mode == "All" and count:
        causes.append(
            invalid_value(
                f"{where}.count", count, "must not be specified when allocationMode is 'All'"
            )
        )
    elif mode == "ExactCount" and count <= 0:
        causes.append(invalid_value(f"{where}.count", count, "must be greater than zero"))
    elif mode not in ("All", "ExactCount"):
        causes.append(unsupported_value(f"{where}.allocationMode", mode, ("All", "ExactCount")))
    return causes
