"""Values used as if they were of another kind: the traps of versions, quantities and quoting."""

from __future__ import annotations

from collections.abc import Iterator

from domain.placement.cel.device import Path
from domain.placement.cel.lint.findings import ERROR, NOTE, WARNING, Finding, Subject, shown
from domain.placement.cel.quantity import BINARY, InvalidQuantity, parse_quantity
from domain.placement.cel.semver import InvalidSemver, normalized_semver, parse_semver
from domain.placement.cel.syntax import Call, Expr, ListLiteral, Literal, UInt, walk

COMPARISONS = frozenset(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"))
ORDERED_METHODS = frozenset(("isGreaterThan", "isLessThan", "compareTo"))
TEXT_METHODS = frozenset(
    ("startsWith", "endsWith", "contains", "matches", "find", "findAll", "lowerAscii", "upperAscii")
) | frozenset(("split", "replace", "substring", "trim", "charAt", "indexOf", "lastIndexOf"))
NUMBERS = {int: "int", UInt: "int", float: "int", bool: "bool", str: "string"}


def mismatched(subject: Subject) -> list[Finding]:
    """Comparisons and methods that do not suit the kind that drivers publish."""
    if subject.published is None:
        return []
    found = []
    for expr in walk(subject.root):
        if isinstance(expr, Call):
            found += [*_comparison(subject, expr), *_membership(subject, expr)]
            found += _method(subject, expr)
    return found


def _published(subject: Subject, expr: Expr) -> tuple[Path, str] | None:
    path = subject.value_path(expr)
    kind = subject.published.most_common_kind(path) if path and subject.published else None
    return (path, kind) if path and kind else None


def _comparison(subject: Subject, expr: Call) -> Iterator[Finding]:
    if expr.function not in COMPARISONS:
        return
    for one, other in (expr.args, reversed(expr.args)):
        known = _published(subject, one)
        if not known or not isinstance(other, Literal):
            continue
        path, kind = known
        meant = NUMBERS.get(type(other.value), "")
        if kind.rstrip("s") != meant or kind.endswith("s"):
            yield _wrong(subject, expr, path, kind, _literal_advice(kind, other))


def _literal_advice(kind: str, literal: Literal) -> str:
    value = literal.value
    if isinstance(value, bytes):
        return ""
    match kind:
        case "version":
            return f'Compare with semver("{value}"), or use isGreaterThan() and the like.'
        case "quantity":
            return f'Compare with quantity("{value}") by compareTo() or isGreaterThan().'
        case "int" if isinstance(value, str) and value.lstrip("-").isdigit():
            return f"Write {value} without quotes."
        case "bool" if value in ("true", "false"):
            return f"Write {value} without quotes."
        case "string":
            return f'Write "{value}" in quotes.'
        case "ints" | "bools" | "strings" | "versions":
            return "Ask for one of its values with includes() or exists()."
    return ""


def _membership(subject: Subject, expr: Call) -> Iterator[Finding]:
    """`x in [constants]`; a version there breaks the evaluation off."""
    if expr.function != "@in" or not isinstance(expr.args[1], ListLiteral):
        return
    known = _published(subject, expr.args[0])
    literals = [item for item in expr.args[1].items if isinstance(item, Literal)]
    if not known or not literals:
        return
    path, kind = known
    if kind == "version":
        advice = "Compare with == semver(…) for each version, joined by ||."
        yield _wrong(subject, expr, path, kind, advice, severity=ERROR)
    elif NUMBERS.get(type(literals[0].value), "") != kind:
        yield _wrong(subject, expr, path, kind, _literal_advice(kind, literals[0]))


def _method(subject: Subject, expr: Call) -> Iterator[Finding]:
    known = _published(subject, expr.target) if expr.target is not None else None
    if not known:
        return
    path, kind = known
    if expr.function in ORDERED_METHODS and kind not in ("version", "quantity"):
        advice = f"Compare {kind} values with < and >."
        if kind == "string":
            advice = f"Wrap it: semver({shown(path)}, true)." if _is_semver(expr) else advice
        yield _wrong(subject, expr, path, kind, advice)
    if expr.function in TEXT_METHODS and kind not in ("string", "strings"):
        advice = "Ask its numbers: major(), minor(), patch()." if kind == "version" else ""
        yield _wrong(subject, expr, path, kind, advice)


def _is_semver(expr: Call) -> bool:
    return any(isinstance(arg, Call) and arg.function == "semver" for arg in expr.args)


def _wrong(
    subject: Subject, expr: Expr, path: Path, kind: str, advice: str, severity: str = WARNING
) -> Finding:
    message = f"{shown(path)} is published as {kind}, and is used here as something else"
    return Finding(severity, "kind", message, subject.at(expr), advice)


def literals(subject: Subject) -> list[Finding]:
    """Literals of quantities and versions that are none, or hardly mean what they say."""
    found: list[Finding] = []
    for expr in walk(subject.root):
        if not isinstance(expr, Call) or not expr.args or not isinstance(expr.args[0], Literal):
            continue
        text = expr.args[0].value
        if not isinstance(text, str):
            continue
        if expr.function == "quantity":
            found += _quantity(subject, expr, text)
        elif expr.function == "semver" and len(expr.args) == 1:
            found += _semver(subject, expr, text)
    return found


def _quantity(subject: Subject, expr: Call, text: str) -> Iterator[Finding]:
    try:
        value = parse_quantity(text)
    except InvalidQuantity:
        trimmed = text.removesuffix("B").removesuffix("b")
        advice = f'Write quantity("{trimmed}").' if trimmed != text else "As 40Gi, 500m or 2."
        message = f'"{text}" is no quantity, so the selector fails on every device'
        yield Finding(ERROR, "quantity", message, subject.at(expr), advice)
        return
    suffix = text.lstrip("+-.0123456789")
    if suffix in ("k", "M", "G", "T", "P") and _binary_fleet(subject):
        power = BINARY[suffix.upper() + "i"]
        binary = value.nano / 10**9 / 2**power
        message = f"{text} is {binary:.2f}{suffix.upper()}i; drivers publish powers of two"
        advice = f'Perhaps quantity("{text.removesuffix(suffix)}{suffix.upper()}i") is meant.'
        yield Finding(NOTE, "quantity", message, subject.at(expr), advice)


def _binary_fleet(subject: Subject) -> bool:
    published = subject.published
    return published is not None and any(text.endswith("i") for text in published.texts.values())


def _semver(subject: Subject, expr: Call, text: str) -> Iterator[Finding]:
    try:
        parse_semver(text)
    except InvalidSemver as error:
        message = f'"{text}" is no semantic version ({error}), so the selector fails'
        yield Finding(ERROR, "version", message, subject.at(expr), _semver_advice(text))


def _semver_advice(text: str) -> str:
    try:
        normalized_semver(text)
    except InvalidSemver:
        return "As 1.2.3 or 1.2.3-rc.1."
    return f'Write semver("{text}", true), which fills up short forms.'


def broken_comparisons(subject: Subject) -> list[Finding]:
    """`x == y.add(z)`: Kubernetes fails on a computed quantity to the right of ==."""
    found = []
    for expr in walk(subject.root):
        if not isinstance(expr, Call) or expr.function not in ("_==_", "_!=_"):
            continue
        right = expr.args[1]
        if isinstance(right, Call) and right.function in ("add", "sub"):
            found.append(
                Finding(
                    ERROR,
                    "quantity",
                    "Kubernetes cannot compare with a computed quantity to the right of ==",
                    subject.at(expr),
                    "Use compareTo(…) == 0.",
                )
            )
    return found
