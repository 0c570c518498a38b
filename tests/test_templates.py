"""What no template may hold: the pages' policy would refuse it, or people would see it."""

import re
from pathlib import Path

import pytest

TEMPLATES = sorted((Path(__file__).parents[1] / "templates").rglob("*.html"))
FORBIDDEN = {
    r"\sstyle=": "inline style",
    r"\son(click|change|submit|load|input|key\w+|mouse\w+|focus|blur)=": "inline script",
    r"hx-on": "inline script",
    r"<script(?![^>]*\ssrc=)": "inline script",
    r"\|safe\b": "unescaped data",
    r"autoescape off": "unescaped data",
    r"javascript:": "inline script",
    r'hx-trigger="[^"]*\[': "a trigger that needs eval",
}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_hold_no_inline_code(path: Path) -> None:
    text = re.sub(r"\{%.*?%\}", "", path.read_text(encoding="utf-8"))
    found = [what for pattern, what in FORBIDDEN.items() if re.search(pattern, text)]
    assert found == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_comments_of_one_line_end_on_it(path: Path) -> None:
    """A `{#` that goes on over a line is shown to people."""
    for line in path.read_text(encoding="utf-8").splitlines():
        assert line.count("{#") == line.count("#}")
