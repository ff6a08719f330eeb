"""APScheduler's own thread over the job store: decisions and duties."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from apscheduler.schedulers.background import BackgroundScheduler
from msgspec.structs import replace

from jobledger.adapters.scheduler.alarms import SILENT_SECONDS_MAX, SchedulerAlarms, _Engine
from jobledger.adapters.scheduler.handed_out import HANDED_OUT_SECONDS_MAX
from jobledger.adapters.scheduler.job_store import IN_FLIGHT_MAX
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.ids import DecisionId
from tests.adapters.scheduler.due import ALL, Table, a_decision
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON
from tests.support.waiting import wait_until

OFTEN = timedelta(milliseconds=5)


class Desk:
    """Alarms over a table; what they tell is noted."""

    def __init__(self, *rows: DecisionRow) -> None:
        self.clock = SimulatedClock(NOON)
        self.table = Table(*rows)
        self.told: list[str] = []
        self.shards = ALL
        self.alarms = SchedulerAlarms(self.table, self.clock, lambda: self.shards)

    def tell(self, row: DecisionRow) -> None:
        self.told.append(row.cause)

    def deal_with(self, row: DecisionRow) -> None:
        """Take note of a decision, end it, and say so: as the turn does."""
        self.told.append(row.cause)
        self.table.end(row.decision_id)
        self.alarms.done(row.decision_id)

    @contextmanager
    def started(self, on_due: Callable[[DecisionRow], None] | None = None) -> Iterator[None]:
        self.alarms.start(on_due or self.deal_with)
        try:
            yield
        finally:
            self.alarms.stop()

    def looked(self) -> list[str]:
        """Return what the engine, not started, would hand out at a look now."""
        self.alarms._store.needs_wake(None)  # noqa: SLF001 so that it looks
        jobs = self.alarms._store.get_due_jobs(NOON)  # noqa: SLF001 as the engine does
        return [job.args[0].cause for job in jobs]

    def looked_again(self) -> None:
        """Let the engine look, and wait until it has."""
        before = self.table.asked
        self.alarms.wake()
        wait_until(lambda: self.table.asked > before, "the engine to have looked")


def test_everything_overdue_at_the_start_is_told_once() -> None:
    rows = [a_decision(f"{number}", -3600 * number) for number in range(3 * IN_FLIGHT_MAX)]
    desk = Desk(*rows)
    with desk.started():
        wait_until(lambda: not desk.table.rows, "all decisions to be dealt with")
        desk.looked_again()
    assert sorted(desk.told) == sorted(row.cause for row in rows)


def test_a_decision_is_told_when_its_instant_comes() -> None:
    desk = Desk(a_decision("a", 10))
    with desk.started():
        desk.looked_again()
        assert desk.told == []
        desk.clock.advance(10)
        desk.alarms.wake()
        wait_until(lambda: desk.told == ["a"], "the decision to be told")


def test_by_the_machines_clock_it_needs_no_wake_up() -> None:
    desk = Desk()
    with desk.started():
        desk.looked_again()
        desk.table.add(a_decision("a", 0.05))
        desk.alarms.wake(NOON + timedelta(seconds=0.05))
        desk.clock.advance(1)
        wait_until(lambda: desk.told == ["a"], "the decision to be told by itself")


def test_what_is_in_flight_is_not_told_again_before_a_minute_has_passed() -> None:
    desk = Desk(a_decision("a"))
    with desk.started(desk.tell):
        wait_until(lambda: desk.told == ["a"], "the decision to be told")
        desk.looked_again()
        assert desk.told == ["a"]
        desk.clock.advance(HANDED_OUT_SECONDS_MAX + 1)
        desk.alarms.wake()
        wait_until(lambda: desk.told == ["a", "a"], "the decision to be told again")


def test_what_waits_is_told_once_anything_may_have_changed_and_not_because_others_are_done() -> (
    None
):
    desk = Desk(a_decision("a"))
    for waited in (0.0, HANDED_OUT_SECONDS_MAX + 1, HANDED_OUT_SECONDS_MAX + 1):
        desk.clock.advance(waited)
        desk.looked()
    others = [a_decision(f"{number}") for number in range(IN_FLIGHT_MAX)]
    for row in others:
        desk.table.add(row)
    assert len(desk.looked()) == IN_FLIGHT_MAX
    desk.table.end(others[0].decision_id)
    desk.alarms.done(others[0].decision_id)
    assert desk.looked() == [], "there is room, and it waits"
    desk.alarms.wake()
    assert desk.looked() == ["a"]


def test_a_later_decision_does_not_wake_the_engine() -> None:
    desk = Desk(a_decision("a", 10))
    with desk.started():
        desk.looked_again()
        wait_until(lambda: not desk.alarms._store.needs_wake(NOON + timedelta(days=1)), "sleep")  # noqa: SLF001 the state of the engine
        before = desk.table.asked
        desk.alarms.wake(NOON + timedelta(seconds=20))
        assert desk.table.asked == before


@pytest.mark.parametrize("error", [LedgerUnavailable("away"), ZeroDivisionError("a bug")])
def test_errors_of_the_ledger_do_not_end_the_engine(error: Exception) -> None:
    desk = Desk(a_decision("a"))
    desk.table.breaks = error
    with desk.started():
        desk.looked_again()
        assert desk.alarms.is_alive()
        desk.table.breaks = None
        desk.alarms.wake()
        wait_until(lambda: desk.told == ["a"], "the decision to be told after the outage")


def test_whoever_is_told_may_fail_without_harm_to_the_others() -> None:
    desk = Desk(a_decision("a", -2), a_decision("b", -1))

    def failing(row: DecisionRow) -> None:
        if row.cause == "a":
            raise ZeroDivisionError
        desk.deal_with(row)

    with desk.started(failing):
        wait_until(lambda: desk.told == ["b"], "the other decision to be told")
        assert desk.alarms.is_alive()


def test_a_duty_is_carried_out_again_and_again() -> None:
    desk, done = Desk(), list[int]()
    desk.alarms.add_duty("count", lambda: done.append(1), OFTEN)
    with desk.started():
        wait_until(lambda: len(done) > 2, "the duty to be carried out")


def test_a_duty_may_begin_at_once_however_long_its_interval() -> None:
    desk, done = Desk(), list[int]()
    desk.alarms.add_duty("make ready", lambda: done.append(1), timedelta(days=1), at_once=True)
    with desk.started():
        wait_until(lambda: done == [1], "the duty to be carried out")


def test_a_duty_never_runs_beside_itself_and_does_not_hold_up_decisions() -> None:
    desk = Desk()
    may_end, running, most = threading.Event(), list[int](), list[int]()

    def slow() -> None:
        running.append(1)
        most.append(len(running))
        may_end.wait(30)
        running.pop()

    desk.alarms.add_duty("slow", slow, OFTEN)
    with desk.started():
        wait_until(lambda: len(running) == 1, "the duty to run")
        desk.table.add(a_decision("a"))
        desk.alarms.wake()
        wait_until(lambda: desk.told == ["a"], "the decision to be told beside the duty")
        desk.looked_again()
        may_end.set()
        wait_until(lambda: len(most) > 2, "the duty to be carried out again")
    assert set(most) == {1}


def test_a_duty_that_fails_is_carried_out_again() -> None:
    desk, tried = Desk(), list[int]()

    def failing() -> None:
        tried.append(1)
        raise ZeroDivisionError

    desk.alarms.add_duty("fail", failing, OFTEN)
    with desk.started():
        wait_until(lambda: len(tried) > 2, "the duty to be tried again")
        assert desk.alarms.is_alive()


def test_it_is_alive_while_its_thread_runs_and_looks_at_the_ledger() -> None:
    desk = Desk()
    assert not desk.alarms.is_alive()
    with desk.started():
        desk.looked_again()
        assert desk.alarms.is_alive()
        desk.clock.advance(SILENT_SECONDS_MAX)
        assert not desk.alarms.is_alive(), "it has not looked for too long"
        desk.looked_again()
        assert desk.alarms.is_alive()
    assert not desk.alarms.is_alive()


def test_after_stopping_nothing_is_told() -> None:
    desk = Desk()
    with desk.started():
        desk.looked_again()
    desk.table.add(a_decision("a"))
    desk.alarms.wake()
    desk.alarms.stop()
    assert desk.told == []


def test_starting_and_stopping_from_many_threads_leaves_no_thread_behind() -> None:
    for _ in range(5):
        desk = Desk(a_decision("a"))
        desk.alarms.add_duty("nothing", lambda: None, OFTEN)

        def start(desk: Desk = desk) -> None:
            desk.alarms.start(desk.tell)

        calls = [start, desk.alarms.stop, desk.alarms.wake, start, desk.alarms.stop]
        threads = [threading.Thread(target=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        desk.alarms.stop()
        assert not desk.alarms.is_alive()
        desk.alarms.start(desk.tell)
        assert not desk.alarms.is_alive(), "stopping is final"


def test_what_is_held_is_told_as_soon_as_it_may_be() -> None:
    desk = Desk(a_decision("end", -1), a_decision("retry", -1))
    held = {"end"}
    desk.alarms = SchedulerAlarms(
        desk.table, desk.clock, lambda: desk.shards, lambda row: row.cause in held
    )
    with desk.started():
        wait_until(lambda: desk.told == ["retry"], "what may go on is told")
        desk.looked_again()
        assert desk.told == ["retry"]
        held.clear()
        desk.alarms.wake()
        wait_until(lambda: desk.told == ["retry", "end"], "what was held is told")


def test_what_handing_out_took_is_not_slept_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """APScheduler says how long to sleep from when it began."""
    clock = iter([10.0, 10.25, 20.0, 23.0])
    monkeypatch.setattr("jobledger.adapters.scheduler.alarms.monotonic", lambda: next(clock))
    monkeypatch.setattr(BackgroundScheduler, "_process_jobs", lambda _: 1.0)
    engine = _Engine()
    assert [engine._process_jobs() for _ in range(2)] == [0.75, 0.0]  # noqa: SLF001 APScheduler's


class Slow(UUID):
    """The id of a decision; others have their turn while it is hashed, as those of any may."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def __hash__(self) -> int:
        type(self).meanwhile()
        return super().__hash__()


