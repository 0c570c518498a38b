"""The one way to make a list: declare a Table, hand `respond` the rows a person may see.

Sorting, filtering, searching, paging and choosing columns all live in the query string, so that a
link to a list is a link to what one saw. Paging is by key, never by offset: the last page costs
what the first one does, as long as each sortable column has an index (column, id).
"""

from apps.common.tables.columns import Column, Table
from apps.common.tables.export import export_response
from apps.common.tables.listing import Listing, Unavailable
from apps.common.tables.paging import BadCursor, Order, Page, page_of
from apps.common.tables.views import respond

__all__ = [
    "BadCursor",
    "Column",
    "Listing",
    "Order",
    "Page",
    "Table",
    "Unavailable",
    "export_response",
    "page_of",
    "respond",
]
