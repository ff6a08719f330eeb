"""Heads that do not answer for long: what the log says of it, and what waits in the inbox."""

from collections.abc import Callable

import pytest

from jobledger.core.catalogue import read_event
from jobledger.core.errors import RayApiError, RayApiUnreachable, RayJobNotFound
from jobledger.core.jobs.events import ObservationsConfirmed
from jobledger.core.values.documents import child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP
from tests.support.service_world import ServiceWorld

SECONDS, HOUR = 1200, 3600
INTERVAL, SUM_UP_SECONDS = 3, 15
SILENT = RayApiUnreachable("no answer")


def running() -> tuple[ServiceWorld, StreamId]:
    """Return a world with a job that runs until it is let end."""
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=HTTP))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    return world, stream


def unanswered(error: RayApiError) -> Callable[..., None]:
    def ask(*_: object) -> None:
        raise error

    return ask


def told(world: ServiceWorld, stream: StreamId) -> list[str]:
    return [item.record.type for item in world.store.read_stream(stream)]


def test_silence_ends_the_job_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    world, stream = running()
    monkeypatch.setattr(world.ray, "info", unanswered(SILENT))
    world.run(lambda: "StatusCheckFailed" in told(world, stream), "the silence to be told")
    world.run(lambda: world.phase("train") == "Failed", "the job to be given up")
    reason = text(child(world.job("train"), "status"), "reason")
    assert reason == "JobStatusCheckTimeoutExceeded"
    assert told(world, stream).count("StatusCheckFailed") == 1


def test_silence_that_comes_back_is_told_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    world, stream = running()
    for number in (1, 2):
        with monkeypatch.context() as silence:
            silence.setattr(world.ray, "info", unanswered(SILENT))
            world.run(
                lambda n=number: told(world, stream).count("StatusCheckFailed") == n,  # type: ignore[misc]  # a default
                "the silence to be told",
            )
        world.run(
            lambda n=number: told(world, stream).count("StatusCheckRecovered") == n,  # type: ignore[misc]  # a default
            "the answer to be told",
        )
    world.plane.holds = False
    world.run(lambda: world.phase("train") == "Complete", "the job to be complete")


@pytest.mark.parametrize("error", [SILENT, RayJobNotFound("no such job")])
def test_while_the_ledger_is_away_silence_does_not_fill_the_inbox(
    error: RayApiError, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = running()
    service = world.service
    monkeypatch.setattr(world.ray, "info", unanswered(error))
    asked = 0
    for _ in range(SECONDS):  # the turn is held up in its append, so nobody takes
        world.clock.advance(1)
        while service.polls.run_once():
            asked += 1
    assert asked > SECONDS / INTERVAL / 2
    assert len(service.inbox) == 1


def test_nor_do_answers_that_say_the_same_and_their_sums() -> None:
    """Of each running job some eighty observations an hour waited, until the memory was full."""
    world, stream = running()
    service = world.service
    for second in range(2 * HOUR):
        world.clock.advance(1)
        service.polls.run_once()
        if second % SUM_UP_SECONDS == 0:
            service.controller.sum_up()
    assert len(service.inbox) <= 2
    world.plane.holds = False
    world.run(lambda: world.phase("train") == "Complete", "the job to be complete")
    sums = [
        event
        for item in world.store.read_stream(stream)
        if isinstance(event := read_event(item.record), ObservationsConfirmed)
    ]
    counted = sum(source.count for event in sums for source in event.sources)
    assert counted > 2 * HOUR / INTERVAL / 2, "nothing of it is lost"
