"""What nobody reads is refused by name: a misspelt filter must not look like an answer to it."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any

from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.serializers import ListSerializer, Serializer


def refuse_parameters(request: Request, known: Collection[str]) -> None:
    """Raise ValidationError naming each query parameter that is not in `known`."""
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise ValidationError({name: [_stranger("parameter", name, known)] for name in unknown})


def refuse_fields(serializer: Any, content: Any) -> None:
    """Raise ValidationError with the path of each field that `serializer` does not read."""
    unknown = {path: [said] for path, said in _fields(serializer, content, "")}
    if unknown:
        raise ValidationError(unknown)


def _fields(serializer: Any, content: Any, path: str) -> Iterator[tuple[str, ErrorDetail]]:
    if isinstance(serializer, ListSerializer) and isinstance(content, list):
        for index, one in enumerate(content):
            yield from _fields(serializer.child, one, f"{path}[{index}]")
    if not isinstance(serializer, Serializer) or not isinstance(content, dict):
        return
    known = {name: field for name, field in serializer.fields.items() if not field.read_only}
    for name, value in content.items():
        here = f"{path}.{name}" if path else str(name)
        if name in known:
            yield from _fields(known[name], value, here)
        else:
            yield here, _stranger("field", str(name), known)


def _stranger(what: str, name: str, known: Collection[str]) -> ErrorDetail:
    near = get_close_matches(name, list(known), n=3, cutoff=0.6)
    if near:
        said = f"Did you mean {' or '.join(near)}?"
    elif known:
        said = f"There are: {', '.join(sorted(known))}."
    else:
        said = f"No {what} is read here."
    return ErrorDetail(f"There is no {what} {name[:100]} here. {said}", code="unknown")
