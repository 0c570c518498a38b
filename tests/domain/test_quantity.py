from fractions import Fraction

import pytest

from domain import quantity


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2", 2),
        ("80Gi", 80 * 2**30),
        ("500m", Fraction(1, 2)),
        ("1e3", 1000),
        ("1E", 10**18),
        ("1Ei", 2**60),
        (".5", Fraction(1, 2)),
        ("1.", 1),
        ("-3k", -3000),
        ("+1u", Fraction(1, 10**6)),
        ("12e-2", Fraction(12, 100)),
    ],
)
def test_a_quantity_is_exact(text: str, amount: int | Fraction) -> None:
    assert quantity.parse(text) == amount


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "80GB", "1Kib", "0x10", "1e99999", "٣"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(quantity.BadQuantity):
        quantity.parse(text)


def test_whole_rounds_up_and_mebibytes_round_down() -> None:
    assert quantity.whole("1500m") == 2
    assert quantity.whole("-1500m") == -1
    assert quantity.mebibytes("1500Ki") == 1


@pytest.mark.parametrize(("amount", "text"), [(85899345920, "80Gi"), (1000, "1000"), (0, "0")])
def test_binary_prints_what_parse_reads(amount: int, text: str) -> None:
    assert quantity.binary(amount) == text
    assert quantity.parse(text) == amount
