"""The edits of a slowed job are not looked through for secrets one by one: the latest alone is.

Nor are those of a job that is edited a lot, before it is slowed: so many bytes of them are looked
through at once, and per minute.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from jobledger.adapters.service.objects import declared_secrets
from jobledger.adapters.service.watches.job_listener import retell_job
from jobledger.core.jobs.budget import EDITS_AT_ONCE
from jobledger.core.log.redaction.redact import secrets_in
from jobledger.core.ports.cluster import BATCH_JOBS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Json, Manifest, child, number, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.job_world import JobWorld, a_job
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

pytestmark = pytest.mark.faults

PER_HOUR = 200
EDITS, EVERY = 300, 0.05
"""A quarter of a minute of edits, twenty a second."""
SLOWED_AFTER_MAX = 150
"""Of these jobs so many edits have used up half of the budget."""
LARGE = "x" * 200_000
"""Annotations of a job may be 256 KiB."""
LARGE_EDITS = 100
LARGE_EDITS_MAX = EDITS_AT_ONCE // len(LARGE) + 2
"""So many of them are looked through in the few seconds in which they are made."""
FIRST, LAST = "xK9-planted-before-all-others", "xK9-planted-in-the-last-of-all"


@dataclass
class Edited:
    """A job that runs, and of which every look for secrets is counted."""

    world: ServiceWorld
    stream: StreamId
    resource: Resource
    spec: Callable[[int], Manifest]
    """Returns what an edit changes."""
    looks: list[str] = field(default_factory=list)
    """The version of each object that was looked through."""

    def edit(self, count: int, secret: str, padding: str = "") -> None:
        changed = {**child(self.job, "spec"), **self.spec(count)}
        annotations = {"password": secret, "padding": padding}
        metadata = {**child(self.job, "metadata"), "annotations": annotations}
        self.world.cluster.edit(self.resource, "ml", "train", spec=changed, metadata=metadata)
        self.world.clock.advance(EVERY)
        self.world.step()

    @property
    def job(self) -> Manifest:
        return self.world.cluster.get(self.resource, "ml", "train") or {}

    def edit_all_the_time(self, secret: str = FIRST) -> None:
        for count in range(EDITS):
            self.edit(count, secret)

    @property
    def is_slowed(self) -> bool:
        return self.world.service.metrics.registry.get_sample_value("jobledger_jobs_slowed") == 1

    @property
    def is_up_to_date(self) -> bool:
        """Whether the latest form of the job was decided on."""
        slot = self.world.service.slots.held(self.stream)
        known = slot.view.state.manifest if slot is not None else None
        return known is not None and known.generation == number(self.job, "metadata", "generation")

    def log(self) -> str:
        return str([item.record.data for item in self.world.store.read_stream(self.stream)])


def a_slowed_rayjob() -> Edited:
    world = ServiceWorld(job_events_per_hour=PER_HOUR)
    world.plane.holds = True
    stream = world.create(a_rayjob(shutdownAfterJobFinishes=True))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    return Edited(world, stream, RAYJOBS, lambda n: {"ttlSecondsAfterFinished": n})


def a_slowed_trainjob() -> Edited:
    world = TrainWorld(job_events_per_hour=PER_HOUR)
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    return Edited(world, stream, TRAINJOBS, lambda n: {"labels": {"n": str(n)}})


def a_slowed_job() -> Edited:
    world = JobWorld(job_events_per_hour=PER_HOUR)
    world.holds = True
    made = a_job()
    stream = world.give({**made, "metadata": {**made["metadata"], "name": "train"}})
    world.run(lambda: len(world.attempts()) == 1, "the Job of its attempt")
    # Its specification cannot be changed but for that: every other edit makes a generation.
    return Edited(world, stream, BATCH_JOBS, lambda n: {"parallelism": n + 1})


@pytest.fixture(
    params=[a_slowed_rayjob, a_slowed_trainjob, a_slowed_job], ids=["RayJob", "TrainJob", "Job"]
)
def edited(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Edited:
    made: Edited = request.param()

    def counted(manifest: Manifest, runtime_env: Json) -> frozenset[str]:
        found = secrets_in(manifest, runtime_env)
        made.looks.append(text(manifest, "metadata", "resourceVersion"))
        return found

    monkeypatch.setattr(declared_secrets, "secrets_in", counted)
    return made


def test_of_a_slowed_job_that_is_edited_on_no_edit_is_looked_through_before_its_turn(
    edited: Edited,
) -> None:
    edited.edit_all_the_time()
    assert edited.is_slowed
    assert len(edited.looks) <= SLOWED_AFTER_MAX
    before = len(edited.looks)
    for count in range(EDITS // 10):
        edited.edit(count, FIRST)
    assert len(edited.looks) <= before + 2, "what comes back of the budget in three seconds"


def test_the_last_edit_of_a_slowed_job_is_the_one_that_is_taken_in(edited: Edited) -> None:
    edited.edit_all_the_time()
    looks = len(edited.looks)
    edited.edit(EDITS, LAST)
    edited.world.run(lambda: edited.is_up_to_date, "the last edit to be taken in")
    assert len(edited.looks) <= looks + 2
    assert LAST not in edited.log()
    edited.world.run(lambda: not edited.is_slowed, "what has waited to be taken in")


def test_a_slowed_job_that_is_told_anew_is_told_as_it_is_by_then(edited: Edited) -> None:
    """As when its shard is gained once more: told in an earlier form, the last would be no news."""
    edited.edit_all_the_time()
    edited.edit(EDITS, LAST)
    handlers = edited.world.service.controller._parts.handlers  # noqa: SLF001 who tells anew
    retell_job(handlers, text(edited.job, "metadata", "uid"), edited.world.clock.now())
    assert handlers.waiting == {}
    edited.world.run(lambda: edited.is_up_to_date, "the last edit to be taken in")
    assert LAST not in edited.log()


def test_a_slowed_job_that_is_deleted_with_an_edit_put_off_is_over(edited: Edited) -> None:
    edited.edit_all_the_time()
    metadata = {**child(edited.job, "metadata"), "finalizers": []}
    edited.world.cluster.edit(edited.resource, "ml", "train", metadata=metadata)
    edited.world.cluster.delete(edited.resource, "ml", "train")
    held = edited.world.service.slots.held
    edited.world.run(lambda: held(edited.stream) is None, "the job to be let go")
    assert edited.world.service.controller._parts.handlers.waiting == {}  # noqa: SLF001 the leak


def test_of_the_edits_of_a_large_job_few_are_looked_through_before_it_is_slowed(
    edited: Edited,
) -> None:
    for count in range(LARGE_EDITS):
        edited.edit(count, FIRST, LARGE)
    assert len(edited.looks) <= LARGE_EDITS_MAX
    edited.edit(LARGE_EDITS, LAST, LARGE)
    edited.world.run(lambda: edited.is_up_to_date, "the last edit to be taken in")
    assert len(edited.looks) <= LARGE_EDITS_MAX + 2
    assert LAST not in edited.log()
    edited.world.run(lambda: not edited.is_slowed, "what has waited to be taken in")
