"""Reads what users ask for: claims, classes, and what allocated claims hold."""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from domain.placement.claims import (
    ALL,
    EXACT_COUNT,
    Claim,
    Config,
    Constraint,
    DeviceClass,
    Held,
    Holding,
    Request,
    RequestLine,
    Toleration,
)
from domain.placement.devices import DeviceID
from domain.placement.faults import Malformed
from domain.placement.reading import (
    Raw,
    amount,
    each,
    flag,
    named,
    number,
    required,
    table,
    text,
    texts,
)
from domain.placement.versions import as_v1

V1 = "resource.k8s.io/v1"


def read_claim(raw: Raw, *, defaults: bool = True) -> Claim:
    """Of any supported version. `defaults`: fill in what the API server fills in on create."""
    raw = as_v1(raw)
    namespace, name = named(raw)
    spec = table(raw.get("spec"), "spec")
    devices = table(spec.get("devices"), "spec.devices")

    def line(entry: Raw, path: str) -> RequestLine:
        return read_line(entry, path, defaults=defaults)

    return Claim(
        namespace=namespace,
        name=name,
        uid=text(table(raw["metadata"], "metadata").get("uid"), "metadata.uid"),
        lines=each(devices.get("requests"), "spec.devices.requests", line),
        constraints=each(devices.get("constraints"), "spec.devices.constraints", _constraint),
        configs=each(devices.get("config"), "spec.devices.config", _config),
    )


def read_again(raw: Raw, *, defaults: bool = True) -> tuple[Claim, Hashable]:
    """As `read_claim`, reading equal specs only once; with what tells specs apart."""
    spec = raw.get("spec")
    if not isinstance(spec, Mapping) or raw.get("apiVersion", "resource.k8s.io/v1") != V1:
        return read_claim(raw, defaults=defaults), None
    try:
        content = orjson.dumps(spec)
    except TypeError:
        return read_claim(raw, defaults=defaults), None
    parsed = _parsed(content, defaults)
    namespace, name = named(raw)
    uid = text(table(raw["metadata"], "metadata").get("uid"), "metadata.uid")
    claim = Claim(namespace, name, uid, parsed.lines, parsed.constraints, parsed.configs)
    return claim, (content, defaults)


@lru_cache(maxsize=4096)
def _parsed(spec: bytes, defaults: bool) -> Claim:
    raw = {"apiVersion": V1, "metadata": {"name": "-"}, "spec": orjson.loads(spec)}
    return read_claim(raw, defaults=defaults)


def read_class(raw: Raw) -> DeviceClass:
    meta = table(raw.get("metadata"), "metadata")
    spec = table(raw.get("spec"), "spec")
    return DeviceClass(
        name=named(raw)[1],
        selectors=each(spec.get("selectors"), "spec.selectors", read_selector),
        configs=each(spec.get("config"), "spec.config", _config),
        extended_resource=text(spec.get("extendedResourceName"), "spec.extendedResourceName"),
        created=text(meta.get("creationTimestamp"), "metadata.creationTimestamp"),
    )


def read_held(raw: Raw) -> Held:
    namespace, name = named(raw)
    status = table(raw.get("status"), "status")
    allocation = table(status.get("allocation"), "status.allocation")
    devices = table(allocation.get("devices"), "status.allocation.devices")
    found = each(devices.get("results"), "status.allocation.devices.results", _holding)
    return Held(
        namespace=namespace,
        name=name,
        uid=text(table(raw["metadata"], "metadata").get("uid"), "metadata.uid"),
        holdings=tuple(holding for holding in found if holding is not None),
        raw=raw,
    )


def holdings_of(allocation: Raw) -> tuple[Holding, ...]:
    """What an AllocationResult takes; admin access takes nothing."""
    results = table(allocation.get("devices"), "devices").get("results")
    found = each(results, "devices.results", _holding)
    return tuple(holding for holding in found if holding is not None)


