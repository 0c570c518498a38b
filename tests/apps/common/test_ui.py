"""How things are shown: never zero for missing, never markup from data, never colour alone."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Template
from django.utils import timezone

from apps.common import drawings, vendored
from apps.common.amounts import amount_text, span_text
from apps.common.drawings import Segment
from apps.common.icons import LOOKS, SPRITE


def render(source: str, **context: object) -> str:
    return Template(source).render(Context(context))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (605, "10 min"),
        (3600, "1 h"),
        (3720, "1 h 2 min"),
        (40_000, "11 h"),
        (90_000, "1 d 1 h"),
        (-120, "-2 min"),
    ],
)
def test_spans(seconds: int, text: str) -> None:
    assert span_text(seconds) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1536, "devices", "1,536 devices"),
        (81920, "MiB", "80 GiB"),
        (512, "MiB", "512 MiB"),
        (1250, "ms", "1.25 s"),
        (1.25, "s", "1.25 s"),
        (0.0487, "s", "48.7 ms"),
        (0.5, "share", "50 %"),
        (85899345920, "bytes", "80 GiB"),
        (0, "MiB", "0 MiB"),
        (0.0, "", "0"),
        (12.345, "%", "12.3 %"),
    ],
)
def test_amounts(value: float, unit: str, text: str) -> None:
    assert amount_text(value, unit) == text


def test_missing_is_a_dash_and_zero_is_zero() -> None:
    assert "—" in render("{% amount value %}", value=None)
    assert "—" in render("{% ago value %}", value=None)
    assert ">0<" in render("{% amount value %}", value=0)
    assert "not known" in render("{% meter None 4 %}")


def test_times_say_utc_without_a_script() -> None:
    at = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
    assert "2026-05-01 12:30:00 UTC" in render("{% moment at %}", at=at)
    assert "3 min ago" in render("{% ago at %}", at=timezone.now() - timedelta(minutes=3))
    assert "in 1 h" in render("{% ago at %}", at=timezone.now() + timedelta(hours=1, seconds=5))


HOSTILE = '"><script>alert(1)</script>'


@pytest.mark.parametrize(
    "source",
    [
        "{% state x %}",
        "{% chip x x x %}",
        "{% code x x %}",
        "{% diff x %}",
        "{% empty 'failed' x x %}",
        "{% freshness 'stale' message=x %}",
        "{% donut segments x x %}",
        "{% bar segments label=x %}",
        "{% legend segments %}",
        "{% part x x %}",
        "{% chart x x %}",
        "{% action x x why_not=x %}",
        "{% action x x confirm=x name=x %}",
        "{% icon x label=x %}",
    ],
)
def test_hostile_text_stays_text(source: str) -> None:
    html = render(source, x=HOSTILE, segments=[Segment(HOSTILE, HOSTILE, 1)])
    assert "<script" not in html
    assert "style=" not in html


def test_every_icon_that_is_named_exists() -> None:
    sprite = (settings.BASE_DIR / "static" / SPRITE).read_text()
    known = set(re.findall(r'<symbol id="([^"]+)"', sprite))
    named = {look.icon for look in LOOKS.values()}
    for path in Path(settings.BASE_DIR / "templates").rglob("*.html"):
        named |= set(re.findall(r'\{% icon "([^"]+)"', path.read_text()))
        named |= set(re.findall(r'icon="([^"]+)"', path.read_text()))
    assert named <= known


def test_a_ring_adds_up_to_its_circumference() -> None:
    segments = [Segment("dra", "a", 3), Segment("free", "b", 1)]
    html = drawings.donut(segments, center="4", caption="cards")
    lengths = [float(one) for one in re.findall(r'stroke-dasharray="([\d.]+) ', html)]
    around = 2 * 3.14159265 * drawings.RADIUS
    assert sum(lengths) == pytest.approx(around, abs=3)
    assert lengths[0] > 2.5 * lengths[1]


@pytest.mark.parametrize("amounts", [[], [0, 0], [0.0]])
def test_nothing_draws_as_nothing(amounts: list[float]) -> None:
    segments = [Segment("free", "free", amount) for amount in amounts]
    assert "donut-arc" not in drawings.donut(segments, center="0", caption="")
    assert "none" in drawings.bar(segments)


def test_a_gap_in_a_line_stays_a_gap() -> None:
    assert drawings.spark([1, None, 2, 3], label="x").count("<polyline") == 2


def test_vendored_files_are_checked(tmp_path: Path) -> None:
    (tmp_path / "VENDOR.md").write_text(f"| a.js | npm | MIT | none | {'0' * 64} |\n")
    (tmp_path / "a.js").write_text("changed")
    (tmp_path / "b.js").write_text("unlisted")
    assert [fault.partition(" ")[0] for fault in vendored.faults(tmp_path)] == [
        "a.js",
        "a.js",
        "b.js",
    ]


def test_our_own_vendored_files_are_as_listed() -> None:
    assert vendored.faults(settings.BASE_DIR / "static" / "vendor") == []
