"""ResourceClaim and DeviceClass."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern
from typing import Any

from domain.devices import ClaimUse, Result
from kube.client import Json
from kube.parse.fields import identity, named, owner


def claim(raw: Json) -> ClaimUse:
    uid, namespace, name = identity(raw)
    status = raw.get("status") or {}
    allocation = status.get("allocation") or {}
    devices = (raw.get("spec") or {}).get("devices") or {}
    return ClaimUse(
        uid=uid,
        namespace=namespace,
        name=name,
        results=tuple(
            _result(one) for one in (allocation.get("devices") or {}).get("results") or ()
        ),
        classes=dict(_classes(devices.get("requests") or ())),
        pods=tuple(
            str(one.get("name") or "")
            for one in status.get("reservedFor") or ()
            if one.get("resource") in ("pods", "podgroups")
        ),
        node_name=_bound_node(allocation.get("nodeSelector")),
        is_deleting=bool(raw["metadata"].get("deletionTimestamp")),
        owner=owner(raw),
        created_at=str(raw["metadata"].get("creationTimestamp") or ""),
        allocated_at=str(allocation.get("allocationTimestamp") or ""),
    )


def _classes(requests: Any) -> Iterator[tuple[str, str]]:
    for request in requests:
        name = str(request["name"])
        exactly = request.get("exactly") or request  # v1beta1 has no such wrapper
        if exactly.get("deviceClassName"):
            yield name, intern(str(exactly["deviceClassName"]))
        for sub in request.get("firstAvailable") or ():
            yield f"{name}/{sub['name']}", intern(str(sub["deviceClassName"]))


def _result(raw: Json) -> Result:
    return Result(
        request=intern(str(raw["request"])),
        driver=intern(str(raw["driver"])),
        pool=intern(str(raw["pool"])),
        device=intern(str(raw["device"])),
        is_admin=bool(raw.get("adminAccess")),
        share_id=str(raw.get("shareID") or ""),
        consumed=tuple(sorted((raw.get("consumedCapacity") or {}).items())),
    )


def _bound_node(selector: Any) -> str:
    """The one node that a selector names by metadata.name, "" if it names none or several."""
    names = {
        value
        for term in (selector or {}).get("nodeSelectorTerms") or ()
        for field in term.get("matchFields") or ()
        if field.get("key") == "metadata.name" and field.get("operator") == "In"
        for value in field.get("values") or ()
    }
    return named(names.pop()) if len(names) == 1 else ""


def class_facts(raw: Json) -> dict[str, str]:
    """What a list of classes shows: the first selector and the extended resource's name."""
    spec = raw.get("spec") or {}
    expressions = [
        str((one.get("cel") or {}).get("expression") or "") for one in spec.get("selectors") or ()
    ]
    return {
        "selectors": "\n".join(expressions),
        "extended_resource": str(spec.get("extendedResourceName") or ""),
    }
