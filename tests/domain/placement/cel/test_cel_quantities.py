"""Quantities and versions as Kubernetes reads and orders them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.placement.cel import (
    InvalidQuantity,
    InvalidSemver,
    parse_quantity,
    parse_semver,
)
from domain.placement.cel.quantity import NANO
from domain.placement.cel.semver import normalized_semver


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("40Gi", 40 * 2**30),
        ("1.5Gi", 3 * 2**29),
        ("500m", Fraction(1, 2)),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("-2k", -2000),
        ("+.5", Fraction(1, 2)),
        ("1.", 1),
        (".", 0),
        ("1n", Fraction(1, 10**9)),
        ("0.1n", Fraction(1, 10**9)),
        ("-0.1n", Fraction(-1, 10**9)),
        ("16Ei", 2**63 - 1),
        ("100E", 10**20),
    ],
)
def test_a_quantity_has_its_exact_value(text: str, value: Fraction) -> None:
    assert Fraction(parse_quantity(text).nano, NANO) == value


@pytest.mark.parametrize("text", ["", "Gb", "1 Gi", "1Gb", "1e", "--1", "1.2.3", "1e1.5", "1Kii"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity):
        parse_quantity(text)


def test_an_exponent_out_of_all_proportion_is_refused_and_takes_no_memory() -> None:
    with pytest.raises(InvalidQuantity):
        parse_quantity("1e999999999")


@given(st.integers(0, 10**12), st.sampled_from(["", "k", "M", "Ki", "Mi", "Gi", "m"]))
def test_a_sum_of_quantities_is_exact(number: int, suffix: str) -> None:
    quantity = parse_quantity(f"{number}{suffix}")
    assert quantity.plus(quantity).minus(quantity).nano == quantity.nano


@pytest.mark.parametrize(
    ("text", "integer"),
    [("2", 2), ("1k", 1000), ("1Gi", 2**30), ("1.5Gi", None), ("500m", None), ("10E", None)],
)
def test_only_what_fits_64_bits_plainly_is_an_integer(text: str, integer: int | None) -> None:
    assert parse_quantity(text).as_integer() == integer


ORDERED = (
    *("0.9.9", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1"),
    *("1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.10.0", "2.0.0"),
)


def test_versions_are_ordered_as_semver_says() -> None:
    keys = [parse_semver(text).key for text in ORDERED]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_build_metadata_does_not_count() -> None:
    assert parse_semver("1.0.0+a").key == parse_semver("1.0.0+b").key


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a_b", ".."]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(InvalidSemver):
        parse_semver(text)


@pytest.mark.parametrize(
    ("text", "full"),
    [("v1", "1.0.0"), ("1.2", "1.2.0"), ("v01.02.03", "1.2.3"), ("v1.2.3-rc.1", "1.2.3-rc.1")],
)
def test_a_short_version_is_filled_up_where_that_is_asked(text: str, full: str) -> None:
    assert normalized_semver(text).key == parse_semver(full).key
