"""Heads that do not answer for long: what the log says of it, and what waits in the inbox."""

from collections.abc import Callable

import pytest

from jobledger.adapters.kinds.rayjob.heads.polls import TOLD_AGAIN_AFTER
from jobledger.core.errors import RayApiError, RayApiUnreachable, RayJobNotFound
from jobledger.core.values.documents import child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP
from tests.support.service_world import ServiceWorld

SECONDS = 1200
INTERVAL = 3
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
    assert 0 < len(service.inbox) <= asked / TOLD_AGAIN_AFTER + 1
