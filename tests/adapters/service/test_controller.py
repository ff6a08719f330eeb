"""Starting, and what is true after it; due decisions; outages."""

import threading
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.service.shard_takeover import QUIET_SECONDS
from jobledger.adapters.service.watches.summing_up import CONFIRMATIONS_EVERY
from jobledger.adapters.service.work.inbox import Arrival
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.events import Confirmation
from jobledger.core.jobs.observations import DecisionDue, NothingNew
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.rayjob.names import FINALIZER
from jobledger.core.rayjob.observations.observations import SubmitterSeen
from jobledger.core.values.documents import child
from jobledger.core.values.ids import SHARDS, StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, K8S, assert_whole, is_let_go, is_over
from tests.support.crash_points import Crash
from tests.support.service_world import LEASE_SECONDS, ServiceWorld, SteppedAlarms
from tests.support.waiting import wait_until


def running(mode: str = HTTP, **spec: object) -> tuple[ServiceWorld, StreamId]:
    """Return a world with a job that runs and goes on running."""
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=mode, shutdownAfterJobFinishes=True, **spec))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    return world, stream


def stop_process(world: ServiceWorld) -> None:
    """Let the process be gone, and time pass without it."""
    world.cluster.disconnect()
    world.clock.advance(60)


def told(world: ServiceWorld, stream: StreamId) -> list[str]:
    return [item.record.type for item in world.store.read_stream(stream)]


def test_nothing_is_done_before_everything_has_been_listed() -> None:
    world = ServiceWorld()
    stream = world.create(a_rayjob())
    service = world.service
    service.controller.run_once(wait_seconds=0)  # so that what is listed is not from before it
    for mailbox in world.cluster._mailboxes[:2]:  # noqa: SLF001 two of the four lists
        mailbox.deliver()
    for _ in range(20):
        service.step()
    assert told(world, stream) == []
    world.clock.advance(QUIET_SECONDS)
    for _ in range(20):
        service.step()
    assert told(world, stream)[:2] == ["JobDiscovered", "ManifestReceived"]
    assert world.cluster.writes == [("create", "rayjobs", "train")]
    assert service.controller.waits_for() == [
        "no list of Job objects yet",
        "no list of Pod objects yet",
    ]
    world.cluster.deliver()
    for _ in range(20):
        service.step()
    assert ("create", "rayclusters") in [item[:2] for item in world.cluster.writes]
    assert service.controller.waits_for() == []


def test_what_is_due_is_not_told_before_everything_has_been_listed() -> None:
    world, stream = running(activeDeadlineSeconds=30)
    stop_process(world)
    world.service = world.start_service()
    for _ in range(5):
        world.service.step()
    assert "DecisionFired" not in told(world, stream)
    world.run(lambda: is_over(world, stream), "the deadline to have ended the job")
    assert_whole(world, stream)
    assert child(world.job("train"), "status")["reason"] == "DeadlineExceeded"


def test_an_overdue_deadline_looks_first_and_finds_that_the_job_has_succeeded() -> None:
    world, stream = running(activeDeadlineSeconds=30)
    world.cluster.disconnect()
    world.plane.holds = False
    world.clock.advance(1)
    while world.plane.step():
        pass
    world.clock.advance(3600)
    world.service = world.start_service()
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert world.phase("train") == "Complete"
    assert_whole(world, stream)


def test_a_cluster_that_went_while_nobody_watched_is_told_as_gone() -> None:
    world, stream = running()
    world.cluster.disconnect()
    name = str(child(world.job("train"), "status")["rayClusterName"])
    world.cluster.delete(RAYCLUSTERS, "ml", name)
    world.service = world.start_service()
    world.run(lambda: world.phase("train") == "Failed", "the loss to be noticed")
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert told(world, stream).count("ClusterVanished") == 1


def test_a_job_that_went_while_nobody_watched_is_told_as_gone() -> None:
    world, stream = running()
    world.cluster.disconnect()
    metadata = dict(child(world.job("train"), "metadata"))
    metadata["finalizers"] = []
    world.cluster.edit(RAYJOBS, "ml", "train", metadata=metadata)
    world.cluster.delete(RAYJOBS, "ml", "train")
    world.service = world.start_service()
    world.run(lambda: is_let_go(world, stream), "the job to be let go")
    assert told(world, stream)[-1] == "JobDeleted"


