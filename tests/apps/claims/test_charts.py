"""The figure of devices in use."""

from datetime import UTC, datetime, timedelta

from apps.claims.charts import allocation_figure

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def points(*amounts: int) -> list[tuple[datetime, int]]:
    return [(NOON + timedelta(minutes=place), amount) for place, amount in enumerate(amounts)]


def test_series_are_stacked_the_largest_lowest_and_the_others_on_top() -> None:
    figure = allocation_figure({"": points(9, 9), "small": points(1, 1), "large": points(5, 6)})
    assert [trace["name"] for trace in figure["data"]] == ["large", "small", "others"]
    assert all(trace["stackgroup"] == "all" for trace in figure["data"])
    assert figure["layout"]["yaxis"]["range"] == [0, 18]


def test_colours_are_names_of_the_style_sheet() -> None:
    figure = allocation_figure({str(number): points(1) for number in range(9)} | {"": points(1)})
    colours = [trace["line"]["color"] for trace in figure["data"]]
    assert colours[0] == "var(--yard-series-1)" and colours[-1] == "var(--yard-unknown)"
    assert len(set(colours[:8])) == 8


def test_nothing_in_use_has_an_axis_that_begins_at_zero() -> None:
    figure = allocation_figure({})
    assert figure["data"] == () or list(figure["data"]) == []
    assert figure["layout"]["yaxis"]["range"] == [0, 1]
