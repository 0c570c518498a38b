"""Random CEL device selectors, derived from the language's grammar and its libraries.

`random_selector` gives what a user could write for the given attributes;
`random_expression` wanders wider: wrong types, unknown names, broken syntax.
Both are seeded by the generator that they are handed.
"""

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


def random_selector(rng: Random, attributes: Sequence[Known] = DEFAULT) -> str:
    """A selector that compiles; most evaluate without error on devices that have the attributes."""
    return Grammar(rng, attributes, oddness=0.02).boolean(rng.choice((1, 2, 2, 3)))


def random_expression(rng: Random, attributes: Sequence[Known] = DEFAULT) -> str:
    """An expression of any kind, valid or not."""
    text = Grammar(rng, attributes, oddness=0.25).boolean(rng.choice((1, 2, 3, 4)))
    return _broken(rng, text) if rng.random() < 0.06 else text


def _broken(rng: Random, text: str) -> str:
    """One slip of the finger: a character lost, doubled or put in."""
    at = rng.randrange(len(text))
    match rng.randrange(3):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + text[at] + text[at:]
    return text[:at] + rng.choice("()[].,&|?:'\"x1 ") + text[at:]


def literal(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


class Grammar:
    """One method per type; `depth` bounds how deep an expression nests."""

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
        return f"v{len(self.variables)}"

    def any_kind(self, depth: int) -> str:
        kinds = (self.integer, self.string, self.boolean, self.semver, self.quantity, self.double)
        return self.rng.choice(kinds)(depth)

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

    # Types

    def boolean(self, depth: int) -> str:
        if depth <= 0:
            return self.one(
                lambda: self.attribute("bool", lambda: "false"),
                self.presence,
                self.driver,
                lambda: self.rng.choice(("true", "false", "device.allowMultipleAllocations")),
            )
        below = depth - 1
        if self.odd() and self.maybe(0.15):
            return self.any_kind(below)
        return self.one(
            lambda: f"{self.boolean(below)} && {self.boolean(below)}",
            lambda: f"({self.boolean(below)} || {self.boolean(below)})",
            lambda: f"!({self.boolean(below)})",
            lambda: f"({self.boolean(below)} ? {self.boolean(below)} : {self.boolean(below)})",
            lambda: self.equality(below),
            lambda: self.equality(below),
            lambda: self.order(below),
            lambda: self.order(below),
            lambda: self.membership(below),
            lambda: self.text_test(below),
            lambda: self.quantity_test(below),
            lambda: self.semver_test(below),
            lambda: self.macro(below),
            lambda: self.bind(below),
            lambda: self.sets(below),
            self.presence,
            self.driver,
            lambda: self.rare(below),
        )

    def driver(self) -> str:
        domain = self.rng.choice(self.attributes).domain if self.attributes else "x.example.com"
        return f"device.driver {self.rng.choice(('==', '!='))} {literal(domain)}"

    def presence(self) -> str:
        known = self.known(*SCALARS, "quantity", "strings")
        if known is None:
            return "true"
        held = self.held(known)
        return self.one(
            lambda: f"has({held}.{known.name})",
            lambda: f"{literal(known.name)} in {held}",
            lambda: f"{literal(self.domain(known))} in device.{known.part}",
            lambda: f"{held}.?{known.name}.hasValue()",
            lambda: f"size({held}) > {self.rng.randrange(4)}",
        )

    def equality(self, depth: int) -> str:
        operator = self.rng.choice(("==", "!=", "=="))
        if self.odd():
            return f"{self.any_kind(depth)} {operator} {self.any_kind(depth)}"
        kind = self.rng.choice((self.integer, self.string, self.string, self.semver, self.quantity))
        return f"{kind(depth)} {operator} {kind(depth)}"

    def order(self, depth: int) -> str:
        operator = self.rng.choice(("<", "<=", ">", ">="))
        if self.odd():
            return f"{self.any_kind(depth)} {operator} {self.any_kind(depth)}"
        kind = self.rng.choice((self.integer, self.integer, self.string, self.double))
        return f"{kind(depth)} {operator} {kind(depth)}"

    def membership(self, depth: int) -> str:
        return self.one(
            lambda: f"{self.string(depth)} in {self.strings(depth)}",
            lambda: f"{self.integer(depth)} in {self.integers(depth)}",
            lambda: f"{self.any_kind(depth)} in {self.strings(depth)}" if self.odd() else "true",
            lambda: f"{self.strings(depth)}.includes({self.string(depth)})",
            lambda: f"{self.string(depth)} in {{{self.word(WORDS)}: 1, {self.string(depth)}: 2}}",
        )

    def text_test(self, depth: int) -> str:
        text = self.string(depth)
        return self.one(
            lambda: f"{text}.startsWith({self.string(0)})",
            lambda: f"{text}.endsWith({self.string(0)})",
            lambda: f"{text}.contains({self.string(0)})",
            lambda: f"{text}.matches({self.word(PATTERNS)})",
            lambda: f"matches({text}, {self.word(PATTERNS)})",
            lambda: f"{text}.find({self.word(PATTERNS)}) != ''",
            lambda: f"size({text}) > {self.integer(0)}",
        )

    def integer(self, depth: int) -> str:
        if depth <= 0:
            return self.one(
                lambda: str(self.rng.choice((0, 1, 2, 3, 7, 40, -1, 9223372036854775807))),
                lambda: self.attribute("int", lambda: str(self.rng.randrange(4))),
                lambda: self.attribute("int", lambda: str(self.rng.randrange(4))),
            )
        below = depth - 1
        return self.one(
            lambda: self.integer(0),
            lambda: self.integer(0),
            lambda: f"({self.integer(below)} {self.rng.choice('+-*/%')} {self.integer(below)})",
            lambda: f"-({self.integer(below)})",
            lambda: f"size({self.string(below)})",
            lambda: f"{self.strings(below)}.size()",
            lambda: f"{self.string(below)}.indexOf({self.string(0)})",
            lambda: f"{self.string(below)}.lastIndexOf({self.string(0)})",
            lambda: f"int({self.string(0)})" if self.odd() else f"int({self.double(0)})",
            lambda: f"{self.semver(0)}.{self.rng.choice(('major', 'minor', 'patch'))}()",
            lambda: f"{self.quantity(0)}.asInteger()",
            lambda: f"{self.integers(below)}[{self.rng.randrange(3)}]",
            lambda: f"{self.integers(below)}.{self.rng.choice(('sum', 'min', 'max'))}()",
            lambda: f"({self.boolean(below)} ? {self.integer(below)} : {self.integer(below)})",
        )

    def double(self, depth: int) -> str:
        return self.one(
            lambda: self.rng.choice(("0.5", "1.0", "2.5", "1e3", "-0.25", "40.0")),
            lambda: f"double({self.integer(depth - 1) if depth > 0 else 2})",
            lambda: f"{self.quantity(0)}.asApproximateFloat()",
        )

    def string(self, depth: int) -> str:
        if depth <= 0:
            return self.one(
                lambda: self.word(WORDS),
                lambda: self.attribute("string", lambda: self.word(WORDS)),
                lambda: self.attribute("string", lambda: self.word(WORDS)),
            )
        below = depth - 1
        return self.one(
            lambda: self.string(0),
            lambda: self.string(0),
            lambda: f"({self.string(below)} + {self.string(below)})",
            lambda: f"{self.string(below)}.lowerAscii()",
            lambda: f"{self.string(below)}.upperAscii()",
            lambda: f"{self.string(below)}.trim()",
            lambda: f"{self.string(below)}.replace({self.string(0)}, {self.word(WORDS)})",
            lambda: f"{self.string(below)}.substring({self.rng.randrange(4)})",
            lambda: f"{self.string(below)}.substring(0, {self.rng.randrange(5)})",
            lambda: f"{self.string(below)}.charAt({self.rng.randrange(3)})",
            lambda: f"{self.string(below)}.split({self.word(('-', '.', '', 'x'))})[0]",
            lambda: f"{self.strings(below)}.join({self.word(('-', ''))})",
            lambda: f"string({self.integer(0)})",
            lambda: f"string({self.boolean(0)})",
            lambda: f"{self.strings(below)}[{self.rng.randrange(2)}]",
            lambda: f"{self.string(below)}.find({self.word(PATTERNS)})",
            lambda: f"({self.boolean(below)} ? {self.string(below)} : {self.string(below)})",
        )

    def listed(self, item: Callable[[int], str], depth: int) -> str:
        return f"[{', '.join(item(depth - 1) for _ in range(self.rng.randrange(4)))}]"

    def strings(self, depth: int) -> str:
        options = [
            lambda: self.listed(self.string, depth),
            lambda: self.listed(self.string, 0),
            lambda: self.attribute("strings", lambda: '["a", "b"]'),
        ]
        if depth > 0:
            options += [
                lambda: f"{self.string(depth - 1)}.split({self.word(('-', '.', ''))})",
                lambda: f"{self.string(depth - 1)}.findAll({self.word(PATTERNS)})",
                lambda: f"({self.strings(depth - 1)} + {self.strings(depth - 1)})",
                lambda: self.mapped(self.strings, self.string, "string", depth - 1),
                lambda: f"{self.strings(depth - 1)}.{self.listing()}",
            ]
        return self.one(*options)

    def integers(self, depth: int) -> str:
        options = [
            lambda: self.listed(self.integer, depth),
            lambda: self.listed(self.integer, 0),
            lambda: self.attribute("ints", lambda: "[1, 2]"),
        ]
        if depth > 0:
            options += [
                lambda: f"lists.range({self.rng.randrange(6)})",
                lambda: self.mapped(self.integers, self.integer, "int", depth - 1),
                lambda: f"{self.integers(depth - 1)}.{self.listing()}",
            ]
        return self.one(*options)

    def listing(self) -> str:
        """A method from list to list."""
        return self.rng.choice(
            (
                "sort()",
                "reverse()",
                "distinct()",
                "slice(0, 1)",
                "sortBy(e, e)",
                "sortBy(e, size(string(e)))",
            )
        )

    def mapped(
        self, source: Callable[[int], str], item: Callable[[int], str], kind: str, depth: int
    ) -> str:
        walked, name = source(depth), self.fresh()
        self.variables.append((name, kind))
        made = self.one(
            lambda: f"{walked}.map({name}, {item(depth)})",
            lambda: f"{walked}.filter({name}, {self.boolean(depth)})",
            lambda: f"{walked}.map({name}, {self.boolean(depth)}, {item(depth)})",
            lambda: f"{walked}.transformList(i, {name}, {item(depth)})",
        )
        self.variables.pop()
        return made

    def macro(self, depth: int) -> str:
        source, kind = self.rng.choice(
            ((self.strings, "string"), (self.integers, "int"), (self.domains, "string"))
        )
        walked, name = source(depth), self.fresh()
        macro = self.rng.choice(("all", "exists", "exists_one"))
        names = f"i, {name}" if self.maybe(0.2) and source is not self.domains else name
        self.variables.append((name, kind))
        body = self.boolean(depth)
        self.variables.pop()
        if "," in names:
            macro = macro.replace("exists_one", "existsOne")
        return f"{walked}.{macro}({names}, {body})"

    def domains(self, depth: int) -> str:
        known = self.rng.choice(self.attributes) if self.attributes else DEFAULT[0]
        return self.rng.choice(
            ("device.attributes", "device.capacity", f"device.attributes[{literal(known.domain)}]")
        )

    def bind(self, depth: int) -> str:
        name = self.fresh()
        kind, value = self.rng.choice(
            (("string", self.string), ("int", self.integer), ("version", self.semver))
        )
        if self.maybe(0.4) and self.attributes:
            known = self.rng.choice(self.attributes)
            test = (
                f"has({name}.{known.name})"
                if self.maybe(0.5)
                else f"{name}.{known.name} == {self.any_kind(0)}"
            )
            return f"cel.bind({name}, {self.held(known)}, {test} && {self.boolean(depth)})"
        bound = value(depth)
        self.variables.append((name, kind))
        body = self.boolean(depth)
        self.variables.pop()
        return f"cel.bind({name}, {bound}, {body})"

    def sets(self, depth: int) -> str:
        function = self.rng.choice(("contains", "intersects", "equivalent"))
        source = self.rng.choice((self.strings, self.integers))
        return f"sets.{function}({source(depth)}, {source(depth)})"

    def quantity(self, depth: int) -> str:
        if depth <= 0:
            return self.one(
                lambda: f"quantity({self.word(QUANTITIES)})",
                lambda: self.attribute("quantity", lambda: f"quantity({self.word(QUANTITIES)})"),
            )
        method = self.rng.choice(("add", "sub"))
        return self.one(
            lambda: self.quantity(0),
            lambda: f"{self.quantity(depth - 1)}.{method}({self.quantity(0)})",
            lambda: f"{self.quantity(depth - 1)}.{method}({self.integer(0)})",
        )

    def quantity_test(self, depth: int) -> str:
        return self.one(
            lambda: f"{self.quantity(depth)}.compareTo({self.quantity(depth)}) >= 0",
            lambda: f"{self.quantity(depth)}.isGreaterThan({self.quantity(depth)})",
            lambda: f"{self.quantity(depth)}.isLessThan({self.quantity(depth)})",
            lambda: f"{self.quantity(depth)}.isInteger()",
            lambda: f"sign({self.quantity(depth)}) > 0",
            lambda: f"isQuantity({self.string(0)})",
        )

    def semver(self, depth: int) -> str:
        return self.one(
            lambda: f"semver({self.word(VERSIONS)})",
            lambda: f"semver({self.word(('v1.2', '1', '01.2.3', 'v2.0.0-rc.1'))}, true)",
            lambda: self.attribute("version", lambda: f"semver({self.word(VERSIONS)})"),
            lambda: self.attribute("version", lambda: f"semver({self.word(VERSIONS)})"),
        )

    def semver_test(self, depth: int) -> str:
        return self.one(
            lambda: f"{self.semver(depth)}.isGreaterThan({self.semver(depth)})",
            lambda: f"{self.semver(depth)}.isLessThan({self.semver(depth)})",
            lambda: f"{self.semver(depth)}.compareTo({self.semver(depth)}) == 0",
            lambda: f"isSemver({self.string(0)})",
            lambda: f"isSemver({self.string(0)}, true)",
        )

    def rare(self, depth: int) -> str:
        """What few selectors use."""
        return self.one(
            lambda: f"ip({self.word(ADDRESSES)}).family() == 4",
            lambda: f"ip({self.word(ADDRESSES)}).{self.rng.choice(IP_TESTS)}()",
            lambda: f"isIP({self.string(depth)})",
            lambda: f"cidr({self.word(NETWORKS)}).containsIP({self.word(ADDRESSES)})",
            lambda: f"cidr({self.word(NETWORKS)}).containsCIDR({self.word(NETWORKS)})",
            lambda: f"cidr({self.word(NETWORKS)}).masked().prefixLength() > {self.integer(0)}",
            lambda: f"url({self.word(URLS)}).{self.rng.choice(URL_PARTS)}() == {self.string(0)}",
            lambda: f"isURL({self.string(0)})",
            lambda: f"duration({self.word(DURATIONS)}) > duration({self.word(DURATIONS)})",
            lambda: (
                f"timestamp({self.word(INSTANTS)}).{self.rng.choice(CLOCK)}() > {self.integer(0)}"
            ),
            lambda: (
                f"timestamp({self.word(INSTANTS)}) + duration({self.word(DURATIONS)})"
                f" > timestamp({self.word(INSTANTS)})"
            ),
            lambda: f"type({self.any_kind(depth)}) == {self.rng.choice(('int', 'string', 'bool'))}",
            lambda: f"dyn({self.any_kind(depth)}) == {self.any_kind(depth)}",
            lambda: f"!format.dns1123Label().validate({self.string(depth)}).hasValue()",
            lambda: (
                f"optional.of({self.integer(depth)}).optMap(o, o + 1).orValue(0)"
                f" > {self.integer(0)}"
            ),
            lambda: f"optional.ofNonZeroValue({self.string(depth)}).hasValue()",
            lambda: f"{self.strings(depth)}.first().orValue('none') == {self.string(0)}",
            lambda: (
                f"{{{self.string(0)}: {self.integer(depth)}}}.transformMap(k, v, v + 1).size() == 1"
            ),
            lambda: (
                f"[{self.integers(depth)}, {self.integers(0)}].flatten().size() > {self.integer(0)}"
            ),
            lambda: f"{self.integers(depth)}.isSorted()",
            lambda: f"bytes({self.string(depth)}).size() > {self.integer(0)}",
            lambda: (
                "device.attributes.exists(d, device.attributes[d].exists("
                f"n, n == {self.string(0)}))"
            ),
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