def test_a_decision_that_is_held_back_just_as_the_clocks_agree_is_told_again_at_once() -> None:
    """It was added to those that had just been told: told anew after a minute, if ever."""
    first = a_decision("a")
    row = replace(first, decision_id=DecisionId(Slow(str(first.decision_id))))
    desk, disagree = Desk(row), [True]
    desk.alarms = SchedulerAlarms(desk.table, desk.clock, lambda: ALL, lambda _: disagree[0])
    desk.alarms._store.needs_wake(None)  # noqa: SLF001 so that it looks
    (job,) = desk.alarms._store.get_due_jobs(NOON)  # noqa: SLF001 as the engine does
    agreeing = threading.Thread(target=desk.alarms.wake)

    def agree() -> None:
        Slow.meanwhile = staticmethod(lambda: None)
        disagree[0] = False
        agreeing.start()
        agreeing.join(0.1)  # it waits for its turn, or has had it

    Slow.meanwhile = staticmethod(agree)
    job.func(*job.args)
    agreeing.join(30)
    assert desk.looked() == ["a"]


def test_a_decision_is_told_where_the_clocks_agree_between_the_look_and_the_note() -> None:
    desk, disagree = Desk(a_decision("a")), [True]

    def holds(_: DecisionRow) -> bool:
        before, disagree[0] = disagree[0], False
        if before:
            desk.alarms.wake()  # by the other thread, which finds nothing held back
        return before

    desk.alarms = SchedulerAlarms(desk.table, desk.clock, lambda: ALL, holds)
    desk.alarms._store.needs_wake(None)  # noqa: SLF001 so that it looks
    (job,) = desk.alarms._store.get_due_jobs(NOON)  # noqa: SLF001 as the engine does
    job.func(*job.args)
    assert desk.looked() == ["a"]
