"""From where on a value is worth a look: the bands that charts shade. Starting points, to be read
with the service's own objectives; a page's URL may name others."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Band:
    """Between `low` and `high` (None: without end), `tone` as the style sheet names it."""

    low: float | None
    high: float | None
    tone: str


BANDS: dict[str, tuple[Band, ...]] = {
    "kv_usage": (Band(0.8, 0.95, "warn"), Band(0.95, None, "bad")),
    "error_ratio": (Band(0.01, 0.05, "warn"), Band(0.05, None, "bad")),
    "ready": (Band(None, 0.5, "bad"), Band(0.5, 0.999, "warn")),
    "alive": (Band(None, 0.999, "warn"),),
    "ttft": (Band(2.0, 5.0, "warn"), Band(5.0, None, "bad")),
    "tpot": (Band(0.1, 0.25, "warn"), Band(0.25, None, "bad")),
    "pending": (Band(30.0, 300.0, "warn"), Band(300.0, None, "bad")),
    "fragmentation": (Band(0.2, None, "warn"),),
}


def of(metric: str, most: float | None = None) -> tuple[Band, ...]:
    """The metric's bands, or one above a limit that the reader chose."""
    return BANDS.get(metric, ()) if most is None else (Band(most, None, "bad"),)
