"""Where the evidence of a TrainJob's attempts is found."""

from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.evidence.scene import AttemptScene, EvidenceRules, SceneObject
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.documents import Manifest, items, number, text

RESTARTS_LABEL = "jobset.sigs.k8s.io/restart-attempt"
"""Of a Pod: how often its JobSet had been restarted when it was made."""


def _whole(identity: JobIdentity, state: TrainJobState) -> SceneObject:
    uid = state.jobset.uid if state.jobset is not None else ""
    return SceneObject(kind="JobSet", name=identity.name, uid=uid)


def _scene(state: TrainJobState, kind: str) -> AttemptScene | None:
    del kind
    attempt = state.attempt
    if attempt is None:
        return None
    runs = state.phase is Phase.RUNNING and not _waits(state)
    return AttemptScene(
        attempt=attempt.number, is_stopped=runs and is_leaving(state), is_over=attempt.is_over
    )


def _waits(state: TrainJobState) -> bool:
    """Return whether Pods of the JobSet are not ready, as its counters of Jobs tell."""
    has_begun = any(one.ready or one.succeeded for one in state.jobs)
    return not has_begun or any(one.active > one.ready for one in state.jobs)


def _waits_now(identity: JobIdentity, state: TrainJobState) -> SceneObject | None:
    """Return the JobSet while Pods of it are not ready."""
    attempt = state.attempt
    if attempt is None or attempt.is_over or state.phase not in (Phase.CREATED, Phase.RUNNING):
        return None
    return _whole(identity, state) if _waits(state) else None


def _earlier_attempt(state: TrainJobState, pod: Manifest) -> int:
    """Return the attempt of a Pod that its JobSet made before it was restarted, as the Pod tells.

    Source: JobSet v0.12, api/jobset/v1alpha2, RestartsKey.
    """
    attempt, told = state.attempt, text(pod, "metadata", "labels", RESTARTS_LABEL)
    if attempt is None or not told.isdigit():
        return 0
    return max(0, attempt.number - before) if (before := attempt.restarts - int(told)) > 0 else 0


def _is_short(jobset: Manifest, jobs: int) -> bool:
    """Return whether Jobs of a JobSet are not created.

    Source: JobSet v0.12, api/jobset/v1alpha2, ReplicatedJob.
    """
    replicated = items(jobset, "spec", "replicatedJobs")
    return jobs < sum(
        1 if (told := number(one, "replicas")) is None else told for one in replicated
    )


TRAINJOB_EVIDENCE = EvidenceRules(
    before={EffectKind.DELETE_JOBSET: "JobSet"},
    whole=_whole,
    scene=_scene,
    waits_now=_waits_now,
    is_short=_is_short,
    well_pods_of=frozenset({"JobSet"}),
    earlier_attempt=_earlier_attempt,
)