def test_a_finished_job_that_went_while_nobody_watched_is_told_as_gone() -> None:
    world, stream = running()
    world.plane.holds = False
    world.run(lambda: is_over(world, stream), "the job to be over")
    world.cluster.disconnect()
    metadata = dict(child(world.job("train"), "metadata"))
    metadata["finalizers"] = []
    world.cluster.edit(RAYJOBS, "ml", "train", metadata=metadata)
    world.cluster.delete(RAYJOBS, "ml", "train")
    world.service = world.start_service()
    world.run(lambda: told(world, stream)[-1] == "JobDeleted", "the job to be told as gone")


def test_what_the_watch_does_not_show_yet_is_asked_for_before_it_is_told_as_gone() -> None:
    world, stream = running()
    world.cluster.disconnect()
    watched = world.cluster.list

    def lagging(*args: object, **kwargs: object) -> object:
        found = watched(*args, **kwargs)  # type: ignore[arg-type]  # passes everything on
        return type(found)(items=[], resource_version=found.resource_version)

    world.cluster.list = lagging  # type: ignore[method-assign,assignment]  # an old cache
    world.service = world.start_service()
    world.cluster.list = watched  # type: ignore[method-assign]  # and it is back
    for _ in range(50):
        world.step()
    assert not {"ClusterVanished", "JobDeleted"} & set(told(world, stream))
    assert world.service.handover.workers.run_once() is False


