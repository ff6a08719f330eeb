"""The rule can fail: what grows is found, what breathes is not."""

import pytest

from tests.soak.flatness import Limit, judge, plot

LIMIT = Limit(share=0.1, amount=2)


@pytest.mark.parametrize(
    ("values", "is_flat"),
    [
        ([100.0] * 60, True),
        ([100.0 + 8 * (number % 2) for number in range(60)], True),
        ([20.0 * number for number in range(12)] + [240.0] * 48, True),
        ([100.0 + number for number in range(60)], False),
        ([100.0] * 40 + [113.0] * 20, False),
        ([100.0] * 40 + [111.0] * 20, True),
        ([100.0 - number for number in range(60)], True),
        ([100.0] * 10, False),
    ],
)
def test_what_grows_is_found(values: list[float], is_flat: bool) -> None:
    """The last row has too few samples to prove anything."""
    assert judge("it", values, LIMIT).is_flat is is_flat


def test_a_plot_shows_the_course() -> None:
    assert plot([99, 0, 1, 2, 4, 8]) == " ▁▂▄█"
    assert plot([]) == ""
    assert len(plot([1.0] * 1000)) <= 60
