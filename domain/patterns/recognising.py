"""The way back: with which values a pattern gave this claim, if it did.

The rendered claim is compared whole, so an answer is never a guess; a claim that somebody wrote by
hand in the same words is recognised too, and asks for the same.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from domain.errors import InvalidValue
from domain.patterns.model import Pattern, Request, Values
from domain.patterns.names import cel_string
from domain.patterns.rendering import claim_spec, selector_shapes
from domain.patterns.values import accept

_LITERAL = r'"((?:[^"\\]|\\.)*)"'


def values_of(pattern: Pattern, spec: Mapping[str, Any]) -> Values | None:
    """The values that give exactly this spec of a claim; None if none do."""
    lines = (spec.get("devices") or {}).get("requests") or ()
    if len(lines) != len(pattern.requests):
        return None
    given: dict[str, object] = {
        one.name: "" for one in pattern.parameters if one.kind == "choice" and one.optional
    }
    for request, line in zip(pattern.requests, lines, strict=True):
        given.update(_read(request, line.get("exactly") or {}))
    written = {
        cel_string(choice)[1:-1]: choice for one in pattern.parameters for choice in one.choices
    }
    given = {name: written.get(str(value), value) for name, value in given.items()}
    try:
        values = accept(pattern, given)
    except InvalidValue:
        return None
    return values if claim_spec(pattern, values) == _plain(spec) else None


def _read(request: Request, exactly: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    if request.count_parameter:
        yield request.count_parameter, exactly.get("count", 1)
    texts = [
        str((one.get("cel") or {}).get("expression") or "")
        for one in exactly.get("selectors") or ()
    ]
    for term, shape in zip(request.terms, selector_shapes(request), strict=True):
        if not term.parameter:
            continue
        form = re.escape(shape).replace(re.escape(f"<{term.parameter}>"), _LITERAL)
        found = next((match for text in texts if (match := re.fullmatch(form, text))), None)
        if found is not None:
            yield term.parameter, found[1]


def _plain(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Without what a server fills in or leaves empty."""
    devices = spec.get("devices") or {}
    found: dict[str, Any] = {"requests": list(devices.get("requests") or ())}
    if devices.get("constraints"):
        found["constraints"] = list(devices["constraints"])
    extra = {key: value for key, value in devices.items() if key not in found and value}
    return {"devices": {**found, **extra}}
