"""Domains, names and drivers that nobody publishes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from domain.placement.cel.device import Path
from domain.placement.cel.lint.findings import WARNING, Finding, Subject, shown
from domain.placement.cel.lint.published import Published
from domain.placement.cel.syntax import Call, Expr, Literal, walk

PARTS = {"attributes": "capacity", "capacity": "attributes"}


def _near(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant."""
    folded = {other.lower(): other for other in sorted(known)}
    close = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def _read(subject: Subject, length: int) -> Iterator[tuple[Expr, tuple[str, ...]]]:
    """Each place of that many steps once, where it is first read."""
    seen: set[tuple[str, ...]] = set()
    for expr in walk(subject.root):
        place = subject.places.get(expr.id, ())
        if len(place) == length and place[0] in PARTS and place not in seen:
            seen.add(place)
            yield expr, place


def unknown_domains(subject: Subject) -> list[Finding]:
    published = subject.published
    if published is None or not published.devices:
        return []
    found = []
    for expr, (part, domain) in _read(subject, 2):
        known = published.domains(part)
        if domain in known:
            continue
        near = _near(domain, known | set(published.drivers))
        if domain in published.drivers:
            message = f'devices of driver "{domain}" publish no {part}'
        else:
            message = f'no device publishes {part} under "{domain}"'
        found.append(_unknown("domain", message, subject, expr, near))
    return found


def unknown_names(subject: Subject) -> list[Finding]:
    published = subject.published
    if published is None:
        return []
    found = []
    for expr, (part, domain, name) in _read(subject, 3):
        known = published.names(part, domain)
        if name in known or not known:
            continue
        elsewhere = _elsewhere(published, Path(part, domain, name))
        if elsewhere:
            found.append(_moved(subject, expr, name, elsewhere))
            continue
        message = f'no device publishes {part[:-1] if part[-1] == "s" else part} "{name}" '
        message += f'under "{domain}"'
        found.append(_unknown("name", message, subject, expr, _near(name, known)))
    return found


def _elsewhere(published: Published, path: Path) -> Path | None:
    """The same name as a capacity instead of an attribute, or under another domain."""
    other = Path(PARTS[path.part], path.domain, path.name)
    if other in published.kinds:
        return other
    same = [known for known in published.kinds if known[::2] == path[::2]]
    return min(same) if same else None


def _moved(subject: Subject, expr: Expr, name: str, path: Path) -> Finding:
    kind = "a capacity" if path.part == "capacity" else "an attribute"
    message = f'"{name}" is published as {kind} under "{path.domain}"'
    return Finding(WARNING, "name", message, subject.at(expr), f"Read {shown(path)}.")


def _unknown(code: str, message: str, subject: Subject, expr: Expr, near: str) -> Finding:
    advice = f'Did you mean "{near}"?' if near else ""
    return Finding(WARNING, code, message, subject.at(expr), advice)


def unknown_drivers(subject: Subject) -> list[Finding]:
    """`device.driver == "x"` where no device is of driver x."""
    published = subject.published
    if published is None or not published.devices:
        return []
    found = []
    for expr in walk(subject.root):
        if not isinstance(expr, Call) or expr.function not in ("_==_", "_!=_"):
            continue
        driver, literal = compared_driver(subject, expr)
        if driver is None or literal is None or driver in published.drivers:
            continue
        message = f'no device is of driver "{driver}"'
        found.append(
            _unknown("driver", message, subject, literal, _near(driver, published.drivers))
        )
    return found


def compared_driver(subject: Subject, expr: Call) -> tuple[str | None, Expr | None]:
    """The driver's name that `device.driver` is compared with."""
    for one, other in (expr.args, reversed(expr.args)):
        if subject.places.get(one.id) != ("driver",):
            continue
        if isinstance(other, Literal) and isinstance(other.value, str):
            return other.value, other
    return None, None
