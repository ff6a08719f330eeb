"""The job store: reads, hands out, forgets nothing, and never raises."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import tzlocal.unix
from structlog.testing import capture_logs

from jobledger.adapters.scheduler.handed_out import HANDED_OUT_SECONDS_MAX
from jobledger.adapters.scheduler.job_store import (
    ERROR_PAUSE,
    IN_FLIGHT_MAX,
    SLEEP_MAX,
    DecisionJobStore,
)
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.rows import DecisionRow
from tests.adapters.scheduler.due import ALL, Broken, Table, a_decision
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON

ONE_SECOND = timedelta(seconds=1)


class Desk:
    def __init__(self, *rows: DecisionRow) -> None:
        self.clock = SimulatedClock(NOON)
        self.table = Table(*rows)
        self.shards = ALL
        self.told: list[DecisionRow] = []
        self.store = DecisionJobStore(self.table, self.clock, lambda: self.shards, self.told.append)

    def due(self) -> list[str]:
        """Return what is handed out now, by cause."""
        jobs = self.store.get_due_jobs(datetime.now(UTC))
        return [job.args[0].cause for job in jobs]

    def due_at_a_look(self) -> list[str]:
        """Return what is handed out by a look at the table, whatever is known of it."""
        self.store.needs_wake(None)
        return self.due()

    def pause(self) -> timedelta:
        """Return how long the engine would sleep."""
        at = self.store.get_next_run_time()
        assert at is not None
        return at - datetime.now(UTC)


def test_what_is_overdue_by_hours_is_handed_out_the_earliest_first() -> None:
    desk = Desk(a_decision("b", -3600), a_decision("a", -9 * 3600), a_decision("c", 1))
    assert desk.due() == ["a", "b"]


@pytest.mark.parametrize("zone", ["UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "Nowhere/At_All"])
def test_it_asks_for_no_time_zone_of_the_machine(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """APScheduler takes names of zones alone: nothing was carried out, and all seemed well."""
    monkeypatch.setenv("TZ", zone)
    monkeypatch.setattr(tzlocal.unix, "_cache_tz", None)
    assert Desk(a_decision("a")).due() == ["a"]


def test_what_was_handed_out_is_not_handed_out_again_before_it_is_dealt_with() -> None:
    row = a_decision("a")
    desk = Desk(row)
    assert [desk.due(), desk.due_at_a_look()] == [["a"], []]
    desk.store.dealt_with(row.decision_id)
    assert desk.due_at_a_look() == ["a"]


def test_what_is_not_dealt_with_is_handed_out_again_after_a_minute() -> None:
    desk = Desk(a_decision("a"))
    assert desk.due() == ["a"]
    desk.clock.advance(HANDED_OUT_SECONDS_MAX)
    assert desk.due_at_a_look() == []
    desk.clock.advance(0.001)
    assert desk.due_at_a_look() == ["a"]


def test_decisions_of_shards_that_are_not_worked_on_are_left_alone() -> None:
    desk = Desk(a_decision("a"))
    desk.shards = frozenset()
    assert desk.due() == []
    assert desk.pause() > SLEEP_MAX - ONE_SECOND


def test_no_more_are_handed_out_than_may_be_in_flight() -> None:
    rows = [a_decision(f"{number}", number - 1000) for number in range(IN_FLIGHT_MAX + 5)]
    desk = Desk(*rows)
    assert (len(desk.due()), desk.due()) == (IN_FLIGHT_MAX, [])
    assert desk.pause() > SLEEP_MAX - ONE_SECOND, "whoever deals with one wakes the engine"
    assert desk.store.dealt_with(rows[0].decision_id), "there was no room"
    desk.table.end(rows[0].decision_id)
    assert desk.due() == [str(IN_FLIGHT_MAX)]
    desk.store.dealt_with(rows[1].decision_id)
    assert not desk.store.dealt_with(rows[2].decision_id), "there was room"


def test_what_nobody_can_deal_with_leaves_room_for_others_however_many_there_are() -> None:
    hopeless = [a_decision(f"{number}", number - 10_000) for number in range(3 * IN_FLIGHT_MAX)]
    desk = Desk(*hopeless, a_decision("good", -1))
    handed_out: list[str] = []
    for _ in range(4):
        handed_out += desk.due_at_a_look()
        desk.clock.advance(HANDED_OUT_SECONDS_MAX + 1)
    assert handed_out[: len(desk.table.rows)] == [*(row.cause for row in hopeless), "good"]


def test_what_was_handed_out_in_vain_comes_after_what_was_not() -> None:
    rows = [a_decision(f"{number}", number - 1000) for number in range(IN_FLIGHT_MAX)]
    desk = Desk(*rows)
    assert len(desk.due()) == IN_FLIGHT_MAX
    desk.clock.advance(HANDED_OUT_SECONDS_MAX + 1)
    desk.table.add(a_decision("new"))
    again = desk.due_at_a_look()
    assert (len(again), again[:2]) == (IN_FLIGHT_MAX, ["new", "0"])


def test_while_it_waits_it_takes_no_room_and_the_engine_sleeps() -> None:
    rows = [a_decision(f"{number}", number - 1000) for number in range(IN_FLIGHT_MAX)]
    desk = Desk(*rows)
    for _ in range(2):
        assert len(desk.due_at_a_look()) == IN_FLIGHT_MAX
        desk.clock.advance(HANDED_OUT_SECONDS_MAX + 1)
    assert desk.due_at_a_look() == []
    assert desk.pause() > SLEEP_MAX - ONE_SECOND
    desk.table.add(a_decision("new"))
    assert desk.due_at_a_look() == ["new"]
    desk.clock.advance(HANDED_OUT_SECONDS_MAX)
    assert len(desk.due_at_a_look()) == IN_FLIGHT_MAX - 1, "one of them is in flight"


def test_the_engine_sleeps_until_the_next_decision_but_never_too_long() -> None:
    desk = Desk(a_decision("a", 10))
    assert timedelta(seconds=9) < desk.pause() <= timedelta(seconds=10)
    desk.clock.advance(9)
    assert timedelta() < desk.pause() <= ONE_SECOND
    desk.clock.advance(100)
    assert desk.pause() <= timedelta()
    assert SLEEP_MAX - ONE_SECOND < Desk(a_decision("b", 3600)).pause() <= SLEEP_MAX
    assert SLEEP_MAX - ONE_SECOND < Desk().pause() <= SLEEP_MAX


def test_the_engine_is_woken_only_for_what_it_would_miss() -> None:
    desk = Desk(a_decision("a", 10))
    assert desk.store.needs_wake(NOON), "it has not looked yet"
    desk.pause()
    assert desk.store.needs_wake(NOON + timedelta(seconds=9))
    assert not desk.store.needs_wake(NOON + timedelta(seconds=11))
    assert desk.store.needs_wake(None), "anything may have changed"


def test_what_is_announced_need_not_be_asked_for() -> None:
    """Most wake-ups announce a decision that is due later: they cost no query."""
    desk = Desk(a_decision("a", 10))
    assert desk.due() == []
    desk.pause()
    asked = desk.table.asked
    desk.table.add(a_decision("b", 5))
    assert desk.store.needs_wake(NOON + timedelta(seconds=5))
    assert desk.due() == []
    assert timedelta(seconds=4) < desk.pause() <= timedelta(seconds=5)
    assert desk.table.asked == asked
    desk.clock.advance(5)
    assert desk.due() == ["b"]


def test_one_query_tells_what_is_due_and_how_long_to_sleep() -> None:
    desk = Desk(a_decision("a", -1), a_decision("b", 10))
    assert desk.due() == ["a"]
    assert timedelta(seconds=9) < desk.pause() <= timedelta(seconds=10)
    assert desk.due() == []
    assert desk.table.asked == 1


def test_what_falls_due_within_a_second_is_read_before_and_handed_out_at_its_instant() -> None:
    desk = Desk(a_decision("a", -1), a_decision("b", 0.4), a_decision("c", 0.7))
    assert desk.due() == ["a"]
    assert timedelta(seconds=0.3) < desk.pause() <= timedelta(seconds=0.4)
    desk.clock.advance(0.4)
    assert (desk.due(), desk.due()) == (["b"], [])
    desk.clock.advance(0.3)
    assert desk.due() == ["c"]
    assert desk.table.asked == 1


def test_the_ledger_is_asked_before_what_is_known_ends_and_nobody_waits_for_its_answer() -> None:
    desk = Desk(*(a_decision(f"{due_in}", due_in) for due_in in (0.85, 0.95, 1.3)))
    assert desk.due() == []
    desk.clock.advance(0.85)
    assert desk.due() == ["0.85"]
    asked = desk.table.asked
    assert timedelta() < desk.pause() <= timedelta(seconds=0.1)
    assert desk.table.asked == asked + 1, "half a second before the end, as there is time"
    desk.clock.advance(0.1)
    assert desk.due() == ["0.95"]
    desk.pause()
    desk.clock.advance(0.35)
    assert (desk.due(), desk.table.asked) == (["1.3"], asked + 1)


def test_one_that_was_read_before_is_not_handed_out_if_it_is_dealt_with_meanwhile() -> None:
    row = a_decision("b", 0.4)
    desk = Desk(row, a_decision("c", 0.7))
    assert desk.due() == []
    desk.table.end(row.decision_id)
    desk.store.dealt_with(row.decision_id)
    desk.clock.advance(0.7)
    assert desk.due() == ["c"]


def test_one_that_is_dealt_with_while_the_table_is_read_is_not_handed_out() -> None:
    row = a_decision("b", 0.4)
    desk = Desk(a_decision("a", -1), row)
    read = desk.table.look

    def meanwhile(*args: Any) -> Any:  # noqa: ANN401 passes everything on
        found = read(*args)
        desk.table.end(row.decision_id)
        desk.store.dealt_with(row.decision_id)
        return found

    desk.table.look = meanwhile  # type: ignore[method-assign,assignment]  # an append in between
    assert desk.due() == ["a"]
    desk.clock.advance(0.5)
    assert desk.due() == []


def test_a_decision_that_comes_between_those_that_were_read_is_handed_out_in_its_turn() -> None:
    desk = Desk(a_decision("a", 0.2), a_decision("c", 0.8))
    assert desk.due() == []
    desk.table.add(a_decision("b", 0.5))
    assert not desk.store.needs_wake(NOON + timedelta(seconds=0.5)), "a comes first"
    desk.table.add(a_decision("0", 0.1))
    assert desk.store.needs_wake(NOON + timedelta(seconds=0.1))
    handed_out = []
    for _ in range(10):
        desk.clock.advance(0.1)
        handed_out += desk.due()
    assert handed_out == ["0", "a", "b", "c"]


def test_of_a_shard_that_was_given_away_meanwhile_nothing_is_handed_out() -> None:
    row = a_decision("a", 0.5)
    desk = Desk(row)
    assert desk.due() == []
    desk.shards = ALL - {row.shard}
    desk.clock.advance(0.5)
    assert desk.due() == []
    desk.shards = ALL
    assert desk.due_at_a_look() == ["a"], "whoever takes it up wakes the engine"


def test_more_than_there_is_room_for_may_fall_due_within_the_second() -> None:
    rows = [a_decision(f"{number}", number / 1000) for number in range(1, 2 * IN_FLIGHT_MAX)]
    desk = Desk(*rows)
    handed_out = list[str]()
    for _ in range(2 * IN_FLIGHT_MAX):
        desk.clock.advance(0.001)
        for cause in desk.due():
            handed_out.append(cause)
            row = rows[int(cause) - 1]
            desk.table.end(row.decision_id)
            desk.store.dealt_with(row.decision_id)
    assert handed_out == [row.cause for row in rows]
    assert desk.table.asked < len(rows) / 10


def test_it_looks_again_after_the_longest_sleep_whatever_it_knows() -> None:
    """The clock may have been set back, or a wake-up lost."""
    desk = Desk(a_decision("a", 3600))
    assert desk.due() == []
    desk.pause()
    asked = desk.table.asked
    desk.clock.advance(SLEEP_MAX.total_seconds())
    desk.due()
    assert desk.table.asked > asked


def test_while_it_looks_every_decision_needs_a_wake_up() -> None:
    """One that is appended after the table was read would else be slept past."""
    desk = Desk(a_decision("a", 1))
    desk.pause()
    desk.clock.advance(1)
    needed: list[bool] = []
    read = desk.table.look

    def meanwhile(*args: Any) -> Any:  # noqa: ANN401 passes everything on
        found = read(*args)
        needed.append(desk.store.needs_wake(NOON + timedelta(seconds=5)))
        return found

    desk.table.look = meanwhile  # type: ignore[method-assign,assignment]  # an append in between
    desk.due()
    assert needed == [True]


@pytest.mark.parametrize("error", [LedgerUnavailable("away"), Broken("?"), ValueError("a bug")])
def test_errors_are_waited_out_and_nothing_is_lost(error: Exception) -> None:
    desk = Desk(a_decision("a"))
    desk.table.breaks = error
    assert desk.due() == []
    assert timedelta() < desk.pause() <= ERROR_PAUSE
    assert desk.store.get_all_jobs() == []
    assert desk.store.lookup_job("x") is None
    desk.table.breaks = None
    assert desk.due() == ["a"]


def test_a_ledger_that_fails_on_and_on_is_told_once_a_minute() -> None:
    desk = Desk(a_decision("a", 0))
    desk.table.breaks = LedgerUnavailable("down")
    with capture_logs() as told:
        for _ in range(125):
            assert desk.due_at_a_look() == []
            desk.store.get_next_run_time()
            desk.clock.advance(1)
        desk.table.breaks = None
        assert desk.due_at_a_look() == ["a"]
        desk.table.breaks = LedgerUnavailable("down")
        desk.due_at_a_look()
    assert [line["event"] for line in told] == ["decisions_not_read"] * 4
    assert [line.get("times_untold", 0) for line in told] == [0, 119, 119, 0]


def test_pending_decisions_are_listed_as_jobs_by_their_ids() -> None:
    rows = [a_decision("a", 60), a_decision("b", 30)]
    desk = Desk(*rows)
    jobs = desk.store.get_all_jobs()
    assert [job.id for job in jobs] == [str(rows[1].decision_id), str(rows[0].decision_id)]
    assert [job.next_run_time for job in jobs] == [rows[1].due_at, rows[0].due_at]
    found = desk.store.lookup_job(str(rows[0].decision_id))
    assert found is not None
    assert found.name == f"retry of {rows[0].stream_id}"
    assert desk.store.lookup_job("unknown") is None


def test_decisions_are_born_from_events_only() -> None:
    desk = Desk(a_decision("a", 60))
    (job,) = desk.store.get_all_jobs()
    with pytest.raises(RuntimeError, match="scheduled by events only"):
        desk.store.add_job(job)


def test_nothing_is_ever_removed_or_changed_here() -> None:
    desk = Desk(a_decision("a"))
    (job,) = desk.store.get_all_jobs()
    desk.store.update_job(job)
    desk.store.remove_job(job.id)
    desk.store.remove_all_jobs()
    assert desk.due() == ["a"]


def test_a_handed_out_job_tells_its_decision() -> None:
    row = a_decision("a", -5)
    desk = Desk(row)
    (job,) = desk.store.get_due_jobs(datetime.now(UTC))
    job.func(*job.args)
    assert desk.told == [row]
