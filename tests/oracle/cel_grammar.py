"""Random CEL device selectors, derived from the language's grammar and its libraries.

`random_selector` gives what a user could write for the given attributes;
`random_expression` wanders wider: wrong types, unknown names, broken syntax.
Both are seeded by the generator that they are handed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.oracle.cel_rare import rare
from tests.oracle.cel_words import (
    DEFAULT,
    PATTERNS,
    QUANTITIES,
    SCALARS,
    VERSIONS,
    WORDS,
    Choices,
    Known,
    literal,
    random_device,
)

__all__ = ["DEFAULT", "Grammar", "Known", "random_device", "random_expression", "random_selector"]


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


class Grammar(Choices):
    """One method per type; `depth` bounds how deep an expression nests."""

    def any_kind(self, depth: int) -> str:
        kinds = (self.integer, self.string, self.boolean, self.semver, self.quantity, self.double)
        return self.rng.choice(kinds)(depth)

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
        if self.maybe(0.2) and source != self.domains:
            walked = f"{walked}.{self.listing()}"
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
        return rare(self, depth)
