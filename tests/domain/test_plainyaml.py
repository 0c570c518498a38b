"""Pasted YAML becomes plain values, or a sentence; it can do nothing else."""

import pytest

from domain import plainyaml

LAUGHS = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(9))
MERGES = "a: &a {x: 1}\nb: {<<: [*a, *a]}\n"


def test_plain_values_are_what_they_look_like() -> None:
    text = "{a: 1, b: 1.5, c: -3, d: true, e: null, f: 'x', g: [~, yes], h: 1e3}"
    assert plainyaml.read(text) == {
        "a": 1,
        "b": 1.5,
        "c": -3,
        "d": True,
        "e": None,
        "f": "x",
        "g": [None, True],
        "h": 1000.0,
    }


@pytest.mark.parametrize(
    "text",
    ["12:30:45", "59:59.5", "0x" + "f" * 50, "0755", "2026-11-30", "9" * 5000, "=", "<<", ".inf"],
)
def test_what_other_readers_would_turn_into_something_else_stays_text(text: str) -> None:
    assert plainyaml.read(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, r"Anchors and aliases .* \(line 1\)"),
        (MERGES, "Anchors and aliases"),
        ("a: *nobody", "Anchors and aliases"),
        ("a:\n  b: !!bool maybe", r"Tags \(!\) are not taken here \(line 2\)"),
        ("!!timestamp x", "Tags"),
        ("!!python/object/apply:os.system ['id']", "Tags"),
        ("[" * 10_000, "More than 60 levels"),
        ("\n".join(" " * depth + "a:" for depth in range(500)), "More than 60 levels"),
        ("[" + "a," * 11_000 + "]", "More than 10000 values"),
        ("a: [b", "not YAML"),
        ("a: 1\n\ta: 2", r"not YAML \(line 2\)"),
        ("{[a]: b}", "not YAML"),
        ("a: 1\n---\nb: 2", "not YAML"),
        ("\x00\x01\xff", "not YAML"),
        ('a: "x\\0"', "NUL"),
        ('{"\\ud800": 1}', "halves of characters"),
        ("? " * 5000, "More than 60 levels"),
    ],
)
def test_what_is_more_than_plain_is_refused_with_a_sentence(text: str, said: str) -> None:
    with pytest.raises(plainyaml.NotPlain, match=said) as refused:
        plainyaml.read(text)
    assert len(str(refused.value)) < 200
