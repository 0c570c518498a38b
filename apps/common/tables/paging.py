"""Paging by key: a page starts after the last row seen, so that no row before it is read again.

The order is (field, id). PostgreSQL answers a row comparison, `(field, id) > (value, id)`, from an
index on the two; a nullable field is read as two runs, the known values and the missing ones,
since a comparison with NULL is never true.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import BooleanField, F, Field, Func, Model, QuerySet, Value
from django.db.models.sql.compiler import SQLCompiler

from apps.common.tables.columns import follow


class BadCursor(ValueError):
    """A cursor that was not made for this list and order."""


class RowCompare(Func):
    """`(field, key) sign (value, key)` as one comparison of rows."""

    output_field = BooleanField()

    def __init__(self, *expressions: Any, sign: str = ">") -> None:
        super().__init__(*expressions)
        self.sign = sign

    def as_sql(self, compiler: SQLCompiler, connection: Any, **_: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        parts = [compiler.compile(each) for each in self.get_source_expressions()]
        names = [sql for sql, _ in parts]
        params = [value for _, values in parts for value in values]
        return f"({names[0]}, {names[1]}) {self.sign} ({names[2]}, {names[3]})", params


@dataclass(frozen=True, slots=True)
class Order:
    field: str
    descending: bool = False

    @classmethod
    def parse(cls, text: str) -> "Order":
        return cls(text.removeprefix("-"), text.startswith("-"))

    def __str__(self) -> str:
        return f"-{self.field}" if self.descending else self.field


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[Any]
    previous: str = ""  # a cursor, empty when there is no such page
    next: str = ""


@dataclass(frozen=True, slots=True)
class _Cursor:
    side: Literal["after", "before", "last"]
    value: Any = None
    key: int | None = None


LAST = "last"


def page_of(rows: QuerySet[Any], order: Order, cursor: str, *, size: int) -> Page:
    """The page that `cursor` names: "" is the first, "last" the last one. Raises BadCursor."""
    at = _decode(cursor, rows, order)
    backwards = at.side != "after"
    found: list[Any] = []
    for run in _runs(rows, order, at, backwards):
        found += run[: size + 1 - len(found)]
        if len(found) > size:
            break
    more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    if not found:
        return Page([])
    is_before = more if backwards else bool(cursor)
    is_after = at.side == "before" or (more and not backwards)
    before = _encode("before", found[0], order) if is_before else ""
    after = _encode("after", found[-1], order) if is_after else ""
    return Page(found, before, after)


def _runs(
    rows: QuerySet[Any], order: Order, at: _Cursor, backwards: bool
) -> Iterator[QuerySet[Any]]:
    """The querysets to read one after the other until the page is full."""
    downwards = order.descending != backwards
    sign = "<" if downwards else ">"
    dash = "-" if downwards else ""
    if order.field in ("id", "pk"):
        rows = rows.order_by(f"{dash}pk")
        yield rows if at.key is None else rows.filter(**{_AFTER[sign]: at.key})
        return
    field = field_of(rows, order.field)
    known = rows.order_by(f"{dash}{order.field}", f"{dash}pk")
    if not field.null and "__" not in order.field:
        yield known if at.key is None else known.filter(_beyond(order.field, field, at, sign))
        return
    missing = rows.filter(**{f"{order.field}__isnull": True}).order_by(f"{dash}pk")
    known = known.filter(**{f"{order.field}__isnull": False})
    # As PostgreSQL orders: missing values last upwards, first downwards.
    if at.key is None:
        yield from (missing, known) if downwards else (known, missing)
    elif at.value is None:
        yield missing.filter(**{_AFTER[sign]: at.key})
        if downwards:
            yield known
    else:
        yield known.filter(_beyond(order.field, field, at, sign))
        if not downwards:
            yield missing


_AFTER = {">": "pk__gt", "<": "pk__lt"}


def _beyond(name: str, field: "Field[Any, Any]", at: _Cursor, sign: str) -> RowCompare:
    return RowCompare(
        F(name), F("pk"), Value(at.value, output_field=field), Value(at.key), sign=sign
    )


def field_of(rows: QuerySet[Any], path: str) -> "Field[Any, Any]":
    """The model field at the end of `path`, or the output field of an annotation."""
    if path in rows.query.annotations:
        return rows.query.annotations[path].output_field
    model: type[Model] = rows.model
    *steps, last = path.split("__")
    for step in steps:
        model = model._meta.get_field(step).related_model  # type: ignore[assignment]
    return model._meta.get_field(last)  # type: ignore[return-value]


def _encode(side: str, row: Any, order: Order) -> str:
    held = [side, str(order), follow(row, order.field), row.pk]
    text = json.dumps(held, cls=DjangoJSONEncoder, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str, rows: QuerySet[Any], order: Order) -> _Cursor:
    if not cursor:
        return _Cursor("after")
    if cursor == LAST:
        return _Cursor("last")
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        side, made_for, value, key = json.loads(base64.urlsafe_b64decode(padded.encode()))
        if side not in ("after", "before") or made_for != str(order) or type(key) is not int:
            raise BadCursor(cursor)
        if value is not None and order.field not in ("id", "pk"):
            value = field_of(rows, order.field).to_python(value)
            if isinstance(value, str) and "\0" in value:
                raise BadCursor(cursor)
    except (
        ValueError,
        TypeError,
        RecursionError,
        binascii.Error,
        ValidationError,
        FieldDoesNotExist,
    ):
        raise BadCursor(cursor) from None
    if not -(2**63) <= key < 2**63:
        raise BadCursor(cursor)
    return _Cursor(side, value, key)
