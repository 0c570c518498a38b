"""Typed reading of YAML tables: every refusal says where, what was found and what is allowed."""

import re
from typing import Any


class BadScenario(Exception):
    """A scenario that cannot be used; the text is for the person who wrote it."""


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def seconds(value: object, where: str) -> float:
    """`90`, `1.5`, `"2m30s"` or `"250ms"` as seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    text = str(value)
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise BadScenario(f"{where}: {value!r} is no duration; write 90, 30s, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


class Table:
    """One YAML mapping; `done()` refuses the keys that nobody asked for."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise BadScenario(f"{where}: expected a table, found {_kind(value)}")
        self.where = where
        self._rest: dict[str, Any] = {str(key): item for key, item in value.items()}

    def _take(self, key: str, default: object) -> Any:
        if key in self._rest:
            return self._rest.pop(key)
        if default is ...:
            raise BadScenario(f"{self.where}: {key} is missing")
        return default

    def text(self, key: str, default: object = ..., *, among: tuple[str, ...] = ()) -> str:
        value = self._take(key, default)
        if not isinstance(value, str):
            raise BadScenario(f"{self.where}.{key}: expected text, found {_kind(value)}")
        if among and value not in among:
            raise BadScenario(f"{self.where}.{key}: {value!r} is not one of {', '.join(among)}")
        return value

    def whole(self, key: str, default: object = ..., *, least: int = 0) -> int:
        value = self._take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise BadScenario(
                f"{self.where}.{key}: expected a whole number ≥ {least}, found {value!r}"
            )
        return value

    def number(self, key: str, default: object = ..., *, least: float = 0.0) -> float:
        value = self._take(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or value < least:
            raise BadScenario(f"{self.where}.{key}: expected a number ≥ {least}, found {value!r}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise BadScenario(f"{self.where}.{key}: expected true or false, found {_kind(value)}")
        return value

    def seconds(self, key: str, default: object = ...) -> float:
        return seconds(self._take(key, default), f"{self.where}.{key}")

    def table(self, key: str, default: object = ...) -> "Table":
        return Table(self._take(key, default), f"{self.where}.{key}")

    def tables(self, key: str) -> "list[Table]":
        value = self._take(key, [])
        if not isinstance(value, list):
            raise BadScenario(f"{self.where}.{key}: expected a list, found {_kind(value)}")
        return [Table(item, f"{self.where}.{key}[{n}]") for n, item in enumerate(value)]

    def texts(self, key: str) -> dict[str, str]:
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise BadScenario(f"{self.where}.{key}: expected a table, found {_kind(value)}")
        return {str(name): str(item) for name, item in value.items()}

    def raw(self, key: str, default: object = ...) -> Any:
        return self._take(key, default)

    def has(self, key: str) -> bool:
        return key in self._rest

    def done(self) -> None:
        if self._rest:
            raise BadScenario(f"{self.where}: unknown key {', '.join(sorted(self._rest))}")


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else repr(value)
