"""What is left of a job's budget does not depend on how often the service was started anew."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobledger.core.jobs.budget import HOUR_SECONDS, budget_after, whole_budget
from tests.properties.effort import effort

PER_HOUR = 100
START = 1_000_000.0
turns = st.lists(
    st.tuples(st.floats(0, HOUR_SECONDS), st.integers(1, PER_HOUR // 5)), min_size=1, max_size=60
)
"""Seconds since the turn before, and the events that it brought."""


@effort
@given(turns, st.floats(0, 2 * HOUR_SECONDS))
def test_a_budget_that_was_read_from_the_log_is_the_one_that_was_kept(
    taken: list[tuple[float, int]], later: float
) -> None:
    instants = list(accumulate((pause for pause, _ in taken), initial=START))[1:]
    kept = whole_budget(PER_HOUR, START)
    for at, (_, events) in zip(instants, taken, strict=True):
        kept = kept.now(at).without(events)
    now = instants[-1] + later
    ages = [
        now - at for at, (_, events) in zip(instants, taken, strict=True) for _ in range(events)
    ]
    assert budget_after(PER_HOUR, now, ages).left == pytest.approx(kept.now(now).left, abs=1e-3)


@effort
@given(st.lists(st.floats(0, 100), min_size=1, max_size=400), st.integers(1, 20))
def test_no_hour_has_more_events_than_the_budget_however_often_it_is_read_anew(
    pauses: list[float], per_turn: int
) -> None:
    now, written = START, list[float]()
    for pause in pauses:
        now += pause
        if not budget_after(PER_HOUR, now, [now - at for at in written]).is_used_up:
            written += [now] * per_turn
    for first in written:
        in_an_hour = sum(first <= at <= first + HOUR_SECONDS for at in written)
        assert in_an_hour <= PER_HOUR + per_turn


def test_a_clock_that_was_set_back_makes_nothing_good() -> None:
    assert budget_after(PER_HOUR, START, [-HOUR_SECONDS] * 50).is_used_up


def test_nor_does_it_keep_a_job_waiting_longer() -> None:
    """What seems to lie ahead counts as written now: what was used comes back from now on."""
    found = budget_after(PER_HOUR, START, [-HOUR_SECONDS] * 50)
    assert found.now(START + HOUR_SECONDS).is_whole
