"""Shards are taken over step by step, so that no job waits until those of all shards are read."""

from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.observing.mapper import identify
from jobledger.adapters.service.shard_takeover import QUIET_SECONDS
from jobledger.adapters.service.status.status_writer import Publisher
from jobledger.adapters.service.watches import job_listener
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.work.workers import Task
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobObservation
from jobledger.core.ports.cluster import RAYCLUSTERS
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.ids import SHARDS, StreamId, shard_of
from jobledger.core.values.instants import Instant
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, assert_whole, is_let_go
from tests.support.service_world import DOOR, LEASE_SECONDS, Service, ServiceWorld

JOBS = 12
"""They are of several shards."""

READING = "open jobs are being read from the log"


def named(name: str) -> Manifest:
    made = a_rayjob(submissionMode=HTTP, shutdownAfterJobFinishes=True)
    return {**made, "metadata": {**child(made, "metadata"), "name": name}}


def create(world: ServiceWorld) -> list[StreamId]:
    jobs = [world.create(named(f"job-{number}")) for number in range(JOBS)]
    assert len({shard_of(job) for job in jobs}) > 3
    return jobs


def one_by_one(service: Service) -> Service:
    service.controller.takeover.step_jobs = 0
    return service


def settle(world: ServiceWorld, *alive: Service) -> None:
    """Let the service and the cluster do what there is to do."""
    for _ in range(1_000):
        world.clock.advance(0.001)
        told = world.cluster.deliver()
        moved = [service.step() for service in alive or (world.service,)]
        if not (world.plane.step() or told or any(moved)):
            return
    raise AssertionError("after 1,000 steps they still find something to do")


def assert_complete(world: ServiceWorld, jobs: list[StreamId]) -> None:
    names = [f"job-{number}" for number in range(JOBS)]

    def are_over() -> bool:
        ended = all(world.phase(name) == "Complete" for name in names)
        return ended and not world.cluster.peek(RAYCLUSTERS) and all(map(let_go, jobs))

    def let_go(job: StreamId) -> bool:
        return is_let_go(world, job)

    world.run(are_over, "all jobs to be over")
    for job in jobs:
        assert_whole(world, job)


@pytest.fixture
def restarted() -> ServiceWorld:
    """A world of running jobs, and a service that has just been started again."""
    world = ServiceWorld()
    world.plane.holds = True
    create(world)
    settle(world)
    world.restart()
    one_by_one(world.service)
    return world


def test_the_first_are_acted_for_before_the_last_are_read(restarted: ServiceWorld) -> None:
    service = restarted.service
    while not len(service.slots):  # the first shards may have no jobs
        restarted.cluster.deliver()
        service.controller.run_once(0)
    held = {slot.shard for slot in service.slots}
    assert held <= set(service.leases.shards()) < set(range(SHARDS))
    assert service.controller.waits_for() == [READING]
    settle(restarted)
    assert set(service.leases.shards()) == set(range(SHARDS))
    assert len(service.slots) == JOBS
    assert service.controller.waits_for() == []


def test_lists_that_do_not_come_keep_nothing_out_of_the_log(restarted: ServiceWorld) -> None:
    """Nothing is done for any job before everything is listed."""
    service, writes = restarted.service, list(restarted.cluster.writes)
    service.step()
    assert len(service.slots) == 0
    for _ in range(2 * SHARDS):
        restarted.clock.advance(QUIET_SECONDS)
        service.step()
    assert not service.controller.knows_all()
    assert (len(service.slots), service.leases.shards()) == (JOBS, frozenset())
    assert restarted.cluster.writes == writes


def test_every_job_goes_on_to_its_end(restarted: ServiceWorld) -> None:
    settle(restarted)
    jobs = [slot.stream_id for slot in restarted.service.slots]
    restarted.plane.holds = False
    assert_complete(restarted, jobs)


def test_what_went_meanwhile_is_noticed_in_every_shard() -> None:
    world = ServiceWorld()
    world.plane.holds = True
    jobs = create(world)
    settle(world)
    world.cluster.disconnect()
    for cluster in world.cluster.peek(RAYCLUSTERS):
        metadata = child(cluster, "metadata")
        world.cluster.delete(RAYCLUSTERS, str(metadata["namespace"]), str(metadata["name"]))
    world.service = one_by_one(world.start_service())
    settle(world)
    for job in jobs:
        assert "ClusterVanished" in [item.record.type for item in world.store.read_stream(job)]


def test_new_jobs_of_a_shard_wait_until_it_is_loaded_and_are_told_once() -> None:
    world = ServiceWorld()
    world.cluster.disconnect()
    jobs = create(world)
    world.service = one_by_one(world.start_service())
    world.service.controller.run_once(0)
    world.cluster.deliver()
    inbox = world.service.inbox
    assert len(inbox) < inbox.size
    assert sum(inbox.count_held_back(shard) for shard in range(SHARDS)) == inbox.size - len(inbox)
    assert_complete(world, jobs)
    for job in jobs:
        looks = [one.record.type for one in world.store.read_stream(job)]
        assert looks.count("JobCreated") <= 1


