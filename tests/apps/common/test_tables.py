"""Lists: every row once from the first page to the last, in either direction; exports; links."""

import csv
import io
import json
from typing import Any

import django_filters as filters
import pytest
from django.test import RequestFactory
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from apps.common.tables import BadCursor, Column, Listing, Order, Table, export_response, page_of
from apps.inventory.models import Cluster, Node
from tests.apps.conftest import make_cluster

FREE = st.lists(st.none() | st.integers(-2, 2), max_size=14)


class NodeFilters(filters.FilterSet):
    cluster = filters.CharFilter(field_name="cluster__slug", label="Cluster")
    path = filters.ChoiceFilter(choices=[("dra", "Claims"), ("none", "None")], label="Path")
    physical = filters.NumberFilter(label="Cards")


NODES = Table(
    name="nodes",
    noun=("node", "nodes"),
    default_sort="name",
    search=("name", "product"),
    filters=NodeFilters,
    status="path",
    statuses=(("dra", "Claims"), ("none", "None")),
    page_size=5,
    columns=(
        Column(key="name", title="Name", sort="name", fixed=True),
        Column(key="path", title="Path", kind="chip"),
        Column(key="free", title="Free", sort="free", kind="amount"),
        Column(key="cluster", title="Cluster", value="cluster__slug", shown=False),
    ),
)


def make_nodes(*free: int | None, cluster: Cluster, **fields: Any) -> None:
    Node.objects.bulk_create(
        Node(cluster=cluster, name=f"n{at:02}", free=value, path="dra", **fields)
        for at, value in enumerate(free)
    )


def walk(order: Order, *, start: str, step: str, size: int) -> list[int]:
    """All keys met from page to page; stops, whatever happens, after a hundred."""
    found: list[int] = []
    cursor: str = start
    for _ in range(100):
        page = page_of(Node.objects.all(), order, cursor, size=size)
        keys = [row.pk for row in page.rows]
        found = found + keys if step == "next" else keys + found
        cursor = getattr(page, step)
        if not cursor:
            return found
    raise AssertionError("the pages do not end")


class Paging(TestCase):
    """Every row is met once, in the database's own order, forwards and backwards."""

    @settings(max_examples=40, deadline=None)
    @given(FREE, st.booleans(), st.integers(1, 4))
    def test_nullable(self, free: list[int | None], descending: bool, size: int) -> None:
        make_nodes(*free, cluster=make_cluster())
        dash = "-" if descending else ""
        wanted = list(
            Node.objects.order_by(f"{dash}free", f"{dash}pk").values_list("pk", flat=True)
        )
        order = Order("free", descending)
        assert walk(order, start="", step="next", size=size) == wanted
        assert walk(order, start="last", step="previous", size=size) == wanted

    @settings(max_examples=20, deadline=None)
    @given(st.lists(st.sampled_from("ab"), max_size=10), st.booleans(), st.integers(1, 4))
    def test_equal_values(self, products: list[str], descending: bool, size: int) -> None:
        cluster = make_cluster()
        for at, product in enumerate(products):
            Node.objects.create(cluster=cluster, name=f"n{at}", product=product, path="dra")
        dash = "-" if descending else ""
        ordered = Node.objects.order_by(f"{dash}product", f"{dash}pk")
        wanted = list(ordered.values_list("pk", flat=True))
        order = Order("product", descending)
        assert walk(order, start="", step="next", size=size) == wanted
        assert walk(order, start="last", step="previous", size=size) == wanted


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "bnVsbA",
        "W10",
        "WyJhZnRlciIsIm5hbWUiLDEsMl0",
        "é",
        "A" * 5000,
        "WyJhZnRlciIsImZyZWUiLCJ4IiwxXQ",
    ],
)
def test_a_cursor_of_someone_elses_is_refused(db: None, cursor: str) -> None:
    with pytest.raises(BadCursor):
        page_of(Node.objects.all(), Order("free"), cursor, size=5)


def listing(query: str = "", rows: Any = None) -> Listing:
    request = RequestFactory().get(f"/nodes/?{query}")
    return Listing(request, NODES, Node.objects.all() if rows is None else rows)


@pytest.fixture
def nodes(cluster: Cluster) -> None:
    make_nodes(*range(7), cluster=cluster)
    Node.objects.create(cluster=cluster, name="x=1", path="none", product="=cmd()")


def test_counted_buttons_count_what_the_other_filters_leave(nodes: None) -> None:
    found = listing("q=n0&path=none")
    assert [(one.label, one.count, one.chosen) for one in found.statuses] == [
        ("All", 7, False),
        ("Claims", 7, False),
        ("None", 0, True),
    ]
    assert found.total == 0


def test_links_keep_what_they_do_not_change(nodes: None) -> None:
    found = listing("q=n&cluster=lab&sort=-free&columns=name,free&page=last")
    by_key = {heading.column.key: heading.url for heading in found.headings}
    assert by_key["name"] == "/nodes/?q=n&cluster=lab&sort=name&columns=name,free"
    assert by_key["free"] == "/nodes/?q=n&cluster=lab&sort=free&columns=name,free"
    assert found.clear_url == "/nodes/?sort=-free&columns=name,free"
    assert [chip.text for chip in found.chips] == ["“n”", "Cluster: lab"]


def test_a_fixed_column_cannot_be_hidden_and_unknown_words_are_ignored(nodes: None) -> None:
    assert [c.key for c in listing("columns=free,secret").columns] == ["name", "free"]
    assert [c.key for c in listing("columns=secret").columns] == ["name", "path", "free"]
    assert listing("sort=cluster").sort == Order("name")


def test_a_stale_page_link_shows_the_first_page(nodes: None) -> None:
    assert listing("page=garbage").page.rows == listing().page.rows


def test_a_list_costs_few_queries(nodes: None, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(3):
        found = listing("page=last")
        assert found.page.rows and found.statuses and found.total_text == "8 nodes"


def test_an_export_is_the_filtered_set_in_its_order(nodes: None) -> None:
    response = export_response(listing("path=dra&sort=-free"), "csv")
    text = b"".join(response.streaming_content).decode()  # type: ignore[arg-type]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["free"] for row in rows] == ["6", "5", "4", "3", "2", "1", "0"]
    assert rows[0]["cluster"] == "lab"


def test_an_export_hands_no_formula_to_a_spreadsheet(cluster: Cluster) -> None:
    Node.objects.create(cluster=cluster, name="=HYPERLINK(1)", path="none")
    response = export_response(listing(), "csv")
    assert b"'=HYPERLINK(1)" in b"".join(response.streaming_content)  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["", "q=nothing"])
def test_a_json_export_is_json_even_when_empty(nodes: None, query: str) -> None:
    response = export_response(listing(query), "json")
    rows = json.loads(b"".join(response.streaming_content))  # type: ignore[arg-type]
    assert len(rows) == (0 if query else 8)
