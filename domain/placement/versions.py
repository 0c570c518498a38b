"""Older API versions of `resource.k8s.io`, brought into the shape of v1 without loss.

v1beta2 has v1's shape. v1beta1 keeps a device's fields under `basic` and a request's fields on
the request itself (KEP-4381; k/k#137240 is a conversion that lost fields).
"""

from collections.abc import Mapping
from typing import Any

from domain.placement.faults import Malformed

Raw = Mapping[str, Any]
_GROUP = "resource.k8s.io/"
_OWN_KEYS = frozenset({"name", "exactly", "firstAvailable"})
KNOWN_VERSIONS = ("v1", "v1beta1", "v1beta2", "v1alpha3")


def as_v1(raw: Raw) -> Raw:
    """The same object as v1 spells it; anything outside the group is returned untouched.

    Raises Malformed for a version of the group that is not known.
    """
    api_version = str(raw.get("apiVersion") or "")
    if not api_version.startswith(_GROUP):
        return raw
    version = api_version.removeprefix(_GROUP)
    if version not in KNOWN_VERSIONS:
        known = ", ".join(KNOWN_VERSIONS)
        raise Malformed(f"apiVersion: {api_version} is not known here; known are {known}")
    if version == "v1":
        return raw
    converted = dict(raw, apiVersion=f"{_GROUP}v1")
    if version == "v1beta1" and isinstance(raw.get("spec"), Mapping):
        converted["spec"] = _SPEC_OF.get(str(raw.get("kind")), dict)(raw["spec"])
    return converted


def _slice_spec(spec: Raw) -> dict[str, Any]:
    devices = spec.get("devices")
    if not isinstance(devices, list):
        return dict(spec)
    return dict(spec, devices=[_device(device) for device in devices])


def _device(device: Any) -> Any:
    if not isinstance(device, Mapping) or not isinstance(device.get("basic"), Mapping):
        return device
    outer = {key: value for key, value in device.items() if key != "basic"}
    return outer | dict(device["basic"])


def _claim_spec(spec: Raw) -> dict[str, Any]:
    devices = spec.get("devices")
    if not isinstance(devices, Mapping) or not isinstance(devices.get("requests"), list):
        return dict(spec)
    requests = [_request(request) for request in devices["requests"]]
    return dict(spec, devices=dict(devices, requests=requests))


def _request(request: Any) -> Any:
    if not isinstance(request, Mapping) or "exactly" in request:
        return request
    flat = {key: value for key, value in request.items() if key not in _OWN_KEYS}
    outer = {key: value for key, value in request.items() if key in _OWN_KEYS}
    return outer | {"exactly": flat} if flat else outer


def _template_spec(spec: Raw) -> dict[str, Any]:
    inner = spec.get("spec")
    return dict(spec, spec=_claim_spec(inner)) if isinstance(inner, Mapping) else dict(spec)


_SPEC_OF: dict[str, Any] = {
    "ResourceSlice": _slice_spec,
    "ResourceClaim": _claim_spec,
    "ResourceClaimTemplate": _template_spec,
}
