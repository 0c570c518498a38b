"""Columns of a table, and the small words that kubectl's tables are made of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Item = dict[str, Any]
NONE = "<none>"
UNKNOWN = "<unknown>"


@dataclass(frozen=True, slots=True)
class Column:
    """`priority` 1 shows in wide output only."""

    name: str
    cell: Callable[[Item], Any]
    type: str = "string"
    priority: int = 0
    format: str = ""

    def definition(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.name,
            "priority": self.priority,
        }


def at(item: Any, path: str, default: Any = None) -> Any:
    found = item
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return default if found is None else found


def moment(stamp: str | None) -> datetime | None:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")) if stamp else None


def age(stamp: str | None) -> str:
    """How long ago a time is."""
    then = moment(stamp)
    return UNKNOWN if then is None else duration((datetime.now(UTC) - then).total_seconds())


def duration(seconds: float) -> str:
    """As kubectl shortens it: 45s, 4m30s, 25m, 3h20m, 12h, 3d4h, 20d, 2y."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{max(whole, 0)}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years, rest = divmod(days, 365)
    return _two(years, "y", rest, "d") if years < 8 else f"{years}y"


def _two(big: int, big_unit: str, small: int, small_unit: str) -> str:
    return f"{big}{big_unit}{small}{small_unit}" if small else f"{big}{big_unit}"


def joined(words: Iterable[Any]) -> str:
    return ",".join(str(word) for word in words)


def pairs(labels: dict[str, Any] | None) -> str:
    return joined(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Item | None) -> str:
    """A LabelSelector, or plain labels, in one line."""
    if not selector:
        return NONE
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return pairs(selector)
    parts = [f"{k}={v}" for k, v in sorted((selector.get("matchLabels") or {}).items())]
    for rule in selector.get("matchExpressions") or ():
        key, operator = rule["key"], rule["operator"]
        values = ",".join(sorted(rule.get("values") or ()))
        words = {"Exists": key, "DoesNotExist": f"!{key}", "In": f"{key} in ({values})"}
        parts.append(words.get(operator, f"{key} notin ({values})"))
    return joined(parts) or NONE


NAME = Column("Name", lambda item: item["metadata"]["name"], format="name")
AGE = Column("Age", lambda item: age(at(item, "metadata.creationTimestamp")))
CREATED = Column("Created At", lambda item: at(item, "metadata.creationTimestamp"), type="date")


def from_path(
    name: str, path: str, default: Any = "", *, type: str = "string", priority: int = 0
) -> Column:
    return Column(name, lambda item: at(item, path, default), type=type, priority=priority)


def printer_column(column: Item) -> Column:
    """A column of a CustomResourceDefinition; its JSONPath may pick list items by value."""
    path = column["jsonPath"]
    kind = column["type"]

    def cell(item: Item) -> Any:
        value = json_path(item, path)
        if kind == "date":
            return age(value)
        return value if value is None or isinstance(value, str | int | float) else str(value)

    return Column(
        column["name"],
        cell,
        type=kind,
        priority=column.get("priority", 0),
        format=column.get("format", ""),
    )


def json_path(item: Any, path: str) -> Any:
    """The first value at a JSONPath of the simple kind: fields, indices, `[?(@.type=="X")]`."""
    import re

    found: Any = item
    for name, index, key, value in re.findall(
        r"\.([\w-]+)|\[(\d+|\*)\]|\[\?\(@\.([\w.]+)==[\"']([^\"']*)[\"']\)\]", path
    ):
        if name:
            found = found.get(name) if isinstance(found, dict) else None
        elif index:
            place = 0 if index == "*" else int(index)
            found = found[place] if isinstance(found, list) and place < len(found) else None
        elif isinstance(found, list):
            found = next((one for one in found if str(at(one, key)) == value), None)
    return found
