"""Where the evidence of a Job's attempts is found."""

from jobledger.core.batchjob.phases import Phase
from jobledger.core.batchjob.state import BatchJobState, pods_of
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
    return AttemptScene(attempt=attempt.number, is_over=attempt.is_over)


def _waits_now(identity: JobIdentity, state: BatchJobState) -> SceneObject | None:
    """Return the attempt's Job while Pods of it are not ready, as it counts them."""
    pods = pods_of(state)
    waits = pods.active > pods.ready or not (pods.ready or pods.succeeded)
    return _whole(identity, state) if state.phase is Phase.RUNNING and waits else None


BATCHJOB_EVIDENCE = EvidenceRules(
    before={EffectKind.DELETE_ATTEMPT_JOB: "Job"},
    whole=_whole,
    scene=_scene,
    waits_now=_waits_now,
    is_short=job_is_short,
    well_pods_of=frozenset({"Job"}),
)
