"""Clocks that disagree, and one that is set: what is judged by them, and what waits."""

import math
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from jobledger.adapters.forensic_wiring import capturer
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from jobledger.adapters.service.assembly import ServicePorts
from jobledger.adapters.service.clocks import APART_MAX, GOES_ON, LED_WITHIN, Clocks
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import STEP_MAX, SteadyClock
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.instants import Instant
from tests.adapters.service.evidence_scene import Witness
from tests.adapters.service.parts import Bench
from tests.support.evidence import MemoryEvidence
from tests.support.records import NOON, a_decision_row, a_stream

HOUR = timedelta(hours=1)
NOTHING = timedelta()


class Machine:
    """A machine with its clock, the world around it, and what is asked of both."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.set_by = {"own": NOTHING, "database": NOTHING, "API server": NOTHING}
        self.down: set[str] = set()
        self.agreed = 0
        self.clock = SteadyClock(lambda: self.told("own"), lambda: self.passed)
        self.clocks = Clocks(
            self.clock,
            self.others(),
            self.agree,
        )

    def others(self) -> dict[str, Callable[[], Instant | None]]:
        return {name: partial(self.told, name) for name in ("database", "API server")}

    def told(self, name: str) -> Instant:
        if name in self.down:
            raise LedgerUnavailable(name)
        return NOON + timedelta(seconds=self.passed) + self.set_by[name]

    def agree(self) -> None:
        self.agreed += 1

    def compared(self) -> Clocks:
        self.clocks.compare()
        return self.clocks


def row(kind: DecisionKind) -> DecisionRow:
    return replace(a_decision_row(a_stream()), kind=kind.value)


@pytest.mark.parametrize("step", [HOUR, -HOUR, STEP_MAX * 1.5])
def test_time_goes_on_as_before_when_the_clock_of_the_machine_is_set(step: timedelta) -> None:
    """A deadline of 600 s fired after 9 s, for the clock had been set forward by an hour."""
    machine = Machine()
    machine.compared()
    machine.passed, machine.set_by["own"] = 9.0, step
    assert machine.clock.now() == NOON + timedelta(seconds=9)
    clocks = machine.compared()
    assert clocks.trouble == "", "the others agree with what it goes on with"
    assert "the clock of this machine was set by" in clocks.notes()[0]
    machine.passed = 600.0
    assert machine.clock.now() == NOON + timedelta(seconds=600)
    machine.set_by["own"] = NOTHING
    assert machine.compared().notes() == []


def test_a_clock_that_is_slewed_is_followed() -> None:
    machine = Machine()
    for number in range(100):
        machine.passed, machine.set_by["own"] = 10.0 * number, timedelta(seconds=number)
        assert machine.clock.now() == machine.told("own")


def test_a_step_that_the_others_agree_with_is_followed() -> None:
    """The machine had stood still, or its clock was wrong before."""
    machine = Machine()
    for name in machine.set_by:
        machine.set_by[name] = HOUR
    assert machine.compared().trouble == ""
    assert machine.clock.now() == NOON + HOUR
    assert machine.clocks.notes() == []


@pytest.mark.parametrize("name", ["database", "API server"])
@pytest.mark.parametrize("off", [HOUR, -HOUR])
def test_while_clocks_are_apart_what_would_end_a_job_waits(name: str, off: timedelta) -> None:
    machine = Machine()
    machine.compared()
    machine.set_by[name] = off
    clocks = machine.compared()
    assert clocks.trouble == f"the {name}'s is {off.total_seconds():+.0f} s from this one"
    held = {kind for kind in DecisionKind if clocks.holds(row(kind))}
    assert held == set(DecisionKind) - GOES_ON
    assert DecisionKind.ACTIVE_DEADLINE in held
    assert DecisionKind.RETRY not in held
    assert "waits until they agree" in clocks.notes()[0]
    machine.down.add(name)
    assert machine.compared().trouble != "", "what does not answer now was apart"
    machine.set_by[name] = NOTHING
    machine.down.clear()
    agreed = machine.agreed
    assert machine.compared().trouble == ""
    assert machine.agreed == agreed + 1, "what waited is told"
    assert not any(clocks.holds(row(kind)) for kind in DecisionKind)


def test_nothing_ends_before_the_first_comparison_and_what_does_not_answer_holds_up_nothing() -> (
    None
):
    machine = Machine()
    assert machine.clocks.holds(row(DecisionKind.ACTIVE_DEADLINE))
    machine.down = {"database", "API server"}
    assert not machine.compared().holds(row(DecisionKind.ACTIVE_DEADLINE))
    assert machine.agreed == 1


def test_a_little_is_no_trouble() -> None:
    machine = Machine()
    machine.set_by["database"] = APART_MAX
    machine.set_by["API server"] = -APART_MAX
    assert machine.compared().trouble == ""


@pytest.mark.parametrize(
    ("set_by", "is_ours"),
    [
        ({"database": HOUR, "API server": HOUR}, True),
        ({"database": -HOUR, "API server": APART_MAX / 2 - HOUR}, True),
        ({"database": HOUR}, False),
        ({"database": HOUR, "API server": -HOUR}, False),
        ({}, False),
    ],
)
def test_ours_is_off_if_the_others_agree_with_each_other(
    set_by: dict[str, timedelta], is_ours: bool
) -> None:
    machine = Machine()
    assert not machine.clocks.is_ours_off, "they have not been compared"
    machine.set_by.update(set_by)
    assert machine.compared().is_ours_off == is_ours
    machine.set_by.update(dict.fromkeys(machine.set_by, NOTHING))
    assert not machine.compared().is_ours_off


@pytest.mark.parametrize("off", [HOUR, -HOUR])
def test_events_are_dated_by_the_others_while_ours_is_off(off: timedelta) -> None:
    """A deadline of twenty minutes passed after ten once a clock that was behind was set right."""
    machine = Machine()
    machine.set_by["own"] = off
    machine.clock = SteadyClock(lambda: machine.told("own"), lambda: machine.passed)
    machine.clocks = Clocks(machine.clock, machine.others(), machine.agree)
    assert machine.clock.now() == NOON + off, "nobody was asked yet"
    assert machine.compared().holds(row(DecisionKind.ACTIVE_DEADLINE))
    assert machine.agreed == 1, "what falls due is looked for at the new time"
    assert "events are dated by the other two" in machine.clocks.notes()[0]
    for step in range(5):  # the answers come with whole seconds
        machine.passed = 10.0 * step
        machine.set_by["API server"] = timedelta(seconds=step % 2)
        machine.compared()
        assert abs(machine.clock.now() - NOON - timedelta(seconds=machine.passed)) <= LED_WITHIN
    assert machine.agreed == 1, "it goes on evenly"
    assert machine.clocks.ahead_of("database") == off.total_seconds()
    machine.set_by["own"] = machine.set_by["API server"] = NOTHING
    machine.compared()
    assert machine.clock.now() == NOON + timedelta(seconds=machine.passed)
    assert machine.clock.lead == NOTHING
    assert not machine.clocks.holds(row(DecisionKind.ACTIVE_DEADLINE))


def test_a_step_that_is_not_followed_is_said_once() -> None:
    machine = Machine()
    machine.compared()
    machine.set_by["own"] = HOUR
    with capture_logs() as lines:
        for passed in (1.0, 11.0, 21.0):
            machine.passed = passed
            machine.compared()
    said = [line for line in lines if line["event"] == "clock_set"]
    assert [(line["by_seconds"], line["is_followed"]) for line in said] == [(3600, False)]
    assert machine.clocks.ahead_of("database") == HOUR.total_seconds()
    machine.set_by.update(dict.fromkeys(machine.set_by, HOUR))
    machine.compared()
    machine.set_by.update(dict.fromkeys(machine.set_by, -HOUR))
    with capture_logs() as lines:
        machine.compared()
    said = [line for line in lines if line["event"] == "clock_set"]
    assert [(line["by_seconds"], line["is_followed"]) for line in said] == [(-7200, True)]


def test_a_clock_that_was_never_asked_is_ahead_of_nobody_knows_what() -> None:
    assert math.isnan(Machine().clocks.ahead_of("database"))


def test_evidence_is_dated_as_all_else_is() -> None:
    """By the clock of the machine, it was an hour before what had failed, or after."""
    bench, ours = Bench(), SteadyClock()
    ports = cast(ServicePorts, SimpleNamespace(cluster=bench.cluster, ray=bench.ray, clock=ours))
    kept, settings = cast(PostgresEvidence, MemoryEvidence()), Settings()
    captures = capturer(settings, kept, Witness(), ports, bench.live, bench.inbox)
    assert captures is not None
    assert captures._parts.clock is ours  # noqa: SLF001 what dates what it captures
    captures.stop()


def test_nobody_is_off_of_two_that_differ() -> None:
    """The API server tells no time."""
    machine = Machine()
    machine.down.add("API server")
    machine.set_by["database"] = HOUR
    assert not machine.compared().is_ours_off
