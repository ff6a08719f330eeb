"""Reconstructs the observations of a TrainJob from the events that they led to."""

from collections.abc import Iterator, Sequence

from jobledger.core.jobs.events import (
    ControlReleased,
    ControlTaken,
    LedgerBehindFound,
    RecoveredFromCluster,
)
from jobledger.core.jobs.history.shared_observations import (
    asked_for,
    find,
    survey_of,
    why_recorded,
)
from jobledger.core.jobs.history.shared_observations import observed as shared_observed
from jobledger.core.trainjob import events
from jobledger.core.trainjob import observations as seen
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import ObservationId


def candidates(
    state: TrainJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.TrainJobObservation]:
    """Yield the observations that can have brought `told` in `state`."""
    first = told[0]
    if (shared := shared_observed(first, cause, _details(told))) is not None:
        yield shared
        return
    if isinstance(first, events.TrainJobDiscovered | events.TrainJobReceived):
        yield from _manifest(state, told, cause)
    elif isinstance(first, _OTHERS) or find(told, RecoveredFromCluster) is not None:
        yield from _same_manifest(state, told, cause)
    elif isinstance(first, events.TrainJobDeleted):
        yield seen.TrainJobGone(id=cause, at=first.at)
    elif isinstance(first, events.RuntimeObserved):
        yield seen.RuntimeSeen(id=cause, at=first.at, digest=first.digest)
    elif isinstance(first, events.DependentVanished):
        yield seen.DependentGone(
            id=cause, at=first.at, name=first.name, uid=first.uid, kind=first.kind
        )
    elif isinstance(first, events.JobSetObserved):
        yield seen.JobSetSeen(
            id=cause,
            at=first.at,
            name=first.name,
            uid=first.uid,
            owned=True,
            generation=first.generation,
            suspend=first.suspend,
            restarts=first.restarts,
            deleting=first.deleting,
            jobs=first.jobs,
            end=first.end,
            contributed=first.contributed,
            version=first.version,
            instead_of=state.jobset.version if state.jobset is not None else "",
        )
    elif isinstance(first, events.JobSetVanished):
        yield seen.JobSetGone(id=cause, at=first.at, name=first.name, uid=first.uid)
    elif isinstance(first, events.TrainerProgressReported | events.PluginConditionsObserved):
        yield _reported(first, told, cause)


def _reported(
    first: events.TrainerProgressReported | events.PluginConditionsObserved,
    told: Sequence[object],
    cause: ObservationId,
) -> seen.TrainJobObservation:
    """Return a report of Pods or the answer of a plugin.

    Or that the object of such an answer went, of which more may have been told.
    """
    if isinstance(first, events.TrainerProgressReported):
        return seen.ProgressSeen(
            id=cause, at=first.at, progress=first.progress, reports=first.reports
        )
    if not first.gone:
        return seen.PluginConditionsSeen(id=cause, at=first.at, contribution=first.contribution)
    source = first.contribution.source
    if find(told, events.JobSetVanished) is not None:
        return seen.JobSetGone(id=cause, at=first.at, name=source.name, uid=source.uid)
    return seen.DependentGone(
        id=cause,
        at=first.at,
        name=source.name,
        uid=source.uid,
        kind=source.kind,
        built=find(told, events.DependentVanished) is not None,
    )


def _manifest(
    state: TrainJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.TrainJobObservation]:
    discovered = find(told, events.TrainJobDiscovered)
    received = find(told, events.TrainJobReceived)
    adopted = find(told, events.TrainJobAdopted)
    identity = discovered.identity if discovered is not None else state.identity
    if received is None or identity is None:
        return
    yield seen.TrainJobSeen(
        id=cause,
        at=received.at,
        identity=identity,
        generation=received.generation,
        digest=received.digest,
        spec=received.spec,
        policy=received.policy,
        deleting_at=received.deleting_at,
        status=_shown(state, told) if adopted is None else adopted.status,
        document=received.document,
        option_problems=received.option_problems,
        recorded=why_recorded(state.recorded, told),
        written_here=find(told, LedgerBehindFound) is not None,
        survey=survey_of(told),
        recover=asked_for(told),
        builder=_builder(told),
        instead_of=state.manifest.generation if state.manifest is not None else 0,
    )


_OTHERS = (
    ControlReleased,
    ControlTaken,
    LedgerBehindFound,
    RecoveredFromCluster,
    events.OthersTrainStatusObserved,
    events.BuilderChanged,
)
"""What a look at the TrainJob can bring although its manifest is the same."""


def _same_manifest(
    state: TrainJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.TrainJobObservation]:
    known, identity = state.manifest, state.identity
    recovered = find(told, RecoveredFromCluster)
    first = recovered if recovered is not None else told[0]
    if known is None or identity is None or not isinstance(first, _OTHERS):
        return
    yield seen.TrainJobSeen(
        id=cause,
        at=first.at,
        identity=identity,
        generation=known.generation,
        digest=known.digest,
        spec=known.spec,
        policy=known.policy,
        deleting_at=known.deleting_at,
        option_problems=known.option_problems,
        status=_shown(state, told),
        recorded=why_recorded(state.recorded, told),
        written_here=find(told, LedgerBehindFound) is not None,
        survey=survey_of(told),
        recover=asked_for(told),
        builder=_builder(told),
    )


def _builder(told: Sequence[object]) -> str:
    """Return the versions of what builds, as far as they were news."""
    changed = find(told, events.BuilderChanged)
    return changed.builder if changed is not None else ""


def _shown(state: TrainJobState, told: Sequence[object]) -> seen.SeenTrainStatus:
    """Return the status that was seen; of a job that is controlled it decides nothing."""
    if (observed := find(told, events.OthersTrainStatusObserved)) is not None:
        return observed.status
    before = state.recorded.shown if state.recorded is not None else None
    return before if before is not None else seen.SeenTrainStatus()


def _details(told: Sequence[object]) -> Manifest:
    """Return what an act told of building and applying."""
    if (applied := find(told, events.ObjectsApplied)) is not None:
        return write_outcome(
            ApplyOutcome(
                runtime=applied.runtime,
                jobset_uid=applied.jobset_uid,
                jobset_generation=applied.jobset_generation,
                jobset_suspend=applied.jobset_suspend,
                names=applied.names,
                snapshot=applied.snapshot,
            )
        )
    failed = find(told, events.JobsBuildFailed) or find(told, events.JobsCreationFailed)
    if failed is None:
        return {}
    outcome = ApplyOutcome(
        runtime=failed.runtime,
        failed_building=isinstance(failed, events.JobsBuildFailed),
        may_pass=failed.may_pass,
        builder=failed.builder if isinstance(failed, events.JobsBuildFailed) else "",
    )
    return write_outcome(outcome)
