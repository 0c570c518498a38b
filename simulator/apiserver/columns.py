"""The columns of tables, kind by kind, as the real server prints them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from simulator.apiserver.kinds import Kind

Item = dict[str, Any]


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


def age(stamp: str | None) -> str:
    """How long ago, as kubectl shortens it: 45s, 4m30s, 25m, 3h20m, 12h, 3d."""
    if not stamp:
        return "<unknown>"
    then = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    seconds = int((datetime.now(UTC) - then).total_seconds())
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    return f"{days}d"


NAME = Column("Name", lambda item: item["metadata"]["name"], format="name")
AGE = Column("Age", lambda item: age(item["metadata"].get("creationTimestamp")))


def columns_of(kind: Kind, printer_columns: list[dict[str, Any]]) -> tuple[Column, ...]:
    return (NAME, AGE)
