"""Whoever looks after the machine hears of clocks that are apart: doctor, metric, /readyz, log."""

from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from jobledger.adapters.cli.ledger import doctor
from jobledger.adapters.cli.ledger.doctor_world import Patient
from jobledger.adapters.clock_wiring import COMPARE_EVERY, keep_comparing, notes_of
from jobledger.adapters.scheduler.alarms import SchedulerAlarms
from jobledger.adapters.service.clocks import Clocks
from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.adapters.telemetry.clock import SteadyClock, SystemClock
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.forensics.findings import Severity
from jobledger.core.values.instants import Instant
from tests.support.records import NOON


class Duties:
    """Takes duties, and carries them out when told to."""

    def __init__(self) -> None:
        self.duties: list[object] = []

    def wake(self) -> None:
        """Nothing waits here."""

    def add_duty(self, name: str, duty: object, interval: timedelta, *, at_once: bool) -> None:
        self.duties.append((name, duty, interval, at_once))


@pytest.mark.parametrize("hours", [0, 1, -1])
def test_the_service_says_it_by_metric_readyz_and_log(hours: int) -> None:
    own = SteadyClock(lambda: NOON, lambda: 0.0)
    clocks = Clocks(own, {"database": lambda: NOON + timedelta(hours=hours)})
    alarms, metrics = Duties(), Metrics(CollectorRegistry())
    keep_comparing(clocks, cast(SchedulerAlarms, alarms), metrics)
    assert alarms.duties == [("compare clocks", clocks.compare, COMPARE_EVERY, True)]
    with capture_logs() as lines:
        clocks.compare()
    told = metrics.registry.get_sample_value("jobledger_clocks_disagree")
    assert told == float(hours != 0)
    ahead = metrics.registry.get_sample_value(
        "jobledger_clock_ahead_seconds", {"clock": "database"}
    )
    assert ahead == -3600 * hours
    notes = " ".join(notes_of(ControlPolicy(), clocks)())
    assert ("the clocks disagree" in notes) is (hours != 0)
    levels = [line["log_level"] for line in lines if line["event"] == "clocks_disagree"]
    assert levels == ["error"] * (hours != 0)


@pytest.mark.parametrize(
    ("off", "severity"),
    [(0, None), (10, Severity.WARNING), (-10, Severity.WARNING), (3600, Severity.ERROR)],
)
def test_the_doctor_holds_its_clock_against_the_databases(
    off: int, severity: Severity | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def database_now(_: object) -> Instant:
        return SystemClock().now() + timedelta(seconds=off)

    monkeypatch.setattr(doctor, "database_now", database_now)
    found = cast(Patient, SimpleNamespace(opened=SimpleNamespace(engine=None)))
    severities = [finding.severity for finding in doctor.database_clock(found)]
    assert severities == ([] if severity is None else [severity])
