"""Devices in use over time, as a Plotly figure in the page's own colours."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import plotly.graph_objects as go

Series = Mapping[str, Sequence[tuple[datetime, int]]]

# Named after the style sheet's colours: static/js/charts.js resolves them in each theme.
_COLOURS = [f"var(--yard-series-{number})" for number in range(1, 9)]
OTHERS = "others"


def allocation_figure(series: Series, *, unit: str = "devices") -> dict[str, Any]:
    """Stacked areas, the largest lowest. Steps, not slopes: a device is held or it is not."""
    order = sorted(series, key=lambda name: (name == "", -sum(n for _, n in series[name]), name))
    figure = go.Figure(
        data=[
            go.Scatter(
                x=[at.isoformat() for at, _ in series[name]],
                y=[amount for _, amount in series[name]],
                name=name or OTHERS,
                mode="lines",
                stackgroup="all",
                line={"shape": "hv", "width": 1},
                hovertemplate="%{y} " + unit + "<extra>%{fullData.name}</extra>",
            )
            for name in order
        ],
        layout={
            "template": None,
            "yaxis": {"tickformat": "d", "range": [0, _ceiling(series)], "title": {"text": unit}},
            "xaxis": {"type": "date"},
        },
    )
    found: dict[str, Any] = dict(figure.to_plotly_json())
    for place, (name, trace) in enumerate(zip(order, found["data"], strict=True)):
        # After the check by plotly, to which a name of the style sheet is no colour.
        colour = _COLOURS[place % len(_COLOURS)] if name else "var(--yard-unknown)"
        trace["line"]["color"] = trace["fillcolor"] = colour
    return found


def from_then(series: Series, first: datetime | None) -> Series:
    """Without what was before history began: nobody knows of it, and that is not zero."""
    if first is None:
        return series
    return {name: [one for one in points if one[0] >= first] for name, points in series.items()}


def _ceiling(series: Series) -> int:
    """The top of the axis: a little above the highest sum, and never zero."""
    sums: dict[datetime, int] = {}
    for points in series.values():
        for at, amount in points:
            sums[at] = sums.get(at, 0) + amount
    return max(1, math.ceil(max(sums.values(), default=0) * 1.1))
