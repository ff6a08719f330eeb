"""The account of what was handed out: what takes room, what waits and for how long."""

from jobledger.adapters.scheduler.handed_out import (
    AGAIN_SECONDS_MAX,
    HANDED_OUT_SECONDS_MAX,
    HandedOut,
)
from tests.adapters.scheduler.due import a_decision

ONE = a_decision("a").decision_id
NOBODY: frozenset[object] = frozenset()


def the_waits(handed_out: HandedOut, times: int, now: float = 0.0) -> list[float]:
    """Return the seconds from each handing out to the next, all of them in vain."""
    waits = []
    for _ in range(times):
        handed_out.add([ONE], now)
        lost = next_at = now + HANDED_OUT_SECONDS_MAX + 1
        assert ONE in handed_out.account(now).in_flight
        assert ONE not in handed_out.account(lost).in_flight
        while ONE not in handed_out.account(next_at).again:
            assert ONE in handed_out.account(next_at).waiting
            next_at += HANDED_OUT_SECONDS_MAX
        waits.append(next_at - 1 - now)
        now = next_at
    return waits


def test_each_time_in_vain_it_waits_twice_as_long_but_never_too_long() -> None:
    assert the_waits(HandedOut(), 9) == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_it_may_be_in_vain_for_years() -> None:
    handed_out, now = HandedOut(), 0.0
    for _ in range(1100):
        handed_out.add([ONE], now)
        now += AGAIN_SECONDS_MAX + 1
        assert handed_out.account(now).again == {ONE}


def test_what_was_dealt_with_is_forgotten_in_flight_and_waiting() -> None:
    handed_out = HandedOut()
    handed_out.add([ONE], 0.0)
    assert handed_out.forget(ONE) == 1
    assert handed_out.account(1000.0).again == NOBODY
    the_waits(handed_out, 3)
    assert handed_out.forget(ONE) == 0
    assert the_waits(handed_out, 2, 1000.0) == [60, 120]


def test_nothing_waits_any_more_once_the_waits_are_forgotten() -> None:
    handed_out = HandedOut()
    the_waits(handed_out, 3)
    handed_out.add([ONE], 1000.0)
    assert handed_out.account(1061.0).waiting == {ONE}
    handed_out.forget_waits()
    account = handed_out.account(1061.0)
    assert (account.in_flight, account.waiting, account.again) == (NOBODY, NOBODY, NOBODY)
    assert the_waits(handed_out, 2, 1061.0) == [60, 120]


def test_what_is_in_flight_stays_so_when_the_waits_are_forgotten() -> None:
    handed_out = HandedOut()
    handed_out.add([ONE], 0.0)
    handed_out.forget_waits()
    assert handed_out.account(1.0).in_flight == {ONE}


def test_what_nobody_hands_out_any_more_is_forgotten() -> None:
    handed_out = HandedOut()
    handed_out.add([ONE], 0.0)
    assert handed_out.account(HANDED_OUT_SECONDS_MAX + AGAIN_SECONDS_MAX).again == {ONE}
    assert handed_out.account(HANDED_OUT_SECONDS_MAX + AGAIN_SECONDS_MAX + 1).again == NOBODY
