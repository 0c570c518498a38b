"""Selectors that the API server refuses, with a hint where the mistake is a common one."""

from __future__ import annotations

import re

from domain.placement.cel.errors import CompileFailure, Position
from domain.placement.cel.lint.findings import ERROR, Finding

PROBLEM = re.compile(r"^(?:compilation failed: )?ERROR: <input>:(\d+):(\d+): (.*)$", re.MULTILINE)
QUANTITY, SEMVER = "kubernetes.Quantity", "kubernetes.Semver"
FIELDS = "A selector sees driver, attributes, capacity and allowMultipleAllocations."
HINTS: tuple[tuple[str, str], ...] = (
    (r"undefined field 'allowMultipleAllocations'", "This needs DRAConsumableCapacity."),
    (r"undefined field '(name|pool|node|nodeName|taints|status)'", f"It is not visible. {FIELDS}"),
    (r"undefined field", FIELDS),
    (r"undeclared reference to 'includes'", "This needs DRAListTypeAttributes."),
    (r"undeclared reference to '(attributes|capacity|driver)'", "Write device. before it."),
    (
        rf"no matching overload for '_[<>]=?_'.*{QUANTITY}",
        "Compare quantities with compareTo(), isGreaterThan() or isLessThan().",
    ),
    (
        rf"no matching overload for '_[<>]=?_'.*{SEMVER}",
        "Compare versions with compareTo(), isGreaterThan() or isLessThan().",
    ),
    (
        r"applied to '.*\(?map\(string, ",
        'Attributes and capacity are filed under a domain: device.attributes["domain"].name.',
    ),
    (rf"'_[!=]=_' applied to '.*{QUANTITY}", 'Wrap the other side: quantity("40Gi").'),
    (rf"'_[!=]=_' applied to '.*{SEMVER}", 'Wrap the other side: semver("1.2.3").'),
    (
        r"no matching overload for '(isGreaterThan|isLessThan|compareTo)'",
        'Both sides must be quantities or both versions: quantity("40Gi"), semver("1.2.3").',
    ),
    (r"'_&&_'|'_\|\|_'|expected type 'bool'", "Both sides must be true or false."),
    (r"token recognition error at: '= ?'", "Compare with ==."),
    (r"token recognition error at: '& ?'", "Write && for and."),
    (r"token recognition error at: '\| ?'", "Write || for or."),
    (r"must evaluate to bool", "The whole expression must be true or false."),
)


def refused(expression: str, failure: CompileFailure) -> list[Finding]:
    """One finding per problem that the compiler names."""
    problems = [
        (Position(int(line), int(column)), text)
        for line, column, text in PROBLEM.findall(failure.message)
    ]
    if not problems:
        return [_finding(failure.position, failure.message)]
    return [_finding(position, text) for position, text in problems]


def _finding(position: Position | None, text: str) -> Finding:
    code = "syntax" if "Syntax error" in text else "compile"
    advice = next((hint for pattern, hint in HINTS if re.search(pattern, text)), "")
    return Finding(ERROR, code, text, position, advice)
