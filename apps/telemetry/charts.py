"""Figures for the browser: built and checked by Plotly here, drawn by static/js/charts.js there."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go

from apps.telemetry.selectors import Point

COLOURS = (1, 2, 3, 4)


def serving(points: Sequence[Point]) -> dict[str, Any]:
    """Tokens a second, cache hit and TTFT over time, one above the other; gaps stay gaps."""
    times = [datetime.fromtimestamp(point.at, UTC) for point in points]
    rows = (
        ("Tokens/s", "y", [point.tokens_per_second for point in points]),
        ("Cache hit", "y2", [point.cache_hit for point in points]),
        ("TTFT p50", "y3", [point.ttft_p50 for point in points]),
        ("TTFT p90", "y3", [point.ttft_p90 for point in points]),
    )
    figure = go.Figure(
        data=[
            go.Scatter(
                name=name, x=times, y=values, yaxis=axis, mode="lines+markers", connectgaps=False
            )
            for name, axis, values in rows
        ],
        layout={
            "template": None,
            "height": 420,
            "margin": {"l": 56, "r": 12, "t": 12, "b": 32},
            "xaxis": {"type": "date", "anchor": "y3"},
            "yaxis": {"domain": [0.7, 1], "title": {"text": "tokens/s"}, "rangemode": "tozero"},
            "yaxis2": {
                "domain": [0.36, 0.64],
                "title": {"text": "cache hit"},
                "range": [0, 1],
                "tickformat": ".0%",
            },
            "yaxis3": {
                "domain": [0, 0.3],
                "title": {"text": "TTFT s"},
                "rangemode": "tozero",
            },
            "legend": {"orientation": "h", "y": -0.12},
            "hovermode": "x unified",
        },
    )
    found: dict[str, Any] = dict(figure.to_plotly_json())
    for trace, colour in zip(found["data"], COLOURS, strict=True):
        # After the check by plotly, to which a name of the style sheet is no colour.
        trace["line"] = {"color": f"var(--yard-series-{colour})"}
        trace["marker"] = {"color": f"var(--yard-series-{colour})", "size": 4}
    return found
