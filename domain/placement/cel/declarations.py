"""What names mean in a selector: functions, fields of `device`, and types.

The functions are those of Kubernetes 1.37, one overload a line in functions.txt:
name, call style, overload id, argument types and result. A test compares the
table with the declarations that Kubernetes itself makes.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from domain.placement.cel import types
from domain.placement.cel.environment import Environment
from domain.placement.cel.syntax import UInt
from domain.placement.cel.types import Type

TOKENS = re.compile(r"[\w.]+|[(),]")
NAMED = {
    **{t.name: t for t in (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING)},
    "bytes": types.BYTES,
    "dyn": types.DYN,
    "any": types.ANY,
    "null": types.NULL,
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
    "net.IP": types.IP,
    "net.CIDR": types.CIDR,
}
LITERAL_TYPES: dict[type, Type] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
}
# Names that stand for a type in an expression, as in `type(x) == int`.
TYPE_NAMES = {
    **{t.name: t for t in (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING)},
    "bytes": types.BYTES,
    "null_type": types.NULL,
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
    "type": types.Type("type", "type"),
    **{t.name: t for t in (types.DURATION, types.TIMESTAMP, types.IP, types.CIDR, types.DEVICE)},
    "optional_type": types.optional_of(types.parameter("V")),
}


class Overload(NamedTuple):
    id: str
    member: bool
    args: tuple[Type, ...]
    result: Type
    params: tuple[Type, ...]


def parse_type(text: str) -> Type:
    tokens = TOKENS.findall(text)
    found, rest = _parse_type(tokens)
    if rest:
        raise ValueError(f"not a type: {text!r}")
    return found


def _parse_type(tokens: list[str]) -> tuple[Type, list[str]]:
    name, rest = tokens[0], tokens[1:]
    params: list[Type] = []
    while rest and rest[0] == ("," if params else "("):
        param, rest = _parse_type(rest[1:])
        params.append(param)
    if params:
        kind = {"list": "list", "map": "map", "type": "type"}.get(name, "opaque")
        return Type(kind, name, tuple(params)), rest[1:]
    if len(name) == 1:
        return types.parameter(name), rest
    return NAMED.get(name) or types.struct(name), rest


def _free(type_: Type) -> set[Type]:
    if type_.kind == "param":
        return {type_}
    return set().union(*(_free(param) for param in type_.params))


def _closing(signature: str) -> int:
    """Where the parenthesis that opens the text is closed."""
    depth = 0
    for at, char in enumerate(signature):
        depth += (char == "(") - (char == ")")
        if not depth:
            return at
    raise ValueError(f"not a signature: {signature!r}")


def _overload(line: str) -> tuple[str, Overload]:
    name, style, overload_id, signature = line.split(" ", 3)
    end = _closing(signature)
    args = parse_type("f" + signature[: end + 1]).params if end > 1 else ()
    result = parse_type(signature[end + 1 :])
    params = sorted(set().union(*(_free(type_) for type_ in (*args, result))))
    return name, Overload(overload_id, style == "member", args, result, tuple(params))


@cache
def _all_functions() -> dict[str, tuple[Overload, ...]]:
    functions: dict[str, tuple[Overload, ...]] = {}
    for line in (Path(__file__).parent / "functions.txt").read_text().splitlines():
        name, overload = _overload(line)
        functions[name] = (*functions.get(name, ()), overload)
    return functions


@cache
def functions(environment: Environment) -> dict[str, tuple[Overload, ...]]:
    """The overloads of each function that the environment knows."""
    known = dict(_all_functions())
    if not environment.lists:
        del known["includes"]
    if environment.admission:
        # There the list library comes before that of strings. Which overload comes first decides
        # for values of open type.
        for name in ("indexOf", "lastIndexOf"):
            known[name] = (*known[name][2:], *known[name][:2])
    return known


@cache
def attribute_type(environment: Environment) -> Type:
    return types.DYN if environment.lists else types.ANY


@cache
def device_fields(environment: Environment) -> dict[str, Type]:
    by_name = types.map_of(types.STRING, attribute_type(environment))
    fields = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, by_name),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    if environment.multiple_allocations:
        fields["allowMultipleAllocations"] = types.BOOL
    return fields
