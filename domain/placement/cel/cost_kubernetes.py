"""What calls of Kubernetes' own functions cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from domain.placement.cel import types
from domain.placement.cel.cost_calls import ONE, REGEX, TRAVERSAL, Call, Node
from domain.placement.cel.cost_sizes import MOST, Range, add, fixed, path_size, scaled, times, union

FORMAT_REGEX = 128


def kubernetes_cost(
    function: str, overload: str, target: Node | None, args: Sequence[Node]
) -> Call | None:
    if function in _NOMINAL or overload == "cidr_ip":
        return Call(ONE)
    if function in _PARSED:
        return Call(scaled(_extent(args[0]), TRAVERSAL)) if args else None
    rule = _KUBERNETES.get(function)
    return rule(overload, target, args) if rule else None


def _extent(node: Node) -> Range:
    return node.extent


def _items(node: Node) -> Node | None:
    """The elements of a list, where its type tells them."""
    if not node.type.params:
        return None
    path = (*node.path, "@items") if node.path else ()
    return Node(path, node.type.params[0], path_size(path))


def _walked(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    """Functions that look at each element once: isSorted, sum, min, max, indexOf, includes."""
    if target is None:
        return None
    items = _items(target)
    if items is not None:
        each = ONE
        if items.type.kind in ("string", "bytes"):
            each = add(each, scaled(_extent(items), TRAVERSAL))
        return Call(times(_extent(target), each))
    if overload == "list_includes_dyn_dyn":
        return Call(_extent(target))
    return Call(scaled(_extent(target), TRAVERSAL))


def _same_size(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    source = target or (args[0] if len(args) == 1 else None)
    if source is None:
        return None
    return Call(scaled(_extent(source), TRAVERSAL), _extent(source))


def _member_text(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    return _same_size(overload, target, args) if target else None


def _replace(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = _extent(target), _extent(args[0]), _extent(args[1])
    most, kept_most = _most_replaced(size, old, new)
    least, kept_least = _fewest_replaced(size, old, new)
    result = add(times((least, most), new), (kept_least, kept_most))
    return Call(scaled(size, 2 * TRAVERSAL), result)


def _most_replaced(size: Range, old: Range, new: Range) -> tuple[int, int]:
    if old[0] == 0:
        return min(size[1] + 1, MOST), size[1]
    if new[1] <= old[0]:
        return 0, size[1]
    return min(math.ceil(float(size[1]) / float(old[0])), MOST), 0


def _fewest_replaced(size: Range, old: Range, new: Range) -> tuple[int, int]:
    if old[1] == 0:
        return min(size[0] + 1, MOST), size[0]
    if old[1] <= new[0]:
        return 0, size[0]
    return math.ceil(float(size[0]) / float(old[1])), 0


def _split(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    if target is None:
        return None
    size = _extent(target)
    most = size[1]
    if len(args) > 1 and args[1].literal.__class__ is int:
        most = args[1].literal % (MOST + 1)
    return Call(scaled(size, 2 * TRAVERSAL), (0, most))


def _join(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    if target is None:
        return None
    count, size = _extent(target), (0, 0)
    items = _items(target)
    if items is not None:
        size = times(count, _extent(items))
    if args:
        gaps = (max(count[0] - 1, 0), max(count[1] - 1, 0))
        size = add(size, times(_extent(args[0]), gaps))
    return Call(scaled(size, TRAVERSAL), size)


def _find(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    if target is None or not args:
        return None
    size = _extent(target)
    cost = times(scaled(add(size, ONE), TRAVERSAL), scaled(_extent(args[0]), REGEX))
    return Call(cost, (0, size[1]))


def _canonical(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    return Call(scaled(_extent(args[0]), 2 * TRAVERSAL)) if args else None


ADDRESS: Range = (4, 16)


def _contains_ip(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    if not args:
        return None
    cost = scaled(add(ADDRESS, ADDRESS), TRAVERSAL)
    if overload == "cidr_contains_ip_string":
        cost = add(cost, scaled(_extent(args[0]), TRAVERSAL))
    return Call(cost)


def _contains_cidr(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    if not args:
        return None
    cost = scaled(add(ADDRESS, ADDRESS), TRAVERSAL)
    cost = add(add(cost, scaled(ADDRESS, TRAVERSAL)), ONE)
    if overload == "cidr_contains_cidr_string":
        cost = add(cost, scaled(_extent(args[0]), TRAVERSAL))
    return Call(cost)


def _validate(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    if not args:
        return None
    return Call(scaled(scaled(_extent(args[0]), TRAVERSAL), FORMAT_REGEX * REGEX))


def _selector(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    if len(args) != 1:
        return None
    size = _extent(args[0])
    return Call(add(add(fixed(10), scaled(size, TRAVERSAL)), scaled(scaled(size, 0.5), 50)))


def _check(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    return Call(fixed(350_000))


UNIT_TYPES = frozenset((types.IP, types.CIDR, types.QUANTITY, types.SEMVER))


def _equals(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    """Kubernetes' own types compare at a fixed price."""
    if len(args) != 2 or args[0].type != args[1].type:
        return None
    found = args[0].type
    if found in UNIT_TYPES or found.name.startswith("kubernetes.authorization."):
        return Call(ONE)
    if found == types.FORMAT:
        return Call(scaled((1, 64), TRAVERSAL))
    if found == types.URL:
        size = args[1].size
        return Call(scaled((1, 1 if size is None else union(size, size)[1]), TRAVERSAL))
    return None


_NOMINAL = frozenset(
    [
        "serviceAccount",
        "path",
        "group",
        "resource",
        "subresource",
        "namespace",
        "name",
        "allowed",
        "reason",
        "error",
        "errored",
        "masked",
        "prefixLength",
        "family",
        "isUnspecified",
        "isLoopback",
        "isLinkLocalMulticast",
        "isLinkLocalUnicast",
        "isGlobalUnicast",
        "format.named",
        "sign",
        "asInteger",
        "isInteger",
        "asApproximateFloat",
        "isGreaterThan",
        "isLessThan",
        "compareTo",
        "add",
        "sub",
        "major",
        "minor",
        "patch",
        "getScheme",
        "getHostname",
        "getHost",
        "getPort",
        "getEscapedPath",
        "getQuery",
    ]
)
_PARSED = frozenset(
    ["cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"]
)
_KUBERNETES: dict[str, Callable[[str, Node | None, Sequence[Node]], Call | None]] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _walked
    ),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _member_text),
    "url": _same_size,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    "ip.isCanonical": _canonical,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    "check": _check,
    "_==_": _equals,
}
