"""What a tenant may still ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import quota
from domain.errors import QuotaExceeded

AMOUNTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 20))


@pytest.mark.parametrize(
    ("used", "asked", "fits"),
    [
        ({}, {"h100": 4}, True),
        ({"h100": 3}, {"h100": 1}, True),
        ({"h100": 4}, {"h100": 1}, False),
        ({}, {"l40s": 1}, False),  # no limit means not allowed
        ({"h100": 9}, {"h100": 0}, True),  # over quota already, but asks for nothing
        ({"h100": 9}, {}, True),
    ],
)
def test_room(used: dict[str, int], asked: dict[str, int], fits: bool) -> None:
    assert (quota.shortfalls(limits={"h100": 4}, used=used, asked=asked) == []) is fits


def test_a_refusal_names_every_class_with_its_numbers() -> None:
    with pytest.raises(QuotaExceeded) as refused:
        quota.require_room(limits={"a": 2}, used={"a": 1}, asked={"a": 3, "b": 1})
    assert str(refused.value) == (
        "Over quota. a: asked for 3, 1 of 2 left; "
        "b: this tenant has no quota for it in this cluster."
    )


@given(limits=AMOUNTS, used=AMOUNTS, asked=AMOUNTS)
def test_what_fits_stays_within_its_limits(
    limits: dict[str, int], used: dict[str, int], asked: dict[str, int]
) -> None:
    if not quota.shortfalls(limits=limits, used=used, asked=asked):
        after = quota.total([used, asked])
        assert all(after[name] <= limits[name] for name in asked if asked[name])


@given(before=AMOUNTS, after=AMOUNTS)
def test_more_is_what_must_be_added_and_never_negative(
    before: dict[str, int], after: dict[str, int]
) -> None:
    added = quota.more(before=before, after=after)
    assert all(amount > 0 for amount in added.values())
    assert all(before.get(name, 0) + added.get(name, 0) >= after[name] for name in after)


def test_lines_cover_what_is_limited_used_or_asked_for() -> None:
    found = quota.lines(limits={"a": 4}, used={"b": 1}, asked={"c": 2, "a": 4})
    assert [(one.resource, one.limit, one.used, one.after, one.fits) for one in found] == [
        ("a", 4, 0, 4, True),
        ("b", None, 1, 1, True),
        ("c", None, 0, 2, False),
    ]
    assert found[0].percent_after == 100
