"""Strings and regular expressions (RE2, as Go's regexp is)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from domain.placement.cel.functions.binding import overload, singleton
from domain.placement.cel.values import CelError, cannot, no_overload, shown

LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
# Go's unicode.IsSpace.
SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
SPACE += "".join(map(chr, range(0x2000, 0x200B)))
QUOTED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
QUIET = re2.Options()
QUIET.log_errors = False


class BadPattern(CelError):
    """The pattern is no RE2 regular expression."""


@lru_cache(maxsize=4096)
def pattern(text: str) -> Any:
    """Raises BadPattern."""
    try:
        return re2.compile(text, QUIET)
    except re2.error as error:
        raise BadPattern(f"error parsing regexp: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


def found_in(compiled: Any, value: str) -> bool:
    return compiled.search(value) is not None


def first_match(compiled: Any, value: str) -> str:
    found = compiled.search(value)
    return str(found.group()) if found else ""


def all_matches(compiled: Any, value: str, most: int = -1) -> list[str]:
    """Go's rule: an empty match right behind the previous match does not count."""
    found: list[str] = []
    end = -1
    for match in compiled.finditer(value):
        if match.start() == match.end() == end:
            continue
        found.append(match.group())
        end = match.end()
    return found if most < 0 else found[:most]


@singleton("matches")
def matches(value: Any, regex: Any) -> bool:
    if value.__class__ is not str:
        raise cannot("matches", value)
    if regex.__class__ is not str:
        raise CelError("no such overload")
    return found_in(pattern(regex), value)


@overload("string_find_string")
def find(value: str, regex: str) -> str:
    return first_match(_legal(regex), value)


@overload("string_find_all_string", "string_find_all_string_int")
def find_all(value: str, regex: str, most: int = -1) -> list[str]:
    return all_matches(_legal(regex), value, most)


def _legal(regex: str) -> Any:
    try:
        return pattern(regex)
    except BadPattern as error:
        raise CelError(f"Illegal regex: {error}") from None


def _both_text(value: Any, part: Any) -> None:
    if value.__class__ is not str or part.__class__ is not str:
        raise no_overload()


@singleton("contains")
def contains(value: Any, part: Any) -> bool:
    _both_text(value, part)
    return part in value


@singleton("startsWith")
def starts_with(value: Any, part: Any) -> bool:
    _both_text(value, part)
    return bool(value.startswith(part))


@singleton("endsWith")
def ends_with(value: Any, part: Any) -> bool:
    _both_text(value, part)
    return bool(value.endswith(part))


def _outside(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


@overload("string_char_at_int")
def char_at(value: str, index: int) -> str:
    if not 0 <= index <= len(value):
        raise _outside(index)
    return value[index : index + 1]


@overload("string_index_of_string")
def index_of(value: str, part: str) -> int:
    return index_from(value, part, 0)


@overload("string_index_of_string_int")
def index_from(value: str, part: str, offset: int) -> int:
    if offset < 0:
        raise _outside(offset)
    if not part:
        return min(offset, len(value))
    return value.find(part, offset) if offset < len(value) else -1


@overload("string_last_index_of_string")
def last_index_of(value: str, part: str) -> int:
    if not part:
        return len(value)
    if len(value.encode()) < len(part.encode()):
        return -1
    return last_index_from(value, part, len(value) - 1)


@overload("string_last_index_of_string_int")
def last_index_from(value: str, part: str, offset: int) -> int:
    if offset < 0:
        raise _outside(offset)
    if not part:
        return min(offset, len(value))
    if offset >= len(value):
        return -1
    return value.rfind(part, 0, offset + len(part))


@overload("string_lower_ascii")
def lower(value: str) -> str:
    return value.translate(LOWER)


@overload("string_upper_ascii")
def upper(value: str) -> str:
    return value.translate(UPPER)


@overload("string_replace_string_string")
def replace(value: str, old: str, new: str) -> str:
    return value.replace(old, new)


@overload("string_replace_string_string_int")
def replace_some(value: str, old: str, new: str, most: int) -> str:
    return value.replace(old, new, max(most, -1))


@overload("string_split_string")
def split(value: str, separator: str) -> list[str]:
    return value.split(separator) if separator else list(value)


@overload("string_split_string_int")
def split_some(value: str, separator: str, most: int) -> list[str]:
    if most == 0:
        return []
    if most < 0:
        return split(value, separator)
    if separator:
        return value.split(separator, most - 1)
    if len(value) <= most:
        return list(value)
    return [*value[: most - 1], value[most - 1 :]]


@overload("string_substring_int")
def substring_from(value: str, start: int) -> str:
    if not 0 <= start <= len(value):
        raise _outside(start)
    return value[start:]


@overload("string_substring_int_int")
def substring(value: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(value):
            raise _outside(index)
    return value[start:end]


@overload("string_trim")
def trim(value: str) -> str:
    return value.strip(SPACE)


@overload("list_join")
def join(values: list[Any]) -> str:
    return join_with(values, "")


@overload("list_join_string")
def join_with(values: list[Any], separator: str) -> str:
    for value in values:
        if value.__class__ is not str:
            raise CelError(f"join: invalid input: {shown(value)}")
    return separator.join(values)


@overload("strings_quote")
def quote(value: str) -> str:
    return '"' + "".join(QUOTED.get(char, char) for char in value) + '"'
