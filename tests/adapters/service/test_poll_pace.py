"""How often a head is asked: no more than upstream asks over a minute, and quickly at first."""

import itertools

import pytest

from jobledger.adapters.kinds.rayjob.heads.poll_pace import AFTER_HINT, Pace

INTERVAL = 3.0


def instants(pace: Pace, seconds: float, *, followed_after: float | None = None) -> list[float]:
    """Return when a job of so many seconds is asked about, its end included."""
    asked, now = [], 0.0
    while now < seconds:
        asked.append(now)
        is_followed = followed_after is not None and now >= followed_after
        now += pace.pause(now, INTERVAL, is_followed=is_followed)
    return [*asked, now]


@pytest.mark.parametrize("seconds", [60, 61, 75, 90, 120, 300, 3600])
@pytest.mark.parametrize("followed_after", [None, 0.0, 2.0, 40.0])
def test_a_job_of_a_minute_or_more_is_asked_about_no_more_often_than_by_upstream(
    seconds: float, followed_after: float | None
) -> None:
    upstreams = int(seconds / INTERVAL) + 1
    asked = instants(Pace(is_hinted=True), seconds, followed_after=followed_after)
    assert len(asked) - 1 <= upstreams


def test_a_job_of_a_few_seconds_is_asked_about_quickly() -> None:
    asked = instants(Pace(is_hinted=True), 4)
    assert [later - earlier for earlier, later in itertools.pairwise(asked)] == (
        pytest.approx([0.3, 0.6, 1.2, 2.4])
    )


def test_a_job_with_a_submitter_is_asked_about_at_every_interval() -> None:
    assert instants(Pace(), 9) == [0, 3, 6, 9]


def test_after_a_hint_it_is_asked_a_few_times_quickly_and_then_as_before() -> None:
    pace = Pace(is_hinted=True)
    for _ in range(8):
        pace.pause(100.0, INTERVAL, is_followed=True)
    pace.hint()
    pauses = [pace.pause(200.0, INTERVAL, is_followed=True) for _ in range(len(AFTER_HINT) + 1)]
    assert pauses == [*AFTER_HINT, 5 * INTERVAL]


def test_no_pause_is_longer_than_a_short_interval_asks_for() -> None:
    pace = Pace(is_hinted=True)
    assert pace.pause(0.0, 0.05, is_followed=False) == 0.05
