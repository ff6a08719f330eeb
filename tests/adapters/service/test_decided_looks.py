"""A start does not look again at jobs on which the log has decided as they are."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.kinds.rayjob.watching.observations import see_manifest
from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.core.batchjob.observations import BatchJobGone
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.policy import Policy
from jobledger.core.kinds import JobObservation
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.cluster import BATCH_JOBS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.values.documents import Json, Manifest, child
from jobledger.core.values.ids import StreamId, observation_id, shard_of
from jobledger.core.values.instants import Instant
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import assert_whole
from tests.support.job_world import JobWorld, a_job
from tests.support.records import NOON
from tests.support.service_world import DOOR, ServiceWorld
from tests.support.train_world import TrainWorld

See: TypeAlias = Callable[..., JobObservation]


def rayjobs() -> tuple[ServiceWorld, StreamId, Resource]:
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob(shutdownAfterJobFinishes=True))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    return world, stream, RAYJOBS


def trainjobs() -> tuple[ServiceWorld, StreamId, Resource]:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    return world, stream, TRAINJOBS


def jobs() -> tuple[ServiceWorld, StreamId, Resource]:
    world = JobWorld()
    world.holds = True
    stream = world.give(a_job())
    world.run(lambda: len(world.attempts()) == 1, "the Job of the attempt")
    return world, stream, BATCH_JOBS


class Calm:
    """A job that goes on, of which all is in a snapshot, and the looks of later starts."""

    def __init__(self, made: Callable[[], tuple[ServiceWorld, StreamId, Resource]]) -> None:
        self.world, self.stream, self.resource = made()
        self.world.run(self.is_kept, "all of it is in the snapshot")

    def is_kept(self) -> bool:
        put = self.world.snapshots.kept.get(self.stream)
        return put is not None and put.version == len(self.world.store.read_stream(self.stream))

    @property
    def handlers(self) -> EventHandlers:
        return self.world.service.controller.takeover.handlers

    def edit(self, **metadata: Json) -> None:
        """Change the job's metadata while no service runs."""
        world, name = self.world, self.handlers.live.jobs()[0].identity.name
        world.cluster.disconnect()
        before = world.cluster.get(self.resource, "ml", name) or {}
        changed = {**child(before, "metadata"), **metadata}
        world.cluster.edit(self.resource, "ml", name, metadata=changed)

    def looks_of_a_start(self, see: See | None = None) -> int:
        """Start the service anew, shards gained before anything is listed; count the looks."""
        self.world.restart()
        service, looks = self.world.service, list[JobObservation]()
        kinds = self.handlers.kinds
        assert isinstance(kinds, dict)
        for name, kind in list(kinds.items()):
            kinds[name] = replace(kind, see=partial(_noted, looks, see or kind.see))
        service.controller.run_once(0)
        self.world.run(lambda: service.controller.takeover.is_whole, "a start")
        return len(looks)

    def latest(self) -> str:
        slot = self.world.service.slots.held(self.stream)
        assert slot is not None
        return self.world.service.decided(slot.stream_id, slot.view)


def _noted(looks: list[JobObservation], see: See, *args: Any) -> JobObservation:  # noqa: ANN401 as `see` takes
    looks.append(see(*args))
    return looks[-1]


@pytest.fixture(params=[rayjobs, trainjobs, jobs])
def calm(request: pytest.FixtureRequest) -> Calm:
    return Calm(request.param)


def test_a_job_that_is_as_it_was_decided_on_is_not_looked_at(calm: Calm) -> None:
    before = len(calm.world.store.read_stream(calm.stream))
    assert calm.looks_of_a_start() == 0
    assert calm.looks_of_a_start() == 0, "nor at the next start"
    told = {item.record.type for item in calm.world.store.read_stream(calm.stream)[before:]}
    assert told <= {"ObservationsConfirmed", "ObservationGapFound"}


def test_one_that_was_edited_meanwhile_is(calm: Calm) -> None:
    calm.edit(annotations={"example.com/who": "somebody"})
    assert calm.looks_of_a_start() == 1


def test_with_other_settings_all_are(calm: Calm) -> None:
    calm.world.mapper = replace(DOOR, policy=Policy(retry_delay_seconds=77)).knowing(
        TrainInstallation(policy=TrainPolicy(retry_seconds=77))
    )
    assert calm.looks_of_a_start() == 1


def test_nothing_is_noted_while_anything_of_the_job_is_to_be_decided_on(calm: Calm) -> None:
    assert calm.latest()
    inbox = calm.world.service.inbox
    inbox.put(calm.stream, BatchJobGone(id=observation_id(calm.stream, "gone"), at=NOON))
    assert not calm.latest(), "it waits"
    taken = inbox.take(1, 0)
    assert not calm.latest(), "a turn has taken it"
    inbox.put_back(taken)
    assert not calm.latest(), "it waits again"
    assert inbox.take(1, 0) == taken
    assert not inbox.take(1, 0), "the turn has come to its end"
    assert calm.latest()


def test_nor_while_an_edit_waits_or_a_write_of_ours_is_not_told_yet(calm: Calm) -> None:
    (job,) = calm.handlers.live.jobs()
    calm.handlers.waiting[job.identity.uid] = lambda: None
    assert not calm.latest()
    calm.handlers.waiting.clear()
    assert calm.latest()
    calm.handlers.live.note_version(job.identity.uid, str(int(job.version) + 1))
    assert not calm.latest()


def test_nor_while_another_replica_may_have_the_job(calm: Calm) -> None:
    shards = calm.world.service.turn.unheard
    shards.add(shard_of(calm.stream))
    assert not calm.latest()
    shards.clear()
    calm.world.service.leases.lost(shard_of(calm.stream))
    assert not calm.latest()


def test_a_job_that_has_ended_is_not_looked_at_unless_it_was_edited() -> None:
    ended = Calm(rayjobs)
    ended.world.plane.holds = False
    ended.world.run(lambda: ended.world.phase("train") == "Complete", "the job to end")
    ended.world.run(lambda: ended.world.service.slots.held(ended.stream) is None, "nothing is left")
    assert ended.looks_of_a_start() == 0
    ended.edit(generation=9)
    assert ended.looks_of_a_start() == 1
    assert_whole(ended.world, ended.stream)


def test_one_that_cannot_be_looked_at_keeps_no_other_from_it() -> None:
    calm = Calm(rayjobs)
    another = a_rayjob()
    other = {**another, "metadata": {**child(another, "metadata"), "name": "other"}}
    calm.edit(annotations={"example.com/who": "somebody"})
    looked_at = calm.world.create(other)

    def see(
        mapper: ObservationMapper,
        identity: JobIdentity,
        manifest: Manifest,
        redactor: Redactor,
        at: Instant,
    ) -> JobObservation:
        if identity.stream_id == calm.stream:
            raise ValueError(identity.name)
        return see_manifest(mapper, identity, manifest, redactor, at)

    with capture_logs() as logged:
        calm.looks_of_a_start(see)
    assert calm.world.store.read_stream(looked_at)
    (line,) = (one for one in logged if one["event"] == "job_not_looked_at")
    assert line["job"] == "ml/train"
