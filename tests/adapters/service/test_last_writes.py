"""The last status of a job is in the log, so that every later run knows it as one of ours."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import pytest

from jobledger.adapters.service.status.own_writes import OwnWrites
from jobledger.core.kinds import KINDS
from jobledger.core.log.chain import data_sha
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.cluster import BATCH_JOBS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.ports.event_store import EventStore
from jobledger.core.values.documents import Json, Manifest, child
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.job_world import JobWorld, a_job
from tests.support.service_world import DOOR, ServiceWorld
from tests.support.train_world import TrainWorld


@dataclass
class Ended:
    """A job that has ended, and that the service has let go of."""

    world: ServiceWorld
    stream: StreamId
    resource: Resource
    name: str

    @property
    def shown(self) -> Manifest:
        return self.world.cluster.get(self.resource, "ml", self.name) or {}

    def log(self) -> list[StoredEvent]:
        return list(self.world.store.read_stream(self.stream))


def an_ended_rayjob() -> Ended:
    world = ServiceWorld()
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Complete", "the end of the job")
    return Ended(world, stream, RAYJOBS, "train")


def an_ended_trainjob() -> Ended:
    world = TrainWorld()
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Complete"), "the end of the job")
    return Ended(world, stream, TRAINJOBS, "train")


def an_ended_job() -> Ended:
    world = JobWorld()
    stream = world.give(a_job())
    world.run(lambda: world.condition("Complete") != "", "the end of the job")
    return Ended(world, stream, BATCH_JOBS, "etl")


@pytest.fixture(
    params=[an_ended_rayjob, an_ended_trainjob, an_ended_job], ids=["RayJob", "TrainJob", "Job"]
)
def ended(request: pytest.FixtureRequest) -> Ended:
    made = cast("Callable[[], Ended]", request.param)()
    made.world.run(lambda: made.world.service.slots.held(made.stream) is None, "to be let go")
    return made


def published(log: list[StoredEvent]) -> Iterator[str]:
    """Yield what the log has of each status that was written."""
    for item in log:
        if item.record.type == "StatusPublished":
            yield str(child(item.record.data)["status_sha"])


def test_the_last_write_is_noted_though_it_comes_after_the_end(ended: Ended) -> None:
    own = KINDS[ended.resource.kind].status_format.own(child(ended.shown, "status"))
    *_, last = published(ended.log())
    assert last == data_sha(own).hex()


class _Log:
    """A log of one job, as far as it was written."""

    def __init__(self, events: list[StoredEvent]) -> None:
        self._events = events

    def read_stream(self, stream: StreamId) -> list[StoredEvent]:
        del stream
        return self._events


def recognises(ended: Ended, log: list[StoredEvent], **changes: Json) -> bool:
    """Return whether a run that has written nothing yet takes a status for one of ours."""
    writes = OwnWrites(DOOR.cluster, cast("EventStore", _Log(log)))
    shown = {**ended.shown, "status": {**child(ended.shown, "status"), **changes}}
    return writes.recognise(ended.resource.kind, shown)


def test_a_later_run_knows_it_again(ended: Ended) -> None:
    assert recognises(ended, ended.log())


def test_also_if_the_process_was_killed_before_it_took_note(ended: Ended) -> None:
    log = ended.log()
    last = max(n for n, one in enumerate(log) if one.record.type == "StatusPublished")
    assert recognises(ended, log[:last])


def test_a_status_that_differs_is_none_of_ours(ended: Ended) -> None:
    field = "jobDeploymentStatus" if ended.resource == RAYJOBS else "conditions"
    assert not recognises(ended, ended.log(), **{field: "Running"})


def test_nor_is_what_a_recorded_job_shows(ended: Ended) -> None:
    """Others write it by right; that the log has it does not make it ours."""
    log = [one for one in ended.log() if one.record.type != "StatusPublished"]
    assert not recognises(ended, log)


def test_an_api_server_leaves_out_counters_that_are_zero() -> None:
    ended = an_ended_job()
    kept = {key: value for key, value in child(ended.shown, "status").items() if value != 0}
    assert kept != child(ended.shown, "status"), "some are"
    shown = {**ended.shown, "status": kept}
    assert OwnWrites(DOOR.cluster, ended.world.store).recognise("Job", shown)
