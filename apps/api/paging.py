"""Pages by cursor, flat from the first to the last, in the orders that the page offers."""

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from apps.api import errors
from apps.common import tables
from apps.common.tables import Order, Page, Table

DEFAULT_LIMIT, LARGEST_LIMIT = 50, 500
PARAMETERS = ("limit", "cursor", "sort")


class KeyPagination(BasePagination):
    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any]:
        order = order_of(request, view.table)  # type: ignore[union-attr]
        self.url = request.build_absolute_uri()
        try:
            self.page: Page = tables.page_of(
                queryset, order, request.query_params.get("cursor", ""), size=_limit(request)
            )
        except tables.BadCursor:
            raise errors.BadCursor from None
        return self.page.rows

    def get_paginated_response(self, data: Any) -> Response:
        body = {
            "results": data,
            "next": self._link(self.page.next),
            "previous": self._link(self.page.previous),
        }
        return Response(body)

    def _link(self, cursor: str) -> str | None:
        return replace_query_param(self.url, "cursor", cursor) if cursor else None

    def get_paginated_response_schema(self, schema: Any) -> dict[str, Any]:
        link = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["results", "next", "previous"],
            "properties": {
                "results": schema,
                "next": {**link, "description": "The next page; null on the last."},
                "previous": {**link, "description": "The page before; null on the first."},
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        names = sorts_of(view.table)
        return [
            _parameter(
                "limit",
                f"Rows of a page, {DEFAULT_LIMIT} if not given.",
                {"type": "integer", "minimum": 1, "maximum": LARGEST_LIMIT},
            ),
            _parameter(
                "cursor",
                "Where the page begins, from `next` or `previous`; `last` is the last page.",
                {"type": "string"},
            ),
            _parameter(
                "sort",
                f"The order, downwards with a dash before it; `{view.table.default_sort}` "
                "if not given.",
                {"type": "string", "enum": [*names, *(f"-{name}" for name in names)]},
            ),
        ]


def _parameter(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": description,
        "schema": schema,
    }


def sorts_of(table: Table) -> list[str]:
    return ["id", *(column.key for column in table.columns if column.sort)]


def order_of(request: Request, table: Table) -> Order:
    order = Order.parse(request.query_params.get("sort") or table.default_sort)
    if order.field not in sorts_of(table):
        raise ValidationError({"sort": f"This list is sorted by {', '.join(sorts_of(table))}."})
    column = table.column(order.field)
    return Order(column.sort if column else "id", order.descending)


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", "")
    if not text:
        return DEFAULT_LIMIT
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= LARGEST_LIMIT:
        raise ValidationError({"limit": f"A whole number from 1 to {LARGEST_LIMIT}."})
    return int(text)
