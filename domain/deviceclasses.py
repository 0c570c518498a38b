"""The content of a DeviceClass version, and the object it becomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from domain.errors import InvalidValue
from domain.manifests.labels import MANAGED_BY, MANAGER, Manifest
from domain.patterns.names import is_extended_resource
from domain.placement.cel.lint import ERROR, NOTE, Finding, lint

MOST_SELECTORS = 32  # resource/v1 DeviceSelectorsMaxSize
LONGEST_EXPRESSION = 10 * 1024  # CELSelectorExpressionMaxLength
VERSION = "claimyard.dev/version"


@dataclass(frozen=True, slots=True)
class ClassContent:
    """CEL selectors, all of which must hold; the extended resource name is optional."""

    selectors: tuple[str, ...]
    extended_resource_name: str = ""


def class_from(content: object) -> ClassContent:
    """Return the content as typed; raise InvalidValue with the path of what is wrong."""
    try:
        found = msgspec.convert(content, ClassContent, strict=True)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at ")
        raise InvalidValue(f"{text}.", field=path.strip("`").removeprefix("$.")) from None
    strangers = set(content) - {"selectors", "extended_resource_name"}  # type: ignore[call-overload]
    if strangers:
        raise InvalidValue(f"A class has no field {min(strangers)[:80]!r}.", field=min(strangers))
    if not 0 < len(found.selectors) <= MOST_SELECTORS:
        raise InvalidValue(f"A class has 1 to {MOST_SELECTORS} selectors.", field="selectors")
    for index, expression in enumerate(found.selectors):
        if not expression.strip() or len(expression.encode()) > LONGEST_EXPRESSION:
            raise InvalidValue(
                f"A selector is a CEL expression of {LONGEST_EXPRESSION} bytes at most.",
                field=f"selectors[{index}]",
            )
    if found.extended_resource_name and not is_extended_resource(found.extended_resource_name):
        raise InvalidValue(
            "An extended resource has a name such as nvidia.com/gpu.",
            field="extended_resource_name",
        )
    return found


@dataclass(frozen=True, slots=True)
class Remark:
    """What is wrong, or likely wrong, with the selector of that index."""

    selector: int
    is_error: bool
    text: str

    @property
    def field(self) -> str:
        return f"selectors[{self.selector}]"


def remarks(selectors: Sequence[str]) -> list[Remark]:
    """Errors are what the API server would refuse; the others, what was hardly meant."""
    return [
        Remark(index, finding.severity == ERROR, _said(finding))
        for index, expression in enumerate(selectors)
        for finding in lint(expression)
        if finding.severity != NOTE
    ]


def _said(finding: Finding) -> str:
    where = ""
    if finding.position is not None:
        where = f" (line {finding.position.line}, column {finding.position.column})"
    advice = f" {finding.advice}" if finding.advice else ""
    return f"{finding.message}{where}.{advice}".replace("..", ".")


def refuse_errors(content: ClassContent) -> None:
    """Raise InvalidValue for the first selector that the API server would refuse."""
    for remark in remarks(content.selectors):
        if remark.is_error:
            raise InvalidValue(remark.text, field=remark.field)


def content_of(found: ClassContent) -> dict[str, Any]:
    return {
        "selectors": list(found.selectors),
        "extended_resource_name": found.extended_resource_name,
    }


def manifest(name: str, number: int, content: ClassContent) -> Manifest:
    """The DeviceClass (resource.k8s.io/v1) of version `number`."""
    spec: dict[str, Any] = {
        "selectors": [{"cel": {"expression": expression}} for expression in content.selectors]
    }
    if content.extended_resource_name:
        spec["extendedResourceName"] = content.extended_resource_name
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {
            "name": name,
            "labels": {MANAGED_BY: MANAGER},
            "annotations": {VERSION: str(number)},
        },
        "spec": spec,
    }
