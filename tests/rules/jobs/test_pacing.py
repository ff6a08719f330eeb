"""What is called for again and again waits longer each time; counted is by what is wanted."""

from datetime import timedelta

from jobledger.core.jobs.pending.effects import EffectKind, RefusedEffect, RepeatedEffect
from jobledger.core.jobs.pending.pacing import (
    A_SHORT_WHILE,
    done_once_more,
    waiting_keys,
    wanted_tries,
)
from tests.support.records import NOON

KEY = (EffectKind.ADD_FINALIZER, "rayjob")


def after_doing(times: int, every: timedelta) -> tuple[RepeatedEffect, ...]:
    """Return what is remembered after the same was done so often."""
    repeated: tuple[RepeatedEffect, ...] = ()
    for number in range(times):
        repeated = done_once_more(repeated, KEY, NOON + number * every)
    return repeated


def test_what_was_done_may_be_done_again_three_times_and_then_waits_longer_each_time() -> None:
    pauses = []
    for times in range(1, 12):
        repeated = after_doing(times, timedelta(seconds=1))
        done_at = NOON + timedelta(seconds=times - 1)
        tries = wanted_tries((), repeated, {KEY}, 10)
        pauses.append([(item.due_at - done_at).total_seconds() for item in tries])
    assert pauses == [[], [], [], [10], [20], [40], [80], [160], [300], [300], [300]]


def test_what_was_done_long_ago_is_not_counted() -> None:
    rarely = after_doing(9, A_SHORT_WHILE + timedelta(seconds=1))
    assert waiting_keys((), rarely) == frozenset()


def test_what_was_dropped_unsent_waits_from_the_first_time_on() -> None:
    dropped = done_once_more((), KEY, NOON, unsent=True)
    assert waiting_keys((), dropped) == {KEY}


def test_what_is_not_called_for_is_not_tried_again() -> None:
    assert list(wanted_tries((), after_doing(5, timedelta(seconds=1)), (), 10)) == []


def test_no_setting_makes_a_pause_of_nothing() -> None:
    kind, name = KEY
    refused = RefusedEffect(kind=kind, name=name, times=1, refused_at=NOON, trouble="no")
    (tried,) = wanted_tries((refused,), after_doing(5, timedelta(seconds=1)), {KEY}, 0)
    assert tried.due_at == NOON + timedelta(seconds=1)
    assert tried.cause == "add_finalizer was refused: no"
