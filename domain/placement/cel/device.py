"""A device as a selector sees it, and the paths by which selectors read it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from domain.placement.cel.quantity import parse_quantity
from domain.placement.cel.semver import InvalidSemver, parse_semver

SCALARS = {"int": "ints", "bool": "bools", "string": "strings", "version": "versions"}
# Upstream looks at lists first, then at scalars, each in this order.
KINDS = (*SCALARS.values(), *SCALARS)
PLAIN = frozenset(KINDS) - {"version", "versions"}
OWN_DOMAIN = ""
UNCHECKED = "?"


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
    """What `device` is in an expression. Cheap: it keeps the object as the API serves it.

    Values are typed when an expression reads them. Views are equal only to themselves.
    """

    __slots__ = ("_fault", "allows_multiple", "attributes", "capacity", "driver")

    def __init__(self, driver: str, device: Mapping[str, Any]) -> None:
        self.driver = driver
        self.attributes: Mapping[str, Any] = device.get("attributes") or {}
        self.capacity: Mapping[str, Any] = device.get("capacity") or {}
        self.allows_multiple = device.get("allowMultipleAllocations") is True
        self._fault: str | None = UNCHECKED

    @property
    def fault(self) -> str | None:
        """Why Kubernetes can evaluate no selector on this device at all, if so.

        An attribute without a value, or with a version that is none.
        """
        if self._fault is UNCHECKED:
            self._fault = _first_fault(self.attributes)
        return self._fault

    @property
    def fields(self) -> dict[str, Any]:
        """The CEL value of `device`. Raises InvalidSemver or ValueError where there is a fault."""
        return {
            "driver": self.driver,
            "allowMultipleAllocations": self.allows_multiple,
            "attributes": self._by_domain(self.attributes, typed_attribute),
            "capacity": self._by_domain(self.capacity, typed_capacity),
        }

    def _by_domain(self, values: Mapping[str, Any], typed: Any) -> DomainMap:
        domains = DomainMap()
        for qualified, value in values.items():
            domain, slash, name = qualified.partition("/")
            if not slash:
                domain, name = self.driver, qualified
            if domain in domains:
                domains[domain][name] = typed(value)
            else:
                domains[domain] = {name: typed(value)}
        return domains

    def domain(self, part: str, domain: str) -> dict[str, Any]:
        """The values of one domain; empty where the device has none of it."""
        values, typed = self._part(part)
        prefix, at = f"{domain}/", len(domain) + 1
        found = {
            name[at:]: typed(value) for name, value in values.items() if name.startswith(prefix)
        }
        if domain == self.driver:
            found |= {name: typed(value) for name, value in values.items() if "/" not in name}
        return found

    def _part(self, part: str) -> tuple[Mapping[str, Any], Any]:
        if part == "attributes":
            return self.attributes, typed_attribute
        return self.capacity, typed_capacity

    def read(self, path: Path) -> Hashable:
        """The raw value at a path, with its type; None where there is none.

        Two devices whose values at all paths of a selector are equal get the same
        verdict. The type is part of it since 1, 1.0 and True are equal in Python.
        """
        return reader(path)(self)


type Reader = Callable[[DeviceView], Hashable]


@cache
def reader(path: Path) -> Reader:
    """The function that reads a path."""
    if path.part in FIELDS:
        return FIELDS[path.part]
    if not path.name:
        return lambda view: _has_domain(view, path)
    raw = raw_reader(path.part, path.domain, path.name)
    if path.presence:
        return lambda view: raw(view) is not None
    return lambda view: _key(raw(view))


FIELDS: dict[str, Reader] = {
    "driver": lambda view: view.driver,
    "allowMultipleAllocations": lambda view: view.allows_multiple,
}


def raw_reader(part: str, domain: str, name: str) -> Callable[[DeviceView], Any]:
    """Reads the object of one attribute or capacity, None where there is none."""
    of = attrgetter(part)
    if domain == OWN_DOMAIN:
        return lambda view: of(view).get(name) or of(view).get(f"{view.driver}/{name}")
    qualified = f"{domain}/{name}"

    def read(view: DeviceView) -> Any:
        values = of(view)
        found = values.get(qualified)
        if found is None and view.driver == domain:
            found = values.get(name)
        return found

    return read


def _has_domain(view: DeviceView, path: Path) -> bool:
    values, domain = getattr(view, path.part), path.domain or view.driver
    prefix, own = domain + "/", domain == view.driver
    return any(name.startswith(prefix) or (own and "/" not in name) for name in values)


def _first_fault(attributes: Mapping[str, Any]) -> str | None:
    for name, attribute in attributes.items():
        for kind in attribute:
            if kind in PLAIN and len(attribute) == 1:
                break
        else:
            try:
                typed_attribute(attribute)
            except InvalidSemver as error:
                return f"attribute {name}: parse semantic version: {error}"
            except ValueError as error:
                return f"attribute {name}: {error}"
    return None


class DomainMap(dict[str, dict[str, Any]]):
    """Attributes or capacity by domain; an unknown domain reads as an empty map."""

    def __missing__(self, domain: str) -> dict[str, Any]:
        return {}


def _key(value: Mapping[str, Any] | None) -> Hashable:
    if value is None:
        return None
    for kind, content in value.items():
        if content.__class__ is list:
            return kind, *content
        if content.__class__ is not dict:  # a capacity's policy does not matter
            return kind, content
    return ()


def typed_attribute(attribute: Mapping[str, Any]) -> Any:
    """The CEL value of an attribute as the API stores it.

    Raises InvalidSemver for a bad version and ValueError where no value is set.
    """
    if len(attribute) == 1:
        for kind, content in attribute.items():
            if kind in PLAIN and content is not None:
                return content
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
