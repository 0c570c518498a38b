"""Figures for the browser: built and checked by Plotly here, drawn by static/js/charts.js there."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go

from apps.telemetry import bands
from apps.telemetry.bands import Band
from apps.telemetry.lines import Chart
from domain.figures import State

COLOURS = 8
MOST_DRAWN = 24
FEW = 12


def figure(chart: Chart, shaded: Sequence[Band] | None = None) -> dict[str, Any]:
    """The chart with its bands. Without a value the note says why, in the state's words."""
    times = [datetime.fromtimestamp(at, UTC) for at in chart.times]
    lines = [line for line in chart.lines if any(value is not None for value in line.values)]
    layout = {
        "template": None,
        "margin": {"l": 56, "r": 12, "t": 8, "b": 32},
        "xaxis": {"type": "date"},
        "yaxis": _axis(chart.unit),
        "showlegend": len(lines) > 1,
        "hovermode": "x unified",
    }
    made = go.Figure(
        data=[
            go.Scatter(name=line.name, x=times, y=line.values, mode=_mode(line.values))
            for line in lines[:MOST_DRAWN]
        ],
        layout=layout,
    )
    found: dict[str, Any] = dict(made.to_plotly_json())
    for number, trace in enumerate(found["data"]):
        # After the check by Plotly, to which a name of the style sheet is no colour.
        colour = f"var(--yard-series-{number % COLOURS + 1})"
        trace["line"] = {
            "color": colour,
            "width": 2,
            "dash": "dot" if number >= COLOURS else "solid",
        }
    shapes = bands.of(chart.metric) if shaded is None else shaded
    top = max((value for line in lines for value in line.values if value is not None), default=0.0)
    found["layout"]["shapes"] = [shape for band in shapes if (shape := _shape(band, top))]
    if note := note_of(chart, drawn=len(lines)):
        found["note"] = note
    if not lines:
        found["data"] = []
    return found


def _mode(values: Sequence[float | None]) -> str:
    """A point without neighbours is on no line, so a few points are drawn as such."""
    few = sum(value is not None for value in values) <= FEW
    return "lines+markers" if few else "lines"


def note_of(chart: Chart, *, drawn: int = 0) -> str:
    """What has to be said beside the lines; empty for a chart that is whole and live."""
    if chart.state is not State.LIVE:
        word = chart.state.words.capitalize()
        return f"{word}: {chart.detail}" if chart.detail else f"{word}."
    hidden = chart.left_out + max(drawn - MOST_DRAWN, 0)
    return f"{hidden} more are in the table and the CSV." if hidden else ""


def _axis(unit: str) -> dict[str, Any]:
    if unit == "share":
        return {"range": [0, 1.02], "tickformat": ".0%"}
    return {"rangemode": "tozero", "title": {"text": unit}}


def _shape(band: Band, top: float) -> dict[str, Any] | None:
    """A band as a shaded strip; one far above all values is left out, it would flatten them."""
    if band.low is not None and band.low > max(top * 1.5, 1e-9) and band.low > top:
        return None
    high = band.high if band.high is not None else max(top * 1.1, (band.low or 0) * 1.1)
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "yref": "y",
        "y0": band.low or 0,
        "y1": high,
        "layer": "below",
        "line": {"width": 0},
        "fillcolor": f"var(--yard-{band.tone})",
        "opacity": 0.12,
    }
