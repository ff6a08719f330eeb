"""Where the evidence of a Job's attempts is found."""

from jobledger.core.batchjob.phases import Phase
from jobledger.core.batchjob.state import BatchJobState, pods_of
from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.evidence.scene import (
    AttemptScene,
    EvidenceRules,
    SceneObject,
    job_is_short,
)
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import EffectKind


def _whole(identity: JobIdentity, state: BatchJobState) -> SceneObject:
    del identity
    attempt = state.attempt
    uid = attempt.job.uid if attempt is not None and attempt.job is not None else ""
    return SceneObject(kind="Job", name=attempt.job_name if attempt is not None else "", uid=uid)


def _scene(state: BatchJobState, kind: str) -> AttemptScene | None:
    del kind
    attempt = state.attempt
    if attempt is None:
        return None
    runs = state.phase is Phase.RUNNING and not _waits(state)
    return AttemptScene(
        attempt=attempt.number, is_stopped=runs and is_leaving(state), is_over=attempt.is_over
    )


def _waits(state: BatchJobState) -> bool:
    """Return whether Pods of the attempt's Job are not ready, as it counts them."""
    pods = pods_of(state)
    return pods.active > pods.ready or not (pods.ready or pods.succeeded)


def _waits_now(identity: JobIdentity, state: BatchJobState) -> SceneObject | None:
    """Return the attempt's Job while Pods of it are not ready."""
    waits = state.phase is Phase.RUNNING and _waits(state)
    return _whole(identity, state) if waits else None


BATCHJOB_EVIDENCE = EvidenceRules(
    before={EffectKind.DELETE_ATTEMPT_JOB: "Job"},
    whole=_whole,
    scene=_scene,
    waits_now=_waits_now,
    is_short=job_is_short,
    well_pods_of=frozenset({"Job"}),
)
