"""Figures of a migration: the wished and the measured share, and each gate with its samples."""

from typing import Any

import plotly.graph_objects as go

from apps.rollouts.models import GateSample, Migration, Workload
from domain.gates import METRICS, Gate, Verdict

MOST_POINTS = 500
_TONES = {
    Verdict.PASS: "good",
    Verdict.FAIL: "bad",
    Verdict.NO_DATA: "wait",
    Verdict.INCONCLUSIVE: "warn",
    Verdict.ERROR: "warn",
}


def _layout(unit: str) -> dict[str, Any]:
    return {
        "template": None,
        "margin": {"l": 56, "r": 12, "t": 8, "b": 32},
        "xaxis": {"type": "date"},
        "yaxis": {"rangemode": "tozero", "title": {"text": unit}},
        "hovermode": "x unified",
    }


def share_figure(migration: Migration, move: Workload) -> dict[str, Any]:
    """The weight of the new pool, and the share of requests that it really got."""
    rows = list(
        GateSample.objects.filter(workload=move)
        .order_by("-at")
        .values_list("at", "weight", "candidate")[: MOST_POINTS * 4]
    )
    points = {at: (weight, told.get("share")) for at, weight, told in reversed(rows)}
    times = list(points)[-MOST_POINTS:]
    shares = [points[at][1] for at in times]
    made = go.Figure(
        data=[
            go.Scatter(
                name="wished", x=times, y=[points[at][0] for at in times], line={"shape": "hv"}
            ),
            go.Scatter(
                name="measured",
                x=times,
                y=[None if share is None else share * 100 for share in shares],
                mode="lines+markers",
                connectgaps=False,
            ),
        ],
        layout=_layout("% of requests"),
    )
    found: dict[str, Any] = dict(made.to_plotly_json())
    for trace, tone in zip(found["data"], ("wait", "dra"), strict=True):
        trace["line"] = trace.get("line", {}) | {"color": f"var(--yard-{tone})", "width": 2}
    if not times:
        found["note"] = "No sample yet: the new pool is not judged so far."
    return found


def gate_figure(migration: Migration, gate: Gate, move: Workload | None) -> dict[str, Any]:
    """Both pools over time, every sample in the colour of its verdict, and the limits."""
    samples = GateSample.objects.filter(migration=migration, gate=gate.name)
    if move is not None:
        samples = samples.filter(workload=move)
    rows = list(samples.order_by("-at")[:MOST_POINTS])[::-1]
    times = [row.at for row in rows]
    new = [row.candidate.get("value") for row in rows]
    old = [row.current.get("value") for row in rows]
    data = [
        go.Scatter(name="new pool", x=times, y=new, mode="lines", connectgaps=False),
        go.Scatter(name="old pool", x=times, y=old, mode="lines", connectgaps=False),
    ]
    for verdict in Verdict:
        chosen = [row for row in rows if row.verdict == verdict]
        if chosen:
            data.append(
                go.Scatter(
                    name=verdict.value,
                    x=[row.at for row in chosen],
                    y=[row.candidate.get("value") or 0 for row in chosen],
                    text=[row.reason for row in chosen],
                    mode="markers",
                )
            )
    made = go.Figure(data=data, layout=_layout(METRICS[gate.metric].unit or "value"))
    found: dict[str, Any] = dict(made.to_plotly_json())
    _paint(found, gate, [value for value in (*new, *old) if value is not None], old)
    if not rows:
        found["note"] = "No sample of this gate yet."
    return found


def _paint(found: dict[str, Any], gate: Gate, values: list[float], old: list[float | None]) -> None:
    """Colours and limits, after the check by Plotly, to which a style sheet's name is none."""
    colours = {"new pool": "dra", "old pool": "plugin"}
    for trace in found["data"]:
        name = trace["name"]
        tone = colours.get(name) or _TONES[Verdict(name)]
        trace["line"] = {"color": f"var(--yard-{tone})", "width": 2}
        trace["marker"] = {"color": f"var(--yard-{tone})", "size": 8}
    beside = [value for value in old if value is not None]
    limits = [
        (gate.at_most, "above"),
        (gate.at_least, "below"),
        (_times(gate.ratio_at_most, beside), "above"),
        (_times(gate.ratio_at_least, beside), "below"),
    ]
    top = max([*values, *(limit for limit, _ in limits if limit is not None)], default=1.0) * 1.2
    found["layout"]["shapes"] = [
        {
            "type": "rect",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": limit if side == "above" else 0,
            "y1": max(top, limit) if side == "above" else limit,
            "fillcolor": "var(--yard-bad)",
            "opacity": 0.12,
            "line": {"width": 0},
        }
        for limit, side in limits
        if limit is not None
    ]


def _times(ratio: float | None, beside: list[float]) -> float | None:
    """A relative limit as a line, from the newest figure of the old pool."""
    return ratio * beside[-1] if ratio is not None and beside else None
