from typing import Any

import orjson
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser


class StrictJson(BaseParser):
    """JSON as RFC 8259 has it: no NaN, no lone surrogates, and no NUL, which PostgreSQL refuses."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        body: bytes = stream.read()
        try:
            content = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ParseError(f"This is not JSON: {error}.") from None
        if b"\\u0000" in body and _has_nul(content):
            raise ParseError("A text holds the character NUL, which cannot be stored.")
        return content


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_nul, value))
