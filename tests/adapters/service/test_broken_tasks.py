"""A bug, or memory that is short for a moment, ends nothing that nobody else begins again."""

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.adapters.service.work.workers import BROKEN_PAUSE_SECONDS, Workers, lasting
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import is_over
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON, a_stream
from tests.support.service_world import ServiceWorld

JOB = a_stream("one")


def breaking_at(call: int) -> Callable[..., bool]:
    """Return what every effect and every write of a status asks first; one time that breaks."""
    calls = iter(range(10**6))

    def is_refused(*_: object) -> bool:
        if next(calls) == call:
            raise MemoryError
        return False

    return is_refused


@pytest.mark.parametrize("call", range(8))
def test_a_job_goes_on_whose_effect_or_status_breaks_before_it_is_tried(
    call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken for under way from then on: no effect, or no status, until the next start."""
    monkeypatch.setattr(ControlPolicy, "is_refused", breaking_at(call))
    world = ServiceWorld()
    stream = world.create(a_rayjob(shutdownAfterJobFinishes=True))
    with capture_logs() as lines:
        world.run(lambda: is_over(world, stream), "the job to be over")
    assert world.phase("train") == "Complete"
    assert [line["event"] for line in lines].count("task_failed") == 1


def test_a_task_that_breaks_is_tried_again_after_a_pause() -> None:
    clock, tried = SimulatedClock(NOON), list[float]()

    def breaks_once() -> float | None:
        tried.append(clock.monotonic())
        if len(tried) == 1:
            raise ValueError
        return None

    workers = Workers(clock, 1)
    workers.open_gate()
    workers.submit(JOB, lambda: lasting(JOB, breaks_once))
    with capture_logs():
        workers.run_once()
    assert not workers.run_once()
    clock.advance(BROKEN_PAUSE_SECONDS)
    workers.run_once()
    assert len(tried) == 2
    assert len(workers) == 0
