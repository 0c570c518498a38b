from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model
from django_filters import FilterSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a list, on the page and in exports.

    `value` is a path such as "node__name" or a function of the row; the key if not given. What a
    page shows of it is decided by `template` (rendered with row and value), else by `kind`.
    """

    key: str
    title: str
    value: str | Callable[[Any], Any] = ""
    sort: str = ""  # a field of the row itself, with an index (field, id); empty: not sortable
    shown: bool = True  # unless the URL chooses otherwise
    fixed: bool = False  # cannot be hidden
    kind: str = ""  # "", state, ago, age, moment, amount, mono, chip
    unit: str = ""  # of an amount
    link: Callable[[Any], str | None] | None = None
    template: str = ""  # "room/cells.html#name"
    hint: str = ""
    # Costs a query's time, so it is added only while the column is shown or exported.
    annotate: Mapping[str, Any] = field(default_factory=dict)

    def of(self, row: Any) -> Any:
        """The plain value, as exports and the API show it."""
        if callable(self.value):
            return self.value(row)
        return follow(row, self.value or self.key)

    @property
    def at_end(self) -> bool:
        return self.kind == "amount"


def follow(row: Any, path: str) -> Any:
    """`follow(device, "node__name")`; None as soon as a step leads nowhere."""
    for step in path.split("__"):
        row = getattr(row, step, None)
        if row is None:
            return None
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A list, declared once at module level."""

    name: str  # names the export file: "devices"
    noun: tuple[str, str]  # ("device", "devices")
    columns: Sequence[Column]
    default_sort: str = "-id"  # a column's key, "-" for descending, or id
    search: Sequence[str] = ()
    search_hint: str = ""  # "Find by name or UUID"
    filters: type[FilterSet] | None = None
    # Counted buttons above the list: a field of the row that is also the name of a filter.
    status: str = ""
    statuses: Sequence[tuple[str, str]] = ()  # value and label, in the order shown
    none_yet: tuple[str, str, str] = ("", "", "")  # sentence; URL name and label of what to do
    page_size: int = 50

    def column(self, key: str) -> Column | None:
        return next((column for column in self.columns if column.key == key), None)


Row = Model
