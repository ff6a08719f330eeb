"""A period that has no length is a slip of the hand, and is told so."""

import pytest
import typer

from jobledger.adapters.cli.periods import bounds, instant


@pytest.mark.parametrize(
    ("since", "until"), [("2026-02-01", "2026-01-01"), ("2026-01-01", "2026-01-01"), ("1d", "2d")]
)
def test_a_period_that_ends_before_it_begins_is_refused(since: str, until: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not before --until"):
        bounds(since, until)


def test_either_end_may_be_open() -> None:
    begins = instant("2026-01-01")
    assert bounds("", "") == (None, None)
    assert bounds("2026-01-01", "") == (begins, None)
    assert bounds("", "2026-01-01") == (None, begins)