def test_shards_of_a_replica_that_is_gone_are_taken_over_one_by_one() -> None:
    world = ServiceWorld()
    world.plane.holds = True
    jobs = create(world)
    other = one_by_one(world.start_service("b"))
    settle(world, world.service, other)
    world.clock.advance(LEASE_SECONDS + 1)
    other.controller.renew_leases()
    other.controller.run_once(0)
    assert len(other.leases.held()) == SHARDS
    assert 0 < len(other.leases.shards()) < SHARDS
    assert other.controller.waits_for() == [READING]
    world.service, world.plane.holds = other, False
    assert_complete(world, jobs)


def test_a_shard_that_is_lost_while_it_waits_is_left_to_others(restarted: ServiceWorld) -> None:
    """What was held back of it is passed over, and told again once it comes back."""
    service = restarted.service
    service.controller.run_once(0)
    restarted.cluster.deliver()
    service.controller.run_once(0)
    waiting = [job for job in range(SHARDS) if service.inbox.count_held_back(job)]
    assert waiting
    service.leases.lost(waiting[-1])
    service.controller.run_once(0)
    assert service.inbox.count_held_back(waiting[-1]) == 0
    settle(restarted)
    assert waiting[-1] in service.turn.unheard
    service.controller.renew_leases()
    settle(restarted)
    assert waiting[-1] not in service.turn.unheard
    assert len(service.slots) == JOBS


def test_a_ledger_that_fails_in_between_is_asked_again(
    restarted: ServiceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = restarted.service
    while not service.leases.shards():
        restarted.cluster.deliver()
        service.controller.run_once(0)
    before = set(service.leases.shards())

    def fails(*_: object) -> None:
        raise LedgerUnavailable("it is restarted")

    with monkeypatch.context() as broken:
        broken.setattr(service.controller._parts.stopping, "wait", lambda _: False)  # noqa: SLF001
        broken.setattr(service.slots, "load_open", fails)
        service.controller.run_once(0)
        assert service.controller.troubles() == ["it is restarted"]
        assert set(service.leases.shards()) == before
    settle(restarted)
    assert service.controller.troubles() == []
    assert set(service.leases.shards()) == set(range(SHARDS))


def test_what_comes_of_a_shard_that_is_gained_waits_while_the_ledger_does_not_answer(
    restarted: ServiceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where others wait to be loaded, of which the ledger has told already."""
    service = restarted.service
    while not len(service.slots):
        restarted.cluster.deliver()
        service.controller.run_once(0)
    (job, *_) = [slot.stream_id for slot in service.slots]
    restarted.lease_table.release("a/2", {shard_of(job)})
    service.controller.renew_leases()
    unanswered = iter([True])
    answer = restarted.history.open_streams

    def once(shards: Sequence[int]) -> Sequence[StreamId]:
        if next(unanswered, False):
            raise LedgerUnavailable("it does not answer")
        return answer(shards)

    monkeypatch.setattr(service.controller._stopping, "wait", lambda _: False)  # noqa: SLF001 no pause
    monkeypatch.setattr(restarted.history, "open_streams", once)
    service.controller.run_once(0)
    assert next(unanswered, None) is None, "it was asked"
    assert service.inbox.holds_back(job)
    settle(restarted)
    assert not service.inbox.holds_back(job)


def strange(world: ServiceWorld, monkeypatch: pytest.MonkeyPatch, broken: str) -> StreamId:
    """Let one job be such that it cannot be told again, or what it waits for not be passed on."""
    first = world.job("job-0")
    stream = identify(DOOR.cluster, first).stream_id
    see, offer = job_listener.see_job, Publisher.offer

    def sees(around: EventHandlers, job: CachedJob, at: Instant) -> JobObservation:
        if job.identity.stream_id == stream:
            raise RecursionError
        return see(around, job, at)

    def offers(publisher: Publisher, identity: JobIdentity, *more: Any) -> Task | None:  # noqa: ANN401 passes everything on
        if identity.stream_id == stream:
            raise RecursionError
        return offer(publisher, identity, *more)

    if broken == "told":
        monkeypatch.setattr(job_listener, "see_job", sees)
    else:
        monkeypatch.setattr(Publisher, "offer", offers)
    return stream


@pytest.mark.parametrize("broken", ["told", "passed on"])
def test_a_job_that_breaks_as_it_is_taken_up_keeps_no_other_waiting(
    restarted: ServiceWorld, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """It ended the turn's thread, at every start and every takeover anew."""
    world = restarted
    settle(world)
    with monkeypatch.context() as meanwhile, capture_logs() as lines:
        strange(world, meanwhile, broken)
        world.service.turn.unheard |= set(range(SHARDS))  # none was held for a moment
        world.plane.holds = False
        names = [f"job-{number}" for number in range(1, JOBS)]
        world.run(lambda: all(world.phase(name) == "Complete" for name in names), "the others")
    told = {line["event"] for line in lines if line["log_level"] == "error"}
    assert told == {"job_not_looked_at" if broken == "told" else "handover_poisoned"}
