"""Which amounts are read; what no machine could have is none, and costs nothing to refuse."""

import pytest

from jobledger.core.values.documents import Json
from jobledger.core.values.quantities import parse_quantity, times


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("100m", "100m"),
        ("1.5Gi", "1536Mi"),
        (1.5, "1500m"),
        ("1e3", "1k"),
        ("1e18", "1E"),
        ("1E-3", "1m"),
        (2**62, str(2**62)),
        ("1e19", "10E"),
        ("10E", "10E"),
        ("7Ei", "7Ei"),
        ("8Ei", str(2**63 - 1)),
        ("-9Ei", str(1 - 2**63)),
        ("0.5Ki", "512"),
        ("1e-10", "1n"),
        ("-1e-10", "-1n"),
        ("1E-5000000", "1n"),
        ("1.0000000001Ki", "1024000000103n"),
    ],
)
def test_an_amount_is_read_and_written_canonically(written: Json, shown: str) -> None:
    assert str(parse_quantity(written)) == shown


@pytest.mark.parametrize(
    "written",
    [
        "1e5000000",
        "1e65",
        "9" * 5_000,
        "0." + "0" * 5_000 + "1",
        10**5_000,
        "",
        "much",
        True,
        float("nan"),
        float("inf"),
        None,
    ],
    ids=lambda written: str(type(written)) if isinstance(written, int) else str(written)[:12],
)
def test_what_no_machine_could_have_is_no_amount(written: Json) -> None:
    assert parse_quantity(written) is None


def test_what_is_less_than_a_nano_counts_as_one_for_each() -> None:
    """Source: Quantity, which rounds what it reads, not what it adds up."""
    each = parse_quantity("0.1n")
    assert each is not None
    assert str(times({"cpu": each}, 3)["cpu"]) == "3n"


def test_many_that_are_alike_are_multiplied_and_not_listed() -> None:
    each = {"cpu": parse_quantity("500m")}
    assert each["cpu"] is not None
    assert str(times({"cpu": each["cpu"]}, 2**31)["cpu"]) == "1073741824"
    assert times({"cpu": each["cpu"]}, 0) == {}
