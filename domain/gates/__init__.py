"""Gates: what a figure must be, by itself and beside the current pool, for a step to count."""

from domain.gates.gate import Gate, content_of, gates_from
from domain.gates.judging import Judged, Side, judge
from domain.gates.measured import METRICS, PROMQL, Measured
from domain.gates.standing import Standing, Tally, standing, tally
from domain.gates.templates import TEMPLATES, Template
from domain.gates.verdicts import Verdict

__all__ = [
    "METRICS",
    "PROMQL",
    "TEMPLATES",
    "Gate",
    "Judged",
    "Measured",
    "Side",
    "Standing",
    "Tally",
    "Template",
    "Verdict",
    "content_of",
    "gates_from",
    "judge",
    "standing",
    "tally",
]
