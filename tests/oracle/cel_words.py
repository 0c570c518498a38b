"""The words that random selectors and random devices are made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

SCALARS = ("int", "bool", "string", "version")
WORDS = ("a100", "h100", "l4", "gpu", "", "x", "é", "A100-SXM", "1.2.3", "40Gi", "pci0000:00")
PATTERNS = ("^[ah]100$", "l.", "(a|b)+", "[0-9]+", "100", "^$", r"\\d", "(?i)GPU", "x*")
QUANTITIES = ("40Gi", "1", "0", "500m", "1.5Gi", "1e3", "80Gi", "0.1", "12E", "100k", "-2", "1n")
VERSIONS = ("1.2.3", "2.0.0", "2.0.0-rc.1", "0.0.1", "1.10.0", "1.2.3-alpha+b1", "10.0.0")
ADDRESSES = ("10.0.0.1", "::1", "fe80::1", "192.168.1.7", "224.0.0.1", "2001:db8::1", "0.0.0.0")
NETWORKS = ("10.0.0.0/8", "192.168.1.0/24", "2001:db8::/32", "10.1.2.3/16", "0.0.0.0/0")
DURATIONS = ("1h", "90s", "1m30s", "0s", "-5m", "1.5h", "250ms")
INSTANTS = ("2026-01-02T03:04:05Z", "2026-11-30T23:59:59.5Z", "1999-12-31T00:00:00+02:00")
URLS = ("https://a.example:8443/p/q?x=1&y=2", "http://h/", "/only/path", "https://[::1]:80/z")


class Known(NamedTuple):
    """Something that devices publish: part is attributes or capacity."""

    domain: str
    name: str
    kind: str
    part: str = "attributes"


DEFAULT = (
    Known("gpu.example.com", "model", "string"),
    Known("gpu.example.com", "index", "int"),
    Known("gpu.example.com", "mig", "bool"),
    Known("gpu.example.com", "driverVersion", "version"),
    Known("resource.kubernetes.io", "pcieRoot", "string"),
    Known("example.com", "links", "strings"),
    Known("example.com", "group", "int"),
    Known("example.com", "levels", "ints"),
    Known("example.com", "builds", "versions"),
    Known("gpu.example.com", "memory", "quantity", "capacity"),
    Known("gpu.example.com", "cores", "quantity", "capacity"),
)
IP_TESTS = (
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
)
URL_PARTS = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
CLOCK = (
    "getFullYear",
    "getMonth",
    "getDate",
    "getDayOfWeek",
    "getHours",
    "getMinutes",
    "getSeconds",
)


def literal(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


class Choices:
    """Random choices, and ways to read what devices publish."""

    def __init__(self, rng: Random, attributes: Sequence[Known], oddness: float) -> None:
        self.rng = rng
        self.attributes = tuple(attributes)
        self.oddness = oddness
        self.variables: list[tuple[str, str]] = []

    # Choices

    def odd(self) -> bool:
        return self.rng.random() < self.oddness

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    def one(self, *options: Callable[[], str]) -> str:
        return self.rng.choice(options)()

    def word(self, words: Sequence[str]) -> str:
        return literal(self.rng.choice(words))

    def fresh(self) -> str:
        """A name for a variable; an odd one hides another name."""
        if self.odd() and self.maybe(0.3):
            return self.rng.choice(("device", "v0", "int", "e", "ip"))
        return f"v{len(self.variables)}"

    # Reading the device

    def known(self, *kinds: str) -> Known | None:
        found = [known for known in self.attributes if known.kind in kinds]
        if self.odd():
            found = list(self.attributes)
        return self.rng.choice(found) if found else None

    def domain(self, known: Known) -> str:
        return "nosuch.example.com" if self.odd() and self.maybe(0.3) else known.domain

    def held(self, known: Known) -> str:
        """The map that holds an attribute."""
        domain = self.domain(known)
        index = "device.driver" if domain == "gpu.example.com" and self.maybe(0.1) else None
        return f"device.{known.part}[{index or literal(domain)}]"

    def read(self, known: Known, fallback: str) -> str:
        held, name = self.held(known), "nosuch" if self.odd() and self.maybe(0.3) else known.name
        match self.rng.randrange(12):
            case 0:
                return f"{held}.?{name}.orValue({fallback})"
            case 1:
                return f"{held}[{literal(name)}]"
            case 2:
                return f"(has({held}.{name}) ? {held}.{name} : {fallback})"
            case 3:
                return f"{held}[?{literal(name)}].orValue({fallback})"
            case 4:
                domain = literal(known.domain)
                return f"device.{known.part}[?{domain}].?{name}.orValue({fallback})"
        return f"{held}.{name}"

    def attribute(self, kind: str, fallback: Callable[[], str]) -> str:
        local = [name for name, own in self.variables if own == kind or self.odd()]
        if local and self.maybe(0.6):
            return self.rng.choice(local)
        known = self.known(kind)
        return self.read(known, fallback()) if known else fallback()


def random_device(
    rng: Random, attributes: Sequence[Known] = DEFAULT
) -> tuple[str, dict[str, object]]:
    """(driver, device) with some of the attributes, now and then of another kind."""
    driver = rng.choice(("gpu.example.com", "gpu.example.com", "nic.example.com"))
    device: dict[str, object] = {"name": "dev-0"}
    parts: dict[str, dict[str, object]] = {"attributes": {}, "capacity": {}}
    for known in attributes:
        if rng.random() < 0.25:
            continue
        name = known.name if known.domain == driver else f"{known.domain}/{known.name}"
        kind = rng.choice(SCALARS) if known.kind in SCALARS and rng.random() < 0.05 else known.kind
        parts[known.part][name] = {_key(kind): _value(rng, kind)}
    device.update({part: values for part, values in parts.items() if values})
    if rng.random() < 0.3:
        device["allowMultipleAllocations"] = rng.random() < 0.7
    return driver, device


def _key(kind: str) -> str:
    return "value" if kind == "quantity" else kind


def _value(rng: Random, kind: str) -> object:
    if kind.endswith("s"):
        return [_value(rng, kind[:-1]) for _ in range(rng.randrange(1, 4))]
    match kind:
        case "int":
            return rng.choice((0, 1, 2, 3, 7, 40))
        case "bool":
            return rng.random() < 0.5
        case "version":
            return rng.choice(VERSIONS)
        case "quantity":
            return rng.choice(QUANTITIES)
    return rng.choice(WORDS)
