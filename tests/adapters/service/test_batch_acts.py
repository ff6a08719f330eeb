"""Acts for batch Jobs whose circumstances have changed since they were decided on."""

from dataclasses import dataclass
from typing import cast

import pytest
from msgspec.structs import replace

from jobledger.adapters.kinds.batchjob.effects import BATCHJOB_ACTING
from jobledger.adapters.service.effects.context import SupersededEffect, World
from jobledger.core.batchjob.names import attempt_job_name
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.errors import ObjectChanged, ObjectExists
from jobledger.core.jobs.pending.effects import DesiredEffect, EffectKind, OpenEffect
from jobledger.core.log.keyed_digests import digest
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import effect_id_of, observation_id
from tests.support.job_world import JobWorld, a_job
from tests.support.plugged import actings
from tests.support.service_world import DOOR, own_door


@dataclass
class Scene:
    """A Job whose attempt runs, and acts for it that are decided by the test."""

    world: JobWorld

    def __post_init__(self) -> None:
        self.world.holds = True
        self.stream = self.world.give(a_job())
        self.world.run(lambda: len(self.world.attempts()) == 1, "the Job of its attempt")
        handlers = self.world.service.controller._parts.handlers  # noqa: SLF001 what it knows
        self.live = handlers.live
        uid = text(self.world.etl, "metadata", "uid")
        self.name = attempt_job_name("etl", uid, 1)
        job = self.live.job(uid)
        assert job is not None
        self.job = job

    def act(self, kind: EffectKind, spec: Manifest, attempt: int = 1) -> None:
        """Do something in an attempt, decided on a specification."""
        slot = self.world.service.slots.held(self.stream)
        assert slot is not None
        state = cast("BatchJobState", slot.view.state)
        assert state.attempt is not None
        state = replace(state, attempt=replace(state.attempt, number=attempt))
        effect = OpenEffect(
            effect_id=effect_id_of(observation_id(self.stream, "a test"), kind.value, self.name),
            attempt=attempt,
            desired=DesiredEffect(kind=kind, name=self.name),
            digest=digest(DOOR.redaction_key, spec),
        )
        around = World(self.world.cluster, self.world.ray, self.live, own_door(), actings())
        BATCHJOB_ACTING.act(around, self.job, effect, state)

    @property
    def spec(self) -> Manifest:
        return child(self.job.manifest, "spec")


@pytest.fixture
def scene() -> Scene:
    return Scene(JobWorld())


@pytest.mark.parametrize(
    "kind", [EffectKind.SUSPEND_ATTEMPT_JOB, EffectKind.RESUME_ATTEMPT_JOB], ids=str
)
def test_what_took_the_place_of_its_job_is_left_as_it_is(scene: Scene, kind: EffectKind) -> None:
    cluster, suspend = scene.world.cluster, kind is EffectKind.RESUME_ATTEMPT_JOB
    cluster.delete(BATCH_JOBS, "ml", scene.name)
    spec = {**scene.spec, "managedBy": "example.com/another", "suspend": suspend}
    theirs = {**a_job(), "metadata": {"name": scene.name, "namespace": "ml"}, "spec": spec}
    cluster.create(BATCH_JOBS, theirs)
    before = cluster.get(BATCH_JOBS, "ml", scene.name)
    with pytest.raises(SupersededEffect):
        scene.act(kind, scene.spec)
    assert cluster.get(BATCH_JOBS, "ml", scene.name) == before


def test_nothing_is_made_of_a_specification_that_was_not_decided_on(scene: Scene) -> None:
    scene.world.cluster.delete(BATCH_JOBS, "ml", scene.name)
    with pytest.raises(SupersededEffect):
        scene.act(EffectKind.CREATE_ATTEMPT_JOB, {**scene.spec, "parallelism": 7})
    assert scene.world.attempts() == []
    scene.act(EffectKind.CREATE_ATTEMPT_JOB, scene.spec)
    assert len(scene.world.attempts()) == 1


@pytest.mark.parametrize("keeps", [[], ["example.com/keeps"]], ids=["gone", "on its way out"])
def test_no_later_attempt_begins_for_a_job_whose_deletion_is_not_told_yet(
    scene: Scene, keeps: list[str]
) -> None:
    """The Job of the attempt before may have gone with it, and its watch may be the quicker one."""
    cluster = scene.world.cluster
    cluster.delete(BATCH_JOBS, "ml", scene.name)
    finalizers: Manifest = {"metadata": {"finalizers": keeps}}
    cluster.patch_as("somebody", BATCH_JOBS, "ml", "etl", finalizers)
    cluster.delete(BATCH_JOBS, "ml", "etl")
    cluster.writes.clear()
    with pytest.raises(ObjectChanged):
        scene.act(EffectKind.CREATE_ATTEMPT_JOB, scene.spec, attempt=2)
    assert cluster.writes == []


def test_its_own_job_on_its_way_out_is_waited_for(scene: Scene) -> None:
    kept: Manifest = {"metadata": {"finalizers": ["example.com/keeps"]}}
    scene.world.cluster.patch_as("somebody", BATCH_JOBS, "ml", scene.name, kept)
    scene.world.cluster.delete(BATCH_JOBS, "ml", scene.name)
    with pytest.raises(ObjectExists):
        scene.act(EffectKind.CREATE_ATTEMPT_JOB, scene.spec)
