"""Expressions with functions that few selectors use: networks, times, optionals, bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracle.cel_words import (
    ADDRESSES,
    CLOCK,
    DURATIONS,
    INSTANTS,
    IP_TESTS,
    NETWORKS,
    URL_PARTS,
    URLS,
)

if TYPE_CHECKING:
    from tests.oracle.cel_grammar import Grammar


def rare(g: Grammar, depth: int) -> str:
    """What few selectors use."""
    return g.one(
        lambda: f"ip({g.word(ADDRESSES)}).family() == 4",
        lambda: f"ip({g.word(ADDRESSES)}).{g.rng.choice(IP_TESTS)}()",
        lambda: f"isIP({g.string(depth)})",
        lambda: f"cidr({g.word(NETWORKS)}).containsIP({g.word(ADDRESSES)})",
        lambda: f"cidr({g.word(NETWORKS)}).containsCIDR({g.word(NETWORKS)})",
        lambda: f"cidr({g.word(NETWORKS)}).masked().prefixLength() > {g.integer(0)}",
        lambda: f"url({g.word(URLS)}).{g.rng.choice(URL_PARTS)}() == {g.string(0)}",
        lambda: f"isURL({g.string(0)})",
        lambda: f"duration({g.word(DURATIONS)}) > duration({g.word(DURATIONS)})",
        lambda: f"timestamp({g.word(INSTANTS)}).{g.rng.choice(CLOCK)}() > {g.integer(0)}",
        lambda: (
            f"timestamp({g.word(INSTANTS)}) + duration({g.word(DURATIONS)})"
            f" > timestamp({g.word(INSTANTS)})"
        ),
        lambda: f"type({g.any_kind(depth)}) == {g.rng.choice(('int', 'string', 'bool'))}",
        lambda: f"dyn({g.any_kind(depth)}) == {g.any_kind(depth)}",
        lambda: f"!format.dns1123Label().validate({g.string(depth)}).hasValue()",
        lambda: f"optional.of({g.integer(depth)}).optMap(o, o + 1).orValue(0) > {g.integer(0)}",
        lambda: f"optional.ofNonZeroValue({g.string(depth)}).hasValue()",
        lambda: f"{g.strings(depth)}.first().orValue('none') == {g.string(0)}",
        lambda: f"{{{g.string(0)}: {g.integer(depth)}}}.transformMap(k, v, v + 1).size() == 1",
        lambda: f"[{g.integers(depth)}, {g.integers(0)}].flatten().size() > {g.integer(0)}",
        lambda: f"{g.integers(depth)}.isSorted()",
        lambda: f"uint({g.integer(0)}) + {g.rng.randrange(3)}u == {g.integer(0)}",
        lambda: f"b'a' + bytes({g.string(0)}) < b'b'",
        lambda: f"{{1: {g.string(0)}, {g.integer(0)}: 'x'}}[{g.integer(0)}] == 'x'",
        lambda: f"[{g.string(0)}, {g.string(0)}][?{g.integer(0)}].hasValue()",
        lambda: f"{{{g.string(0)}: {g.boolean(0)}}}.?x.orValue({g.boolean(0)})",
        lambda: f"[?{g.held(g.attributes[0])}.?{g.attributes[0].name}].size() == 1",
        lambda: f"{g.strings(depth)} == {g.strings(depth)}",
        lambda: f".device.driver == {g.string(0)}",
        lambda: f"device.attributes.map(d, d).exists(d, d == {g.string(0)})",
        lambda: f"{g.domains(depth)}.all(k, k != {g.string(0)})",
        lambda: f"has({{{g.string(0)}: 1}}.x) == {g.boolean(0)}",
        lambda: f"double({g.string(0)}) > {g.double(0)}" if g.odd() else "1.5 > 1.0",
        lambda: f"{g.integer(depth)} == {g.double(0)}" if g.odd() else "2 != 3",
        lambda: f"bytes({g.string(depth)}).size() > {g.integer(0)}",
        lambda: f"device.attributes.exists(d, device.attributes[d].exists(n, n == {g.string(0)}))",
    )
