"""Which Pods an attempt under way waits for, and whether somebody ends it while all of them run."""

from uuid import UUID

import pytest

from jobledger.core.batchjob.observations import PodCounts
from jobledger.core.batchjob.phases import Phase as BatchPhase
from jobledger.core.batchjob.rules.evidence_scene import BATCHJOB_EVIDENCE
from jobledger.core.batchjob.state import AttemptJob, BatchAttempt, BatchJobState, known_job
from jobledger.core.jobs.evidence.scene import SceneObject
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.trainjob.observations import JobCounts
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.rules.evidence_scene import TRAINJOB_EVIDENCE
from jobledger.core.trainjob.state import TrainAttempt, TrainJobState, known_trainjob
from jobledger.core.values.ids import StreamId
from tests.support import batchjobs as batch
from tests.support import trainjobs as train
from tests.support.records import NOON

IDENTITY = JobIdentity(
    cluster="c",
    namespace="ml",
    name="train",
    uid="u",
    created_at=NOON,
    stream_id=StreamId(UUID(int=7)),
)


def waits_of_training(
    *jobs: JobCounts, phase: Phase = Phase.RUNNING, is_over: bool = False
) -> SceneObject | None:
    attempt = TrainAttempt(
        number=1, generation=1, jobset_uid="s", restarts=0, started_at=NOON, is_over=is_over
    )
    state = TrainJobState(identity=IDENTITY, phase=phase, jobs=jobs, attempt=attempt)
    return TRAINJOB_EVIDENCE.waits_now(IDENTITY, state)


READY = JobCounts(name="node", active=2, ready=2)
HALF = JobCounts(name="node", active=2, ready=1)
LOADED = JobCounts(name="initializer", succeeded=1)
NOTHING_YET = JobCounts(name="node")


@pytest.mark.parametrize(
    ("jobs", "waits"),
    [
        ((), True),
        ((NOTHING_YET,), True),
        ((HALF,), True),
        ((LOADED, JobCounts(name="node", active=1)), True),
        ((READY,), False),
        ((LOADED, READY), False),
        ((LOADED,), False),
    ],
)
def test_a_trainjob_waits_for_pods_of_jobs_that_are_not_ready(
    jobs: tuple[JobCounts, ...], *, waits: bool
) -> None:
    expected = SceneObject(kind="JobSet", name="train") if waits else None
    assert waits_of_training(*jobs) == expected


@pytest.mark.parametrize("phase", [Phase.SUSPENDED, Phase.COMPLETE, Phase.FAILED, Phase.NEW])
def test_a_trainjob_that_runs_nothing_waits_for_no_pod(phase: Phase) -> None:
    assert waits_of_training(HALF, phase=phase) is None


def test_nor_does_an_attempt_that_is_over() -> None:
    assert waits_of_training(HALF, is_over=True) is None


def waits_of_job(pods: PodCounts, phase: BatchPhase = BatchPhase.RUNNING) -> SceneObject | None:
    made = AttemptJob(uid="j", pods=pods)
    attempt = BatchAttempt(number=1, generation=1, started_at=NOON, job_name="etl-1", job=made)
    state = BatchJobState(identity=IDENTITY, phase=phase, attempt=attempt)
    return BATCHJOB_EVIDENCE.waits_now(IDENTITY, state)


@pytest.mark.parametrize(
    ("pods", "waits"),
    [
        (PodCounts(), True),
        (PodCounts(active=2, ready=1), True),
        (PodCounts(active=1, succeeded=3), True),
        (PodCounts(active=2, ready=2), False),
        (PodCounts(succeeded=1), False),
    ],
)
def test_a_job_waits_for_pods_that_are_not_ready(pods: PodCounts, *, waits: bool) -> None:
    expected = SceneObject(kind="Job", name="etl-1", uid="j") if waits else None
    assert waits_of_job(pods) == expected


@pytest.mark.parametrize(
    ("jobs", "leaving", "stopped"),
    [((READY,), True, True), ((HALF,), True, False), ((), True, False), ((READY,), False, False)],
)
def test_a_trainjob_is_stopped_that_is_deleted_while_all_its_pods_run(
    jobs: tuple[JobCounts, ...], *, leaving: bool, stopped: bool
) -> None:
    looked = known_trainjob(train.manifest(deleting=leaving))
    attempt = TrainAttempt(number=1, generation=1, jobset_uid="s", restarts=0, started_at=NOON)
    state = TrainJobState(phase=Phase.RUNNING, jobs=jobs, attempt=attempt, manifest=looked)
    told = TRAINJOB_EVIDENCE.scene(state, "JobSet")
    assert told is not None
    assert told.is_stopped is stopped


@pytest.mark.parametrize(
    ("pods", "leaving", "stopped"),
    [
        (PodCounts(active=2, ready=2), True, True),
        (PodCounts(active=2, ready=1), True, False),
        (PodCounts(active=2, ready=2), False, False),
    ],
)
def test_a_job_is_stopped_that_is_deleted_while_all_its_pods_run(
    pods: PodCounts, *, leaving: bool, stopped: bool
) -> None:
    looked = known_job(batch.manifest(deleting=leaving))
    made = AttemptJob(uid="j", pods=pods)
    attempt = BatchAttempt(number=1, generation=1, started_at=NOON, job_name="etl-1", job=made)
    state = BatchJobState(phase=BatchPhase.RUNNING, attempt=attempt, manifest=looked)
    told = BATCHJOB_EVIDENCE.scene(state, "Job")
    assert told is not None
    assert told.is_stopped is stopped


@pytest.mark.parametrize("phase", [one for one in BatchPhase if one is not BatchPhase.RUNNING])
def test_a_job_that_runs_nothing_waits_for_no_pod(phase: BatchPhase) -> None:
    assert waits_of_job(PodCounts(active=1), phase) is None