def read_line(raw: Raw, path: str, *, defaults: bool = True) -> RequestLine:
    name = text(raw.get("name"), f"{path}.name")
    subrequests = raw.get("firstAvailable")
    if subrequests:

        def alternative(entry: Raw, inner: str) -> Request:
            return read_request(entry, inner, parent=name, defaults=defaults)

        found = each(subrequests, f"{path}.firstAvailable", alternative)
        return RequestLine(name, found, is_prioritized=True)
    exactly = raw.get("exactly")
    if exactly is None:
        raise Malformed(f"{path}: needs exactly or firstAvailable")
    inner = dict(table(exactly, f"{path}.exactly"), name=name)
    return RequestLine(name, (read_request(inner, f"{path}.exactly", defaults=defaults),))


def read_request(raw: Raw, path: str, *, parent: str = "", defaults: bool = True) -> Request:
    mode = text(raw.get("allocationMode"), f"{path}.allocationMode")
    count = number(raw.get("count"), f"{path}.count")
    if defaults:
        mode = mode or EXACT_COUNT
        count = count or (1 if mode == EXACT_COUNT else 0)
    capacity = raw.get("capacity")

    def toleration(entry: Raw, inner: str) -> Toleration:
        return _toleration(entry, inner, defaults=defaults)

    return Request(
        name=text(raw.get("name"), f"{path}.name"),
        class_name=text(raw.get("deviceClassName"), f"{path}.deviceClassName"),
        mode=mode,
        count=0 if mode == ALL else count,
        parent=parent,
        admin_access=None if parent else flag(raw.get("adminAccess"), f"{path}.adminAccess"),
        selectors=each(raw.get("selectors"), f"{path}.selectors", read_selector),
        tolerations=each(raw.get("tolerations"), f"{path}.tolerations", toleration),
        capacities=None
        if capacity is None
        else {
            key: amount(value, f"{path}.capacity.requests.{key}")
            for key, value in table(
                table(capacity, f"{path}.capacity").get("requests"), f"{path}.capacity.requests"
            ).items()
        },
        derived=each(raw.get("derivedAttributes"), f"{path}.derivedAttributes", _derived),
    )


def read_selector(raw: Raw, path: str) -> str | None:
    cel = raw.get("cel")
    if cel is None:
        return None
    return text(table(cel, f"{path}.cel").get("expression"), f"{path}.cel.expression")


def _toleration(raw: Raw, path: str, *, defaults: bool) -> Toleration:
    operator = text(raw.get("operator"), f"{path}.operator")
    if defaults and not operator:
        operator = "Equal"
        raw = dict(raw, operator=operator)
    return Toleration(
        key=text(raw.get("key"), f"{path}.key"),
        operator=operator,
        value=text(raw.get("value"), f"{path}.value"),
        effect=text(raw.get("effect"), f"{path}.effect"),
        raw=raw,
    )


def _derived(raw: Raw, path: str) -> tuple[str, str]:
    return required(raw, "name", path), text(raw.get("expression"), f"{path}.expression")


def _constraint(raw: Raw, path: str) -> Constraint:
    return Constraint(
        requests=frozenset(texts(raw.get("requests"), f"{path}.requests")),
        match_attribute=_optional_text(raw, "matchAttribute", path),
        distinct_attribute=_optional_text(raw, "distinctAttribute", path),
    )


def _optional_text(raw: Raw, key: str, path: str) -> str | None:
    return None if raw.get(key) is None else text(raw[key], f"{path}.{key}")


def _config(raw: Raw, path: str) -> Config:
    parameters: Mapping[str, Any] = {key: raw[key] for key in raw if key != "requests"}
    return Config(texts(raw.get("requests"), f"{path}.requests"), parameters)


def _holding(raw: Raw, path: str) -> Holding | None:
    if flag(raw.get("adminAccess"), f"{path}.adminAccess"):
        return None
    consumed = raw.get("consumedCapacity")
    return Holding(
        device=DeviceID(
            text(raw.get("driver"), f"{path}.driver"),
            text(raw.get("pool"), f"{path}.pool"),
            text(raw.get("device"), f"{path}.device"),
        ),
        share=_optional_text(raw, "shareID", path),
        consumed=None
        if consumed is None
        else {
            name: amount(value, f"{path}.consumedCapacity.{name}").nanos
            for name, value in table(consumed, f"{path}.consumedCapacity").items()
        },
    )
