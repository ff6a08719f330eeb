"""Events that follow from an observation of the TrainJob, its runtime, JobSet or other objects."""

from jobledger.core.jobs.control.control_change import ControlRules, control_of
from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.control.lost_history import unknown_job
from jobledger.core.jobs.control.went_back import is_late_news, is_old_look, is_older_version
from jobledger.core.jobs.events import ControlReleased
from jobledger.core.jobs.manifest.news import manifest_changes
from jobledger.core.jobs.outcomes import rejected
from jobledger.core.jobs.pending.effects import EffectKind, is_under_way
from jobledger.core.trainjob.conditions import merged
from jobledger.core.trainjob.decide.on_contributions import on_source_gone
from jobledger.core.trainjob.decide.on_lost_history import is_unknown_but_ours, signs
from jobledger.core.trainjob.events import (
    BuilderChanged,
    DependentVanished,
    JobSetObserved,
    JobSetVanished,
    OthersTrainStatusObserved,
    RuntimeObserved,
    RuntimePatchesWithheld,
    TrainerProgressReported,
    TrainJobAdopted,
    TrainJobDeleted,
    TrainJobDeletionStarted,
    TrainJobDiscovered,
    TrainJobEvent,
    TrainJobReceived,
)
from jobledger.core.trainjob.observations import (
    DependentGone,
    JobSetGone,
    JobSetSeen,
    ProgressSeen,
    RuntimeSeen,
    SeenTrainStatus,
    TrainJobGone,
    TrainJobSeen,
)
from jobledger.core.trainjob.state import (
    KnownJobSet,
    KnownTrainJob,
    TrainJobState,
    is_applying,
    is_broken_snapshot,
    is_built_by_another,
    is_final,
    known_trainjob,
)

News = tuple[TrainJobEvent, ...]


def _shows_own(state: TrainJobState, seen: TrainJobSeen) -> bool:
    own, shown = (
        {(item.type, item.is_true, item.reason) for item in conditions}
        for conditions in (state.conditions, seen.status.conditions)
    )
    return own == shown


_TRAINJOB_CONTROL: ControlRules[TrainJobState, TrainJobSeen, OthersTrainStatusObserved] = (
    ControlRules(
        no_status=SeenTrainStatus(),
        shown=lambda seen: OthersTrainStatusObserved(at=seen.at, status=seen.status),
        signs=signs,
        is_final=is_final,
        shows_own=_shows_own,
    )
)


def on_trainjob_seen(state: TrainJobState, seen: TrainJobSeen) -> News:
    """Return what is new about the object; an old look at it is no news."""
    known = state.manifest
    if state.deleted_at is not None:
        return ()
    if known is None:
        is_told = (seen.spec.is_ours or seen.recorded) and not seen.in_between
        return _first_sight(seen) if is_told else ()
    if is_old_look(seen, known):
        return ()
    again: News = ()
    if is_built_by_another(state, seen.builder) and seen.spec.runtime.is_supported:
        again = (BuilderChanged(at=seen.at, builder=seen.builder),)
    withheld = _withheld(state, seen, known)
    return *_changes(seen, known), *withheld, *again, *control_of(_TRAINJOB_CONTROL, state, seen)


def _withheld(state: TrainJobState, seen: TrainJobSeen, known: KnownTrainJob) -> News:
    """Return that runtimePatches were changed while the job runs, which upstream's webhook refuses.

    Source: Trainer v2.3, jobset.go, checkRuntimePatchesImmutability.
    """
    runs = state.jobset is not None and not (is_dormant(state) or is_final(state))
    same = known.digest == seen.digest or known.spec.patches == seen.spec.patches
    if not runs or same or known.spec.suspend or seen.spec.suspend:
        return ()
    return (RuntimePatchesWithheld(at=seen.at, generation=seen.generation, digest=seen.digest),)


def _changes(seen: TrainJobSeen, known: KnownTrainJob) -> News:
    if known_trainjob(seen) == known:
        return ()
    received = _received(seen, with_document=seen.digest != known.digest)
    return manifest_changes(seen, known, received, TrainJobDeletionStarted)


def _first_sight(seen: TrainJobSeen) -> News:
    news: list[TrainJobEvent] = [
        TrainJobDiscovered(at=seen.at, identity=seen.identity),
        _received(seen, with_document=True),
        *rejected(seen.at, seen.option_problems),
    ]
    if seen.recorded:
        news.append(ControlReleased(at=seen.at, why=seen.recorded))
    if is_unknown_but_ours(seen):
        shown = OthersTrainStatusObserved(at=seen.at, status=seen.status)
        news += [unknown_job(seen), shown]
    elif seen.status.conditions or seen.status.jobs:
        news.append(TrainJobAdopted(at=seen.at, status=seen.status))
    if seen.deleting_at is not None:
        news.append(TrainJobDeletionStarted(at=seen.deleting_at))
    return tuple(news)


