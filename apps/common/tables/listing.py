"""A list as one request asks for it: which rows, which columns, and the links that change it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.forms import Form
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django_filters import FilterSet

from apps.common.tables.columns import Column, Table
from apps.common.tables.paging import LAST, BadCursor, Order, Page, page_of

# Above this a list says "more than": counting every row of a big table is what makes pages slow.
COUNT_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why there are no rows to show at all: not-configured, no-permission or failed."""

    kind: str
    title: str
    text: str = ""
    url: str = ""
    action: str = ""


@dataclass(frozen=True, slots=True)
class Chip:
    text: str
    remove_url: str


@dataclass(frozen=True, slots=True)
class StatusButton:
    label: str
    value: str
    count: int
    url: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Heading:
    column: Column
    url: str  # empty when the column cannot be sorted
    direction: str  # "ascending", "descending" or ""


class Listing:
    def __init__(
        self,
        request: HttpRequest,
        table: Table,
        rows: QuerySet[Any],
        *,
        unavailable: Unavailable | None = None,
        may_make: bool = True,
    ) -> None:
        self.request, self.table, self.unavailable = request, table, unavailable
        self._all, self.may_make = rows, may_make
        self.search = request.GET.get("q", "").replace("\0", "").strip()[:100]
        self.filterset: FilterSet | None = (
            table.filters(request.GET, queryset=rows, request=request) if table.filters else None
        )
        self.etag = ""  # set by respond()

    # --- Rows
    @cached_property
    def found(self) -> QuerySet[Any]:
        """The filtered and searched rows, unordered."""
        rows = self.filterset.qs if self.filterset else self._all
        return self._searched(rows)

    def _searched(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        for word in self.search.split()[:5]:
            either = Q()
            for path in self.table.search:
                either |= Q(**{f"{path}__icontains": word})
            rows = rows.filter(either)
        return rows

    @cached_property
    def sort(self) -> Order:
        """The order by column key; what cannot be sorted falls back to the table's own order."""
        for text in (self.request.GET.get("sort", ""), self.table.default_sort):
            order = Order.parse(text)
            column = self.table.column(order.field)
            if order.field == "id" or (column is not None and column.sort):
                return order
        return Order("id")

    @cached_property
    def order(self) -> Order:
        """The same order by model field."""
        column = self.table.column(self.sort.field)
        return Order(column.sort if column else "id", self.sort.descending)

    def annotated(self, columns: Sequence[Column]) -> QuerySet[Any]:
        extra = {name: what for column in columns for name, what in column.annotate.items()}
        return self.found.annotate(**extra) if extra else self.found

    @cached_property
    def page(self) -> Page:
        if self.unavailable:
            return Page([])
        rows, size = self.annotated(self.columns), self.table.page_size
        try:
            return page_of(rows, self.order, self.request.GET.get("page", ""), size=size)
        except BadCursor:
            # From an old link, or of another order: the first page is the useful answer.
            return page_of(rows, self.order, "", size=size)

    # --- Counts
    @cached_property
    def _by_status(self) -> dict[str, int]:
        rows = self._searched(self._without_status)
        counted = rows.order_by().values_list(self.table.status).annotate(Count("pk"))
        return {str(value): count for value, count in counted}

    @cached_property
    def _without_status(self) -> QuerySet[Any]:
        if self.filterset is None:
            return self._all
        data = self.request.GET.copy()
        data.pop(self.table.status, None)
        other = type(self.filterset)(data, queryset=self._all, request=self.request)
        rows: QuerySet[Any] = other.qs
        return rows

    @cached_property
    def total(self) -> int:
        """Rows that match; COUNT_LIMIT + 1 stands for more."""
        if self.unavailable:
            return 0
        if self.table.status:
            chosen = self._chosen_statuses
            counts = self._by_status
            return sum(n for value, n in counts.items() if not chosen or value in chosen)
        if not (self.page.previous or self.page.next):
            return len(self.page.rows)
        return self.found.order_by()[: COUNT_LIMIT + 1].count()

    @property
    def total_text(self) -> str:
        one, many = self.table.noun
        if not self.table.status and self.total > COUNT_LIMIT:
            return f"more than {COUNT_LIMIT:,} {many}"
        return f"{self.total:,} {one if self.total == 1 else many}"

    @property
    def _chosen_statuses(self) -> list[str]:
        return [value for value in self.request.GET.getlist(self.table.status) if value]

    @cached_property
    def statuses(self) -> list[StatusButton]:
        """The counted buttons, "All" first; none for a table without a status."""
        if not self.table.status or self.unavailable:
            return []
        counts, name = self._by_status, self.table.status
        chosen = self._chosen_statuses
        every = StatusButton("All", "", sum(counts.values()), self.url(**{name: None}), not chosen)
        return [every] + [
            StatusButton(
                label,
                value,
                counts.get(value, 0),
                self.url(**{name: None if chosen == [value] else value}),
                value in chosen,
            )
            for value, label in self.table.statuses
        ]

    # --- Columns
    @cached_property
    def columns(self) -> list[Column]:
        words = [
            word for text in self.request.GET.getlist("columns") for word in text.split(",") if word
        ]
        if not any(self.table.column(word) for word in words):
            return [column for column in self.table.columns if column.shown or column.fixed]
        return [column for column in self.table.columns if column.fixed or column.key in words]

    @property
    def headings(self) -> Iterator[Heading]:
        for column in self.columns:
            if not column.sort:
                yield Heading(column, "", "")
                continue
            is_sorted = self.sort.field == column.key
            order = Order(column.key, is_sorted and not self.sort.descending)
            direction = ("descending" if self.sort.descending else "ascending") if is_sorted else ""
            yield Heading(column, self.url(sort=str(order)), direction)

    # --- Filters
    @property
    def form(self) -> Form | None:
        return self.filterset.form if self.filterset else None

    @property
    def panel(self) -> list[Any]:
        """The filter fields of the panel: all but the status, which has its buttons."""
        return [] if self.form is None else [f for f in self.form if f.name != self.table.status]

    @cached_property
    def chips(self) -> list[Chip]:
        found = [Chip(f"“{self.search}”", self.url(q=None))] if self.search else []
        if self.filterset is None or self.form is None:
            return found
        self.form.is_valid()  # what it could not clean is left out of cleaned_data
        known = self.form.cleaned_data
        for bound in self.form:
            if bound.name == self.table.status or known.get(bound.name) in (None, "", []):
                continue
            remove_url = self.url(**{bound.name: None})
            said = [_said(bound, text) for text in self.request.GET.getlist(bound.name) if text]
            found += [Chip(f"{bound.label}: {text}", remove_url) for text in said]
        return found

    @property
    def problems(self) -> list[str]:
        """Filters of the URL that could not be understood and were left out."""
        if self.form is None or self.form.is_valid():
            return []
        return [
            f"{self.form.fields[name].label or name}: {' '.join(map(str, errors))}"
            for name, errors in self.form.errors.items()
            if name in self.form.fields
        ]

    @property
    def is_narrowed(self) -> bool:
        return bool(self.chips or (self.table.status and self._chosen_statuses))

    # --- Links
    @cached_property
    def query(self) -> QueryDict:
        """The query string without what is empty and without the page."""
        query = QueryDict(mutable=True)
        for name, values in self.request.GET.lists():
            values = [value for value in values if value]
            if values and name not in ("page", "export"):
                query.setlist(name, [",".join(values)] if name == "columns" else values)
        return query

    def url(self, **changes: str | None) -> str:
        """This list with some parameters changed (None removes one), at its first page."""
        query = self.query.copy()
        for name, value in changes.items():
            if value is None:
                query.pop(name, None)
            else:
                query[name] = value
        text = query.urlencode(safe=",")
        return f"{self.request.path}?{text}" if text else self.request.path

    @property
    def here(self) -> str:
        """The address of exactly this page, without empty parameters."""
        return self.url(page=self.request.GET.get("page") or None)

    @property
    def first_url(self) -> str:
        return self.url() if self.page.previous else ""

    @property
    def previous_url(self) -> str:
        return self.url(page=self.page.previous) if self.page.previous else ""

    @property
    def next_url(self) -> str:
        return self.url(page=self.page.next) if self.page.next else ""

    @property
    def last_url(self) -> str:
        return self.url(page=LAST) if self.page.next else ""

    @property
    def default_columns_url(self) -> str:
        return self.url(columns=None)

    @property
    def csv_url(self) -> str:
        return self.url(export="csv")

    @property
    def json_url(self) -> str:
        return self.url(export="json")

    @property
    def clear_url(self) -> str:
        """Without filters and search, with the same columns and order."""
        names = [name for name in self.query if name not in ("sort", "columns")]
        return self.url(**dict.fromkeys(names))

    def kept(self, *but: str) -> list[tuple[str, str]]:
        """The parameters as hidden fields, so that one form never drops what another has set."""
        return [
            (name, value)
            for name, values in self.query.lists()
            for value in values
            if name not in but
        ]

    @property
    def kept_by_search(self) -> list[tuple[str, str]]:
        """What the search and filter form must carry along although it has no field for it."""
        fields = [bound.name for bound in self.panel]
        return self.kept("q", *fields)

    @property
    def kept_by_columns(self) -> list[tuple[str, str]]:
        return self.kept("columns")

    @property
    def none_yet_url(self) -> str:
        name = self.table.none_yet[1]
        return reverse(name) if name and self.may_make else ""


def _said(bound: Any, text: str) -> str:
    """The choice's own label where the field has choices."""
    choices = getattr(bound.field, "choices", None)
    if choices is None:
        return {"true": "yes", "false": "no"}.get(text, text)
    return str(next((label for value, label in choices if str(value) == text), text))
