from typing import Any

import orjson
from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from apps.api.errors import TooLarge

DEEPEST = 50


class StrictJson(BaseParser):
    """JSON as RFC 8259 has it: no NaN, no lone surrogates, and no NUL, which PostgreSQL refuses.

    Nor is anything nested deeper than what is made of it could be: DEEPEST steps.
    """

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        body: bytes = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise TooLarge
        try:
            content = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError(f"This is not JSON: {error}.") from None
        if _depth(content) > DEEPEST:
            raise ParseError(f"This is nested deeper than {DEEPEST} steps.")
        if b"\\u0000" in body and _has_nul(content):
            raise ParseError("A text holds the character NUL, which cannot be stored.")
        return content


def _depth(content: Any) -> int:
    """Level by level, as recursion would run out of stack where this matters."""
    found, level = 0, [content]
    while level and found <= DEEPEST:
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        found += 1
    return found


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_nul, value))
