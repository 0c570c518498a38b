"""A device as a selector sees it, and the paths by which selectors read it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from domain.placement.cel.quantity import parse_quantity
from domain.placement.cel.semver import InvalidSemver, parse_semver

SCALARS = {"int": "ints", "bool": "bools", "string": "strings", "version": "versions"}
# Upstream looks at lists first, then at scalars, each in this order.
KINDS = (*SCALARS.values(), *SCALARS)
PLAIN = frozenset(KINDS) - {"version", "versions"}
OWN_DOMAIN = ""


class Path(NamedTuple):
    """One thing that a selector reads of a device.

    `part` is driver, allowMultipleAllocations, attributes or capacity. An empty
    domain stands for the device's own driver, whatever its name is. With
    `presence` only the existence matters; with an empty `name` it is that of
    the domain.
    """

    part: str
    domain: str = OWN_DOMAIN
    name: str = ""
    presence: bool = False


class DeviceView:
    """What `device` is in an expression. Cheap to make: values are typed when first read.

    `fault` says why Kubernetes could not evaluate any selector on this device
    (an attribute without a value, or with a version that is not one).
    """

    __slots__ = (
        "_fault",
        "_fields",
        "_fingerprint",
        "allows_multiple",
        "attributes",
        "capacity",
        "driver",
    )

    def __init__(self, driver: str, device: Mapping[str, Any]) -> None:
        self.driver = driver
        self.attributes: Mapping[str, Any] = device.get("attributes") or {}
        self.capacity: Mapping[str, Any] = device.get("capacity") or {}
        self.allows_multiple = device.get("allowMultipleAllocations") is True
        self._fields: dict[str, Any] | None = None
        self._fingerprint: Hashable = None
        self._fault: str | None = ""

    @property
    def fault(self) -> str | None:
        if self._fault == "":
            self._fault = next(filter(None, map(self._fault_of, self.attributes)), None)
        return self._fault

    def _fault_of(self, name: str) -> str | None:
        attribute = self.attributes[name]
        if len(attribute) == 1 and not attribute.keys().isdisjoint(PLAIN):
            return None
        try:
            typed_attribute(attribute)
        except InvalidSemver as error:
            return f"attribute {name}: parse semantic version: {error}"
        except ValueError as error:
            return f"attribute {name}: {error}"
        return None

    @property
    def fields(self) -> dict[str, Any]:
        """The CEL value of `device`: its fields, with attributes and capacity by domain.

        Raises InvalidSemver or ValueError for what `fault` describes.
        """
        if self._fields is None:
            self._fields = {
                "driver": self.driver,
                "allowMultipleAllocations": self.allows_multiple,
                "attributes": self._by_domain(self.attributes, typed_attribute),
                "capacity": self._by_domain(self.capacity, typed_capacity),
            }
        return self._fields

    def _by_domain(self, values: Mapping[str, Any], typed: Any) -> dict[str, dict[str, Any]]:
        domains: dict[str, dict[str, Any]] = DomainMap()
        for qualified, value in values.items():
            domain, slash, name = qualified.partition("/")
            if not slash:
                domain, name = self.driver, qualified
            if domain in domains:
                domains[domain][name] = typed(value)
            else:
                domains[domain] = {name: typed(value)}
        return domains

    def read(self, path: Path) -> Hashable:
        """The raw value at a path; None where there is none.

        Two devices whose values at all paths of a selector are equal get the
        same verdict. Values carry their type, since 1, 1.0 and True are equal
        in Python and not in CEL.
        """
        part = path.part
        if part == "driver":
            return self.driver
        if part == "allowMultipleAllocations":
            return self.allows_multiple
        values = self.attributes if part == "attributes" else self.capacity
        domain = path.domain or self.driver
        if not path.name:
            return self._has_domain(values, domain)
        found = values.get(f"{domain}/{path.name}")
        if found is None and domain == self.driver:
            found = values.get(path.name)
        if path.presence or found is None:
            return None if found is None else True
        return _key(found)

    def _has_domain(self, values: Mapping[str, Any], domain: str) -> bool:
        prefix = domain + "/"
        own = domain == self.driver
        return any(name.startswith(prefix) or (own and "/" not in name) for name in values)

    @property
    def fingerprint(self) -> Hashable:
        """All that a selector can read of the device, for selectors that may read anything."""
        if self._fingerprint is None:
            self._fingerprint = (
                self.driver,
                self.allows_multiple,
                frozenset((name, _key(value)) for name, value in self.attributes.items()),
                frozenset((name, _key(value)) for name, value in self.capacity.items()),
            )
        return self._fingerprint


class DomainMap(dict[str, dict[str, Any]]):
    """Attributes or capacity by domain; an unknown domain reads as an empty map."""

    def __missing__(self, domain: str) -> dict[str, Any]:
        return {}


def _key(value: Mapping[str, Any]) -> Hashable:
    for kind, content in value.items():
        if isinstance(content, list):
            return kind, *content
        if isinstance(content, dict):
            continue
        if kind in KINDS or kind == "value":
            return kind, content
    return ()


def typed_attribute(attribute: Mapping[str, Any]) -> Any:
    """The CEL value of an attribute as the API stores it.

    Raises InvalidSemver for a bad version and ValueError where no value is set.
    """
    for kind in KINDS:
        content = attribute.get(kind)
        if content is None:
            continue
        if kind == "version":
            return parse_semver(content)
        if kind == "versions":
            return [parse_semver(item) for item in content]
        return content
    raise ValueError("unsupported attribute value")


def typed_capacity(capacity: Mapping[str, Any]) -> Any:
    return parse_quantity(str(capacity["value"]))
