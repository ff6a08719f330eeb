"""Duties whose clock is set back, and duties that outlast the service."""

import subprocess
import sys
import threading
from collections.abc import MutableMapping
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest
from apscheduler.schedulers import base
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from jobledger.adapters.scheduler import alarms as alarms_module
from jobledger.adapters.scheduler import job_store
from jobledger.adapters.scheduler.alarms import SchedulerAlarms
from jobledger.adapters.scheduler.duties import DutyStore
from jobledger.core.ports.pending import Look
from tests.adapters.scheduler.due import ALL, Table
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON
from tests.support.waiting import LIMIT_SECONDS, wait_until

OFTEN = timedelta(milliseconds=5)
ROOT = Path(__file__).parents[3]


def some_alarms() -> SchedulerAlarms:
    return SchedulerAlarms(Table(), SimulatedClock(NOON), lambda: ALL)


def test_no_duty_is_planned_for_later_than_one_interval_from_now() -> None:
    store = DutyStore()
    engine = BackgroundScheduler(timezone=UTC, jobstores={"default": store})
    for name, seconds in (("seldom", 60), ("often", 1)):
        engine.add_job(int, IntervalTrigger(seconds=seconds, timezone=UTC), id=name)
    engine.start(paused=True)
    try:
        before = datetime.now(UTC) - timedelta(hours=1)
        assert store.get_due_jobs(before) == []
        planned = {duty.id: duty.next_run_time - before for duty in store.get_all_jobs()}
        assert planned == {"often": timedelta(seconds=1), "seldom": timedelta(seconds=60)}
        assert store.get_next_run_time() == before + timedelta(seconds=1)
        assert [duty.id for duty in store.get_due_jobs(before + timedelta(seconds=1))] == ["often"]
    finally:
        engine.shutdown(wait=False)


def test_of_a_duty_that_was_missed_for_years_one_time_is_made_up_for() -> None:
    """A machine began in 1970 and was set right: the engine counted each second since."""
    store = DutyStore()
    engine = BackgroundScheduler(timezone=UTC, jobstores={"default": store})
    engine.add_job(int, IntervalTrigger(seconds=1, timezone=UTC), id="often")
    engine.start(paused=True)
    try:
        later = datetime.now(UTC) + timedelta(days=60)
        (duty,) = store.get_due_jobs(later)
        assert duty._get_run_times(later) == [later]  # noqa: SLF001 as the engine does
    finally:
        engine.shutdown(wait=False)


def test_a_duty_that_is_still_under_way_is_passed_over_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The engine warns of each: every third of a second, while a process is slow or was stopped."""
    alarms, goes_on = some_alarms(), threading.Event()
    slow, quick = list[int](), list[int]()

    def wait() -> None:
        slow.append(1)
        goes_on.wait(LIMIT_SECONDS)

    alarms.add_duty("slow", wait, OFTEN)
    alarms.add_duty("quick", lambda: quick.append(1), OFTEN)
    alarms.start(lambda _: None)
    try:
        wait_until(lambda: slow == [1] and len(quick) > 10, "the slow one to be due again")
        assert slow == [1]
        goes_on.set()
        wait_until(lambda: len(slow) > 2, "the slow one to be carried out again")
    finally:
        goes_on.set()
        alarms.stop()
    assert [record.getMessage() for record in caplog.records] == []


class Stepping(Table):
    """A table of decisions; the clock of the machine is set back while it is read, if told to."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = False
        self.behind = timedelta()

    def look(self, *args: Any) -> Look:  # noqa: ANN401 passes everything on
        if self.steps:
            self.behind = timedelta(hours=1)
        return super().look(*args)


def test_duties_go_on_when_the_clock_of_the_machine_is_set_back_while_the_engine_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Stepping()

    class Stepped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) - table.behind

    for module in (base, job_store):
        monkeypatch.setattr(module, "datetime", Stepped)
    alarms, done = SchedulerAlarms(table, SimulatedClock(NOON), lambda: ALL), list[int]()
    alarms.add_duty("count", lambda: done.append(1), OFTEN)
    alarms.start(lambda _: None)
    try:
        wait_until(lambda: len(done) > 2, "the duty to be carried out")
        table.steps = True
        alarms.wake()
        wait_until(lambda: table.behind > timedelta(), "the clock to be set back")
        before = len(done)
        wait_until(lambda: len(done) > before + 2, "the duty to be carried out by the new clock")
    finally:
        alarms.stop()


class Slow:
    """A duty that ends when it is let."""

    def __init__(self) -> None:
        self.alarms = some_alarms()
        self.began, self.may_end, self.ended = (threading.Event() for _ in range(3))
        self.alarms.add_duty("slow", self.carry_out, timedelta(days=1), at_once=True)

    def carry_out(self) -> None:
        self.began.set()
        self.may_end.wait(LIMIT_SECONDS)
        self.ended.set()

    def start(self) -> None:
        self.alarms.start(lambda _: None)
        assert self.began.wait(LIMIT_SECONDS), "the duty did not begin"


def test_a_stop_waits_for_a_duty_under_way(log_lines: list[MutableMapping[str, Any]]) -> None:
    slow = Slow()
    slow.start()
    had_ended: list[bool] = []

    def stop() -> None:
        slow.alarms.stop()
        had_ended.append(slow.ended.is_set())

    stopping = threading.Thread(target=stop)
    stopping.start()
    wait_until(lambda: not slow.alarms.is_alive(), "the engine to have ended")
    slow.may_end.set()
    stopping.join(LIMIT_SECONDS)
    assert had_ended == [True]
    assert "duties_left_behind" not in [line["event"] for line in log_lines]


def test_a_stop_leaves_a_duty_behind_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, log_lines: list[MutableMapping[str, Any]]
) -> None:
    monkeypatch.setattr(alarms_module, "STOP_SECONDS_MAX", 0.01)
    slow = Slow()
    slow.start()
    slow.alarms.stop()
    assert not slow.ended.is_set()
    assert not slow.alarms.is_alive()
    said = [line for line in log_lines if line["event"] == "duties_left_behind"]
    assert [line["duties"] for line in said] == [["slow"]]
    slow.may_end.set()
    assert slow.alarms._threads.wait(LIMIT_SECONDS) == []  # noqa: SLF001 it goes on, and ends


ENDS = """
import threading
from datetime import timedelta
from jobledger.adapters.scheduler import alarms
from tests.adapters.scheduler.test_duties import some_alarms

alarms.STOP_SECONDS_MAX = 0.01
began = threading.Event()
ours = some_alarms()
for_ever = lambda: (began.set(), threading.Event().wait())
ours.add_duty("for ever", for_ever, timedelta(days=1), at_once=True)
ours.start(print)
began.wait()
ours.stop()
"""


def test_a_process_does_not_wait_for_a_duty_that_was_left_behind() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS], cwd=ROOT, timeout=60, check=False)
    assert ended.returncode == 0
