"""CEL's static types and when one may stand for another (the rules of CEL's type checker)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple


class Type(NamedTuple):
    """A type; `name` tells structs, abstract types and type parameters apart."""

    kind: str
    name: str
    params: tuple[Type, ...] = ()


def _primitive(name: str) -> Type:
    return Type(name, name)


BOOL, INT, UINT, DOUBLE = (_primitive(name) for name in ("bool", "int", "uint", "double"))
STRING, BYTES = _primitive("string"), _primitive("bytes")
DYN, ANY, ERROR = Type("dyn", "dyn"), Type("any", "google.protobuf.Any"), Type("error", "!error!")
NULL = Type("null", "null_type")
DURATION = Type("duration", "google.protobuf.Duration")
TIMESTAMP = Type("timestamp", "google.protobuf.Timestamp")
PRIMITIVES = frozenset(("bool", "bytes", "double", "int", "string", "uint"))
EXACT = PRIMITIVES | {"any", "duration", "timestamp", "struct"}
RIGID = EXACT - {"any"} | {"list", "map", "opaque", "type"}
NULLABLE = frozenset(("opaque", "struct", "any", "duration", "timestamp"))


def list_of(item: Type) -> Type:
    return Type("list", "list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", "type", (value,))


def struct(name: str) -> Type:
    return Type("struct", name)


def parameter(name: str) -> Type:
    return Type("param", name)


QUANTITY, SEMVER, URL = (struct("kubernetes." + name) for name in ("Quantity", "Semver", "URL"))
FORMAT, DEVICE = struct("kubernetes.NamedFormat"), struct("kubernetes.DRADevice")
IP, CIDR = Type("opaque", "net.IP"), Type("opaque", "net.CIDR")

SHOWN = {"any": "any", "duration": "duration", "null": "null", "timestamp": "timestamp"}


def shown(type_: Type) -> str:
    """The type as CEL's own messages write it."""
    if type_.kind in SHOWN:
        return SHOWN[type_.kind]
    if not type_.params:
        return type_.name
    return f"{type_.name}({', '.join(shown(param) for param in type_.params)})"


def is_dynamic(type_: Type) -> bool:
    return type_.kind in ("dyn", "any")


def unwrap_optional(type_: Type) -> tuple[Type, bool]:
    if type_.name == "optional_type" and type_.kind == "opaque":
        return type_.params[0], True
    return type_, False


def has_parameters(type_: Type) -> bool:
    return _any_parameters(type_) if type_.params else type_.kind == "param"


@cache
def _any_parameters(type_: Type) -> bool:
    return any(map(has_parameters, type_.params))


def never_fits(value: Type, declared: Type) -> bool:
    """Whether it is plain at first sight that the one cannot stand for the other."""
    if value.kind != declared.kind:
        return value.kind in RIGID and declared.kind in RIGID
    return value.kind in ("struct", "opaque") and value.name != declared.name


class Substitutions(dict[Type, Type]):
    """What the type parameters met so far stand for."""

    def assignable(self, target: Type, value: Type) -> Substitutions | None:
        """The substitutions after assigning, or None where the types do not fit."""
        return self.assignable_all((target,), (value,))

    def assignable_all(
        self, targets: Sequence[Type], values: Sequence[Type]
    ) -> Substitutions | None:
        if not any(map(has_parameters, (*targets, *values))):
            return self if self._all_fit(targets, values) else None
        trial = Substitutions(self)
        return trial if trial._all_fit(targets, values) else None

    def apply(self, type_: Type, *, free_as_dyn: bool = False) -> Type:
        """The type with every known parameter replaced."""
        if not has_parameters(type_):
            return type_
        found = self.get(type_)
        if found is not None:
            return self.apply(found, free_as_dyn=free_as_dyn)
        if type_.kind == "param":
            return DYN if free_as_dyn else type_
        if not type_.params:
            return type_
        params = tuple(self.apply(param, free_as_dyn=free_as_dyn) for param in type_.params)
        return Type(type_.kind, type_.name, params)

    def _all_fit(self, targets: Sequence[Type], values: Sequence[Type]) -> bool:
        return len(targets) == len(values) and all(
            self._fits(target, value) for target, value in zip(targets, values, strict=True)
        )

    def _fits(self, a: Type, b: Type) -> bool:
        if b.kind == "param":
            valid, known = self._substitutes(a, b)
            if valid or known:
                return valid
        if a.kind == "param":
            return self._substitutes(b, a)[0]
        if a.kind in ("dyn", "any", "error") or b.kind in ("dyn", "any", "error"):
            return True
        if a.kind == "null" or b.kind == "null":
            other = b if a.kind == "null" else a
            return other.kind in NULLABLE or other.kind == "null"
        if a.kind in EXACT:
            return a == b
        if a.kind == "type":
            return b.kind == "type"
        return (
            a.kind in ("opaque", "list", "map")
            and a.kind == b.kind
            and a.name == b.name
            and self._all_fit(a.params, b.params)
        )

    def _substitutes(self, type_: Type, param: Type) -> tuple[bool, bool]:
        """Whether `param` may stand for `type_`, and whether it already stands for something."""
        if type_ == param:
            return True, True
        found = self.get(param)
        if found is not None:
            if type_ == found:
                return True, True
            if not self._fits(type_, found):
                return False, True
            general = type_ if less_specific(type_, found) else found
            if self._absent(param, general):
                self[param] = general
            return True, True
        if self._absent(param, type_):
            self[param] = type_
            return True, False
        return False, False

    def _absent(self, type_: Type, within: Type) -> bool:
        """The occurs check."""
        if type_ == within:
            return False
        if within.kind == "param":
            found = self.get(within)
            return found is None or self._absent(type_, found)
        return all(self._absent(type_, param) for param in within.params)


def less_specific(a: Type, b: Type) -> bool:
    """Whether `a` is equal to or less specific than `b`, which is known to fit it."""
    if is_dynamic(a) or a.kind == "param":
        return True
    if is_dynamic(b) or b.kind == "param" or a.kind != b.kind:
        return False
    if a.kind == "type":
        return True
    if a.kind in ("opaque", "list", "map"):
        return (
            a.name == b.name
            and len(a.params) == len(b.params)
            and all(less_specific(x, y) for x, y in zip(a.params, b.params, strict=True))
        )
    return a == b
