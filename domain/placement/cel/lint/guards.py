"""Values that are read although a device may not have them.

Reading a missing key is an error, and one such device ends the whole attempt to
place a pod. A read is guarded where the expression is decided without it when the
value is missing: by `has()`, `in`, `hasValue()` in the same conjunction, in the
condition of a ternary, or negated in the same disjunction. Order does not matter,
since `&&` and `||` absorb errors from either side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from domain.placement.cel.device import Path
from domain.placement.cel.lint.findings import WARNING, Finding, Subject, shown
from domain.placement.cel.lint.names import compared_driver
from domain.placement.cel.syntax import Call, Comprehension, Expr, Literal, Select, children

type Facts = frozenset[Path]  # paths known to be there; Path("driver", d) for a known driver

NOTHING: Facts = frozenset()


def unguarded(subject: Subject) -> list[Finding]:
    reads: dict[Path, tuple[Expr, Facts]] = {}
    for path, expr, facts in _Guards(subject).reads(subject.root, NOTHING):
        reads.setdefault(path, (expr, facts))
    return [
        finding
        for path, (expr, facts) in reads.items()
        if (finding := _finding(subject, path, expr, facts))
    ]


def _finding(subject: Subject, path: Path, expr: Expr, facts: Facts) -> Finding | None:
    drivers = frozenset(fact.domain for fact in facts if fact.part == "driver")
    published = subject.published
    if published is None:
        message = f"{shown(path)} is read without asking whether the device has it"
    elif path not in published.kinds:
        return None  # that nobody publishes it is said elsewhere
    else:
        lacking = published.lacking(path, drivers)
        if not lacking:
            return None
        message = (
            f"{lacking:,} of {published.devices:,} devices do not have {shown(path)}; "
            "one that the scheduler tries ends the attempt with an error"
        )
    domain = f'device.{path.part}["{path.domain}"]'
    advice = f"Write {domain}.?{path.name}.orValue(…), or put has({shown(path)}) && before it."
    return Finding(WARNING, "guard", message, subject.at(expr), advice)


@dataclass(frozen=True, slots=True)
class _Guards:
    subject: Subject

    def reads(self, expr: Expr, facts: Facts) -> Iterator[tuple[Path, Expr, Facts]]:
        """Reads that may fail, with what is known where they stand."""
        match expr:
            case Call(function="_&&_"):
                yield from self._sides(expr, facts, truth=True)
            case Call(function="_||_"):
                yield from self._sides(expr, facts, truth=False)
            case Call(function="_?_:_", args=[condition, yes, no]):
                yield from self.reads(condition, facts)
                yield from self.reads(yes, facts | self.known(condition, truth=True))
                yield from self.reads(no, facts | self.known(condition, truth=False))
            case Call(function="_?._" | "_[?_]"):
                yield from self.reads(expr.args[0], facts) if self._deep(expr.args[0]) else ()
            case Select(test_only=True):
                yield from self.reads(expr.operand, facts) if self._deep(expr.operand) else ()
            case _:
                yield from self._plain(expr, facts)

    def _deep(self, expr: Expr) -> bool:
        """Whether the operand is itself more than a domain, so that reading it may fail."""
        return len(self.subject.places.get(expr.id, ("", "", ""))) > 2

    def _plain(self, expr: Expr, facts: Facts) -> Iterator[tuple[Path, Expr, Facts]]:
        path = self.subject.value_path(expr)
        if path is not None:
            if path not in facts and not _optional(expr):
                yield path, expr, facts
            return
        for child in children(expr):
            bound = isinstance(expr, Comprehension) and expr.is_bind and child is expr.accu_init
            if not (bound and self.subject.value_path(child)):  # read where its name stands
                yield from self.reads(child, facts)

    def _sides(
        self, expr: Call, facts: Facts, *, truth: bool
    ) -> Iterator[tuple[Path, Expr, Facts]]:
        left, right = expr.args
        yield from self.reads(left, facts | self.known(right, truth=truth))
        yield from self.reads(right, facts | self.known(left, truth=truth))

    def known(self, expr: Expr, *, truth: bool) -> Facts:
        """What is certain of the device where the expression is true, or where it is false."""
        match expr:
            case Call(function="!_", args=[inner]):
                return self.known(inner, truth=not truth)
            case Call(function="_&&_", args=[left, right]) if truth:
                return self.known(left, truth=True) | self.known(right, truth=True)
            case Call(function="_||_", args=[left, right]) if not truth:
                return self.known(left, truth=False) | self.known(right, truth=False)
            case Call(function="_==_") if truth:
                return self._compared(expr)
            case Call(function="_!=_") if not truth:
                return self._compared(expr)
            case Call(function="@in", args=[Literal(value=str() as name), container]) if truth:
                place = self.subject.places.get(container.id, ())
                return frozenset((Path(*place, name),)) if len(place) == 2 else NOTHING
            case Call(function="hasValue", target=Expr() as target) if truth:
                return self._present(target)
            case Select(test_only=True) if truth:
                return self._present(expr)
        return NOTHING

    def _present(self, expr: Expr) -> Facts:
        path = self.subject.value_path(expr)
        return frozenset((path,)) if path else NOTHING

    def _compared(self, expr: Call) -> Facts:
        """A known driver; and a value that was compared must have been there."""
        driver, _ = compared_driver(self.subject, expr)
        return frozenset((Path("driver", driver),)) if driver else NOTHING


def _optional(expr: Expr) -> bool:
    """Whether the read goes through `.?` or `[?]`, which makes all that follows optional."""
    match expr:
        case Call(function="_?._" | "_[?_]"):
            return True
        case Select():
            return _optional(expr.operand)
        case Call(function="_[_]"):
            return _optional(expr.args[0])
    return False
