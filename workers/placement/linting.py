"""What is wrong, or hardly meant, with selectors, judged by what this cluster's drivers publish."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from domain.placement import Fleet
from domain.placement.cel.lint import Finding, Published, lint
from domain.placement.slices import SliceIndex
from workers.placement.kinds import Json, answers, texts
from workers.placement.warm import Snapshot


@answers("lint")
def lint_selectors(snapshot: Snapshot, question: Json) -> Json:
    expressions = texts(question, "expressions")
    return {"remarks": remarks_json(remarks_on(snapshot.fleet, expressions))}


def remarks_on(fleet: Fleet, expressions: Sequence[str]) -> list[tuple[int, Finding]]:
    """Findings with the index of their expression, the gravest of each first."""
    known = _published(_Slices(fleet.slices))
    return [(i, one) for i, text in enumerate(expressions) for one in lint(text, known)]


class _Slices:
    """Slices compared by identity: an index never changes once a fleet has it."""

    def __init__(self, index: SliceIndex) -> None:
        self.index = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Slices) and self.index is other.index

    def __hash__(self) -> int:
        return id(self.index)


@lru_cache(maxsize=4)
def _published(slices: _Slices) -> Published:
    return Published.of(
        device.view for one in slices.index.by_name.values() for device in one.devices
    )


def remarks_json(remarks: Sequence[tuple[int, Finding]]) -> list[dict[str, Any]]:
    return [
        {
            "expression": index,
            "severity": one.severity,
            "code": one.code,
            "message": one.message,
            "line": one.position.line if one.position else None,
            "column": one.position.column if one.position else None,
            "advice": one.advice,
        }
        for index, one in remarks
    ]
