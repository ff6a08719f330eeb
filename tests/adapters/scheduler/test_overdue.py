"""A start after hours of downtime, with all threads: everything overdue ends in one event each."""

from collections import Counter

import pytest

from jobledger.adapters.scheduler.alarms import SchedulerAlarms
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.values.documents import child
from tests.adapters.service.parts import a_rayjob
from tests.support.service_world import ServiceWorld
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults

JOBS = 12
HOURS = 3600.0 * 5


def the_real_ones(pending: PendingDecisions, clock: Clock, leases: LeaseKeeper) -> SchedulerAlarms:
    return SchedulerAlarms(pending, clock, leases.shards)


def test_each_overdue_decision_ends_in_exactly_one_event() -> None:
    world = ServiceWorld()
    world.plane.holds = True
    streams = [
        world.create(
            a_rayjob(
                {"metadata.name": f"train-{number}"},
                submissionMode="HTTPMode",
                activeDeadlineSeconds=30 + number,
                shutdownAfterJobFinishes=True,
                ttlSecondsAfterFinished=number,
            )
        )
        for number in range(JOBS)
    ]
    names = [f"train-{number}" for number in range(JOBS)]
    world.run(lambda: all(world.phase(name) == "Running" for name in names), "all to run")
    world.cluster.disconnect()
    world.clock.advance(HOURS)

    service = world.start_threads(the_real_ones)
    try:

        def all_over() -> bool:
            world.pass_by(0.25)
            open_now = world.history.open_streams(range(16))
            return not open_now and all(world.phase(name) == "Failed" for name in names)

        wait_until(all_over, "every job to have failed and to be shut down", 60)
        assert service.controller.is_alive()
        assert service.controller.waits_for() == []
    finally:
        service.controller.stop()

    for stream, name in zip(streams, names, strict=True):
        log = [item.record for item in world.store.read_stream(stream)]
        ended = Counter(
            str(record.data["decision_id"])
            for record in log
            if record.type in ("DecisionFired", "DecisionCancelled")
        )
        scheduled = [r.data["decision_id"] for r in log if r.type == "DecisionScheduled"]
        assert ended == Counter(str(decision) for decision in scheduled)
        assert [r.type for r in log].count("DecisionFired") == 2, "deadline and shutdown"
        assert child(world.job(name), "status")["reason"] == "DeadlineExceeded"
    assert world.history.open_streams(range(16)) == []
