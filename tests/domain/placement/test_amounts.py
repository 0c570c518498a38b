import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.placement.amounts import NANO, NotAnAmount, parse


@pytest.mark.parametrize(
    ("text", "nanos", "printed"),
    [
        ("1024Mi", 1024 * 2**20 * NANO, "1Gi"),
        ("1536Mi", 1536 * 2**20 * NANO, "1536Mi"),
        ("1.5Gi", 1536 * 2**20 * NANO, "1536Mi"),
        ("500m", NANO // 2, "500m"),
        ("0.5", NANO // 2, "500m"),
        ("1000", 1000 * NANO, "1k"),
        ("1e3", 1000 * NANO, "1e3"),
        ("0.1n", 1, "1n"),
        ("-3", -3 * NANO, "-3"),
        ("0", 0, "0"),
        ("9Ei", (2**63 - 1) * NANO, "9223372036854775807"),
        ("100Ki", 100 * 1024 * NANO, "100Ki"),
        ("512", 512 * NANO, "512"),
    ],
)
def test_an_amount_is_exact_and_prints_as_kubernetes_prints_it(
    text: str, nanos: int, printed: str
) -> None:
    assert parse(text).nanos == nanos
    assert str(parse(text)) == printed


@pytest.mark.parametrize("text", ["", "Gi", "1GB", "1 Gi", "--1", "1e", ".", "0x10"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(NotAnAmount):
        parse(text)


@given(st.integers(0, 2**40), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"]))
def test_printing_loses_nothing(count: int, suffix: str) -> None:
    amount = parse(f"{count}{suffix}")
    assert parse(str(amount)) == amount
