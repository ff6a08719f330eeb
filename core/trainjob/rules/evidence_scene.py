"""Where the evidence of a TrainJob's attempts is found."""

from jobledger.core.jobs.evidence.scene import (
    AttemptScene,
    EvidenceRules,
    SceneObject,
    nothing_beside,
)
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.state import TrainJobState


def _whole(identity: JobIdentity, state: TrainJobState) -> SceneObject:
    uid = state.jobset.uid if state.jobset is not None else ""
    return SceneObject(kind="JobSet", name=identity.name, uid=uid)


def _scene(state: TrainJobState, kind: str) -> AttemptScene | None:
    del kind
    return None if state.attempt is None else AttemptScene(attempt=state.attempt.number)


TRAINJOB_EVIDENCE = EvidenceRules(
    before={EffectKind.DELETE_JOBSET: "JobSet"}, whole=_whole, beside=nothing_beside, scene=_scene
)