def _received(seen: TrainJobSeen, *, with_document: bool) -> TrainJobReceived:
    return TrainJobReceived(
        at=seen.at,
        generation=seen.generation,
        digest=seen.digest,
        spec=seen.spec,
        policy=seen.policy,
        deleting_at=seen.deleting_at,
        document=seen.document if with_document else {},
        option_problems=seen.option_problems,
    )


def on_trainjob_gone(state: TrainJobState, gone: TrainJobGone) -> News:
    """Return the end of the job's stream."""
    if state.manifest is None or state.deleted_at is not None:
        return ()
    return (TrainJobDeleted(at=gone.at),)


def on_runtime_seen(state: TrainJobState, seen: RuntimeSeen) -> News:
    """Return a change of the runtime; once everything was created only the snapshot counts."""
    if is_dormant(state) or is_final(state) or state.created_once:
        return ()
    if (state.runtime or "") == seen.digest:
        return ()
    return (RuntimeObserved(at=seen.at, digest=seen.digest),)


def on_dependent_gone(state: TrainJobState, gone: DependentGone) -> News:
    """Return that an object which belongs to an unfinished job is gone."""
    if is_applying(state):
        told = state.rebuild_again
    else:
        told = state.rebuild and not is_broken_snapshot(state, gone.kind, gone.name)
    if is_dormant(state) or is_final(state) or gone.uid in state.gone:
        return ()
    without = on_source_gone(state, gone.uid, gone.at)
    if told or not gone.built:
        return without
    vanished = DependentVanished(at=gone.at, name=gone.name, uid=gone.uid, kind=gone.kind)
    return *without, vanished


def on_jobset_seen(state: TrainJobState, seen: JobSetSeen) -> News:
    """Return what is new about the JobSet; an older generation than was applied is no news."""
    identity, known = state.identity, state.jobset
    if is_dormant(state) or identity is None:
        return ()
    if is_late_news(seen.uid, state.gone, seen.instead_of):
        return ()
    if not seen.owned or seen.name != identity.name:
        return ()
    if known is not None and known.uid == seen.uid and _is_older(seen, known):
        return ()
    observed = JobSetObserved(
        at=seen.at,
        name=seen.name,
        uid=seen.uid,
        generation=seen.generation,
        suspend=seen.suspend,
        restarts=seen.restarts,
        deleting=seen.deleting,
        jobs=seen.jobs,
        end=seen.end,
        contributed=seen.contributed,
        version=seen.version,
    )
    return () if _is_known(state, seen) else (observed,)


def _is_older(seen: JobSetSeen, known: KnownJobSet) -> bool:
    """Return whether a look is older than what is known, as of a watch that lags behind another's.

    One that was asked for after that version was written down is none: etcd went back.
    """
    if seen.instead_of and seen.instead_of == known.version:
        return False
    return seen.generation < known.generation or is_older_version(seen.version, known.version)


def _is_known(state: TrainJobState, seen: JobSetSeen) -> bool:
    known = state.jobset
    if known is None or known.uid != seen.uid or state.jobs != seen.jobs:
        return False
    propagates = state.manifest is not None and state.manifest.policy.propagates
    if propagates and merged(state.conditions, seen.contributed) != state.conditions:
        return False
    return (known.generation, known.suspend, known.restarts, known.deleting, known.end) == (
        seen.generation,
        seen.suspend,
        seen.restarts,
        seen.deleting,
        seen.end,
    )


def on_jobset_gone(state: TrainJobState, gone: JobSetGone) -> News:
    """Return that the JobSet is gone."""
    known = state.jobset
    if is_dormant(state) or known is None or gone.uid in state.gone or known.uid != gone.uid:
        return ()
    deletion = EffectKind.DELETE_JOBSET
    asked = known.delete_asked or is_under_way(state.effects, deletion, gone.name)
    goes_with_it = is_leaving(state) and not asked
    vanished = JobSetVanished(
        at=gone.at,
        name=gone.name,
        uid=gone.uid,
        asked=asked or goes_with_it,
        inferred="the TrainJob is being deleted" if goes_with_it else "",
    )
    return *on_source_gone(state, gone.uid, gone.at), vanished


def on_progress_seen(state: TrainJobState, seen: ProgressSeen) -> News:
    """Return what the job's Pods have reported, unless it is known."""
    if state.manifest is None or state.deleted_at is not None or state.progress == seen.progress:
        return ()
    attempt = state.attempt.number if state.attempt is not None else 0
    reported = TrainerProgressReported(
        at=seen.at, progress=seen.progress, attempt=attempt, reports=seen.reports
    )
    return (reported,)