def test_an_end_that_users_have_not_seen_is_published_after_a_start() -> None:
    """The process died between the append of the end and the write of the status."""
    world, stream = running()
    apply = world.cluster.apply

    def dying(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 passes everything on
        if child(args[1], "status")["jobDeploymentStatus"] == "Complete":
            raise Crash
        return apply(*args, **kwargs)

    world.plane.holds = False
    world.cluster.apply = dying  # type: ignore[method-assign]  # it dies there
    while not world.deaths:
        world.clock.advance(1)
        world.step()
    assert "JobCompleted" in told(world, stream)
    assert world.phase("train") == "Running"
    world.cluster.apply = apply  # type: ignore[method-assign]  # and lives on
    world.restart()
    world.run(lambda: is_over(world, stream), "the end to be seen")
    assert world.phase("train") == "Complete"
    assert_whole(world, stream)


@pytest.mark.parametrize("mode", [K8S, HTTP])
def test_open_effects_are_carried_out_after_a_start(mode: str) -> None:
    world = ServiceWorld()
    stream = world.create(a_rayjob(submissionMode=mode, shutdownAfterJobFinishes=True))
    world.service.controller.run_once(wait_seconds=0)  # what is listed then is not from before it
    world.cluster.deliver()
    world.service.controller.run_once(wait_seconds=0)
    world.service.controller.run_once(wait_seconds=0)
    assert "EffectRequested" in told(world, stream)
    stop_process(world)
    world.service = world.start_service()
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert_whole(world, stream)


def test_an_outage_of_the_ledger_longer_than_the_lease_leaves_nothing_undone() -> None:
    """Nothing is acted on meanwhile, and everything is afterwards: no errand is forgotten."""
    world = ServiceWorld()
    stream = world.create(a_rayjob(submissionMode=HTTP, shutdownAfterJobFinishes=True))
    service = world.service
    acquire = world.lease_table.acquire

    def away(*args: object) -> object:
        raise LedgerUnavailable(str(len(args)))

    world.cluster.deliver()
    for _ in range(2):
        service.controller.run_once(wait_seconds=0)
    world.lease_table.acquire = away  # type: ignore[method-assign,assignment]  # an outage
    world.clock.advance(LEASE_SECONDS)
    service.controller.renew_leases()
    written = len(world.cluster.writes)
    for _ in range(20):
        service.step()
    assert len(world.cluster.writes) == written
    world.lease_table.acquire = acquire  # type: ignore[method-assign]  # and it is back
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert_whole(world, stream)


def test_a_ledger_that_is_away_at_the_start_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = ServiceWorld()
    world.cluster.disconnect()
    current, answers = world.lease_table.current, [LedgerUnavailable("a"), LedgerUnavailable("b")]

    def away() -> object:
        if answers:
            raise answers.pop()
        return current()

    world.lease_table.current = away  # type: ignore[method-assign,assignment]  # an outage
    world.service = world.start_service()
    monkeypatch.setattr(world.service.controller._stopping, "wait", lambda _: False)  # noqa: SLF001 no pause
    stream = world.create(a_rayjob(submissionMode=HTTP, shutdownAfterJobFinishes=True))
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert_whole(world, stream)


def test_a_decision_that_ends_nothing_is_told_without_a_look() -> None:
    world, stream = running()
    world.plane.holds = False
    world.run(lambda: is_over(world, stream), "the job to be over")
    fired = [item for item in world.store.read_stream(stream) if "Fired" in item.record.type]
    assert len(fired) == 1
    assert world.service.polls.streams() == []


def test_a_decision_that_would_end_an_attempt_is_told_after_a_look() -> None:
    world, stream = running(activeDeadlineSeconds=30)
    service = world.service
    (row,) = world.history.decisions(stream)
    world.clock.advance(40)
    service.controller._on_due(row)  # noqa: SLF001 as the alarms do
    assert len(service.inbox) == 0
    assert service.polls.run_once()
    *answer, (where, due) = service.inbox.take(10, 0)
    assert len(answer) == 1
    assert isinstance(due, DecisionDue)
    assert (where, due.looked, due.decision_id) == (stream, True, row.decision_id)


def test_the_end_of_a_submitter_and_what_ray_says_of_it_are_decided_on_together() -> None:
    world, stream = running(K8S)
    service, before = world.service, len(told(world, stream))
    world.plane.holds = False
    taken: list[Arrival] = []
    while not any(isinstance(item, SubmitterSeen) for _, item in taken):
        assert world.plane.step(), "the submitter ends"
        world.cluster.deliver()
        taken += service.inbox.take(10, 0)
    service.inbox.put_back(taken)
    assert service.polls.run_once(), "the head is asked before the end is decided on"
    service.turn.run_once(0)
    events = told(world, stream)[before:]
    assert events.index("SubmitterFinished") < events.index("EntrypointObserved")
    assert not service.polls.run_once(), "it is asked once"
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert_whole(world, stream)


def test_what_was_seen_unchanged_is_summed_up_after_a_while() -> None:
    world, stream = running()
    service = world.service
    service.confirmations.take(stream)
    now = service.clock.now()
    service.confirmations.count(stream, "Ray job", now)
    service.controller.sum_up()
    assert len(service.inbox) == 0
    world.clock.advance((CONFIRMATIONS_EVERY + timedelta(seconds=1)).total_seconds())
    service.controller.sum_up()
    ((_, total),) = service.inbox.take(10, 0)
    assert isinstance(total, NothingNew)
    assert total.sources == (Confirmation(source="Ray job", count=1, first_at=now, last_at=now),)


def test_a_deleted_job_loses_its_finalizer() -> None:
    world, stream = running()
    assert FINALIZER in str(child(world.job("train"), "metadata")["finalizers"])
    world.cluster.delete(RAYJOBS, "ml", "train")
    world.run(lambda: not world.job("train") and is_let_go(world, stream), "the job to be gone")
    assert_whole(world, stream)


def test_starting_twice_and_stopping_twice_does_no_harm_and_stopping_first_is_final() -> None:
    for order in ("start start stop stop", "stop start", "start stop start"):
        service = ServiceWorld().service
        for step in order.split():
            getattr(service.controller, step)()
        assert not service.controller.is_alive()


def test_a_process_whose_turn_has_died_leaves_its_leases_to_others() -> None:
    """Its duties lived on and renewed them, so that nobody worked on its jobs."""
    world = ServiceWorld()
    service = world.start_threads(SteppedAlarms)
    controller = service.controller
    wait_until(lambda: bool(service.leases.held()), "the first leases")

    def die(wait_seconds: float = 0) -> None:
        raise ZeroDivisionError(wait_seconds)

    with capture_logs(), patch.object(threading, "excepthook", lambda _: None):
        controller.run_once = die  # type: ignore[method-assign] # a bug
        wait_until(lambda: not controller.is_alive(), "the turn to die")
    for _ in range(int(LEASE_SECONDS)):
        world.clock.advance(2)
        controller.keep_leases()
    other = world.start_service("b")
    other.leases.renew()
    assert len(other.leases.held()) == SHARDS
    controller.stop()
