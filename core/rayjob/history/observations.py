"""Reconstructs the observations of a RayJob from the events that they led to.

The log keeps what was decided, not the observation itself; but its facts are copies of it. Where
they leave something open that could decide, every possibility is returned.
"""

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
from jobledger.core.rayjob.events import lifecycle as events
from jobledger.core.rayjob.observations import observations as seen
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.ids import ObservationId


def candidates(
    state: RayJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.RayJobObservation]:
    """Yield the observations that can have brought `told` in `state`, the likeliest first."""
    first = told[0]
    if (shared := shared_observed(first, cause)) is not None:
        yield shared
    elif isinstance(first, events.JobDiscovered | events.ManifestReceived):
        yield from _manifest(state, told, cause)
    elif isinstance(first, LedgerBehindFound) and first.kind:
        yield _child_ahead(first, cause)
    elif isinstance(first, _OTHERS) or find(told, RecoveredFromCluster) is not None:
        yield from _same_manifest(state, told, cause)
    elif isinstance(first, events.JobDeleted):
        yield seen.ManifestGone(id=cause, at=first.at)
    elif isinstance(first, events.StatusCheckRecovered | events.EntrypointObserved):
        yield from _answers(state, told, cause)
    elif isinstance(first, events.EntrypointMissed):
        yield seen.PollNotFound(id=cause, at=first.at, job_id=first.job_id)
    elif isinstance(first, events.StatusCheckFailed):
        yield seen.PollUnanswered(id=cause, at=first.at, job_id=first.job_id, trouble=first.trouble)
    elif isinstance(first, events.PartVanished):
        yield seen.PartGone(id=cause, at=first.at, kind=first.kind, name=first.name)
    else:
        yield from _children(state, told, cause)


def _manifest(
    state: RayJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.RayJobObservation]:
    discovered = find(told, events.JobDiscovered)
    received = find(told, events.ManifestReceived)
    adopted = find(told, events.JobAdopted)
    identity = discovered.identity if discovered is not None else state.identity
    if received is None or identity is None:
        return
    yield seen.ManifestSeen(
        id=cause,
        at=received.at,
        identity=identity,
        generation=received.generation,
        digest=received.digest,
        spec=received.spec,
        problem=received.problem,
        policy=received.policy,
        finalizer=received.finalizer,
        deleting_at=received.deleting_at,
        status=_shown(state, told) if adopted is None else adopted.status,
        document=received.document,
        options=received.options,
        option_problems=received.option_problems,
        recorded=why_recorded(state.recorded, told),
        written_here=find(told, LedgerBehindFound) is not None,
        observed_generation=_generation_shown(told),
        survey=survey_of(told),
        recover=asked_for(told),
        instead_of=state.manifest.generation if state.manifest is not None else 0,
    )


_OTHERS = (
    ControlReleased,
    ControlTaken,
    LedgerBehindFound,
    RecoveredFromCluster,
    events.OthersStatusObserved,
)
"""What a look at the RayJob can bring although its manifest is the same."""


def _same_manifest(
    state: RayJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.RayJobObservation]:
    known, identity = state.manifest, state.identity
    recovered = find(told, RecoveredFromCluster)
    first = recovered if recovered is not None else told[0]
    if known is None or identity is None or not isinstance(first, _OTHERS):
        return
    yield seen.ManifestSeen(
        id=cause,
        at=first.at,
        identity=identity,
        generation=known.generation,
        digest=known.digest,
        spec=known.spec,
        problem=known.problem,
        policy=known.policy,
        finalizer=known.finalizer,
        deleting_at=known.deleting_at,
        status=_shown(state, told),
        options=known.options,
        option_problems=known.option_problems,
        recorded=why_recorded(state.recorded, told),
        written_here=find(told, LedgerBehindFound) is not None,
        observed_generation=_generation_shown(told),
        survey=survey_of(told),
        recover=asked_for(told),
    )


def _shown(state: RayJobState, told: Sequence[object]) -> seen.SeenStatus:
    """Return the status that was seen; of a job that is controlled it decides nothing."""
    if (observed := find(told, events.OthersStatusObserved)) is not None:
        return observed.status
    before = state.recorded.shown if state.recorded is not None else None
    return before if before is not None else seen.SeenStatus(phase="")


def _generation_shown(told: Sequence[object]) -> int:
    behind = find(told, LedgerBehindFound)
    return behind.observed_generation if behind is not None else 0


def _answers(
    state: RayJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.RayJobObservation]:
    """Yield what the head can have answered; that it answers again may be all that was news."""
    recovered = find(told, events.StatusCheckRecovered)
    answered = find(told, events.EntrypointObserved)
    if answered is not None:
        yield seen.PollAnswered(
            id=cause,
            at=answered.at,
            job_id=answered.job_id,
            status=answered.status,
            message=answered.message,
            started_at=answered.started_at,
            ended_at=answered.ended_at,
            error_type=answered.error_type,
            exit_code=answered.exit_code,
        )
        return
    if recovered is None:
        return
    known = state.entrypoint
    yield seen.PollAnswered(
        id=cause,
        at=recovered.at,
        job_id=recovered.job_id,
        status=known.status,
        message=known.message,
        started_at=known.started_at,
        ended_at=known.ended_at,
        error_type=known.error_type,
        exit_code=known.exit_code,
    )
    yield seen.PollNotFound(id=cause, at=recovered.at, job_id=recovered.job_id)


def _child_ahead(
    first: LedgerBehindFound, cause: ObservationId
) -> seen.ClusterSeen | seen.SubmitterSeen:
    """Return the look at an object that was made for an attempt which the log does not know."""
    if first.kind == "RayCluster":
        return seen.ClusterSeen(
            id=cause,
            at=first.at,
            name=first.name,
            uid=first.uid,
            owned=True,
            state="",
            address="",
            deleting=False,
        )
    return seen.SubmitterSeen(
        id=cause,
        at=first.at,
        name=first.name,
        uid=first.uid,
        owned=True,
        finished="",
        finished_at=None,
        reason="",
        message="",
        deleting=False,
        attempt=first.attempt,
        job_id="",
    )


def _children(
    state: RayJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.RayJobObservation]:
    first = told[0]
    if isinstance(first, events.ClusterObserved):
        yield seen.ClusterSeen(
            id=cause,
            at=first.at,
            name=first.name,
            uid=first.uid,
            owned=True,
            state=first.state,
            address=first.address,
            deleting=first.deleting,
            status=first.status,
        )
    elif isinstance(first, events.OrphanClusterFound):
        yield seen.ClusterSeen(
            id=cause,
            at=first.at,
            name=first.name,
            uid=first.uid,
            owned=True,
            state="",
            address="",
            deleting=False,
        )
    elif isinstance(first, events.ClusterVanished | events.OrphanClusterVanished):
        yield seen.ClusterGone(id=cause, at=first.at, name=first.name, uid=first.uid)
    elif isinstance(first, events.SubmitterObserved | events.SubmitterFinished):
        yield _submitter(state, told, first, cause)
    elif isinstance(first, events.SubmitterVanished):
        yield seen.SubmitterGone(id=cause, at=first.at, name=first.name, uid=first.uid)
    elif isinstance(first, events.HeadPodObserved | events.SidecarFinished):
        yield _head(state, told, first, cause)
    elif isinstance(first, events.HeadPodVanished):
        if (fresh := find(told, events.HeadPodObserved)) is not None:
            yield _head(state, told, fresh, cause)
        else:
            yield seen.HeadPodGone(id=cause, at=first.at, name=first.name, uid=first.uid)
    elif isinstance(first, events.PodsObserved):
        yield seen.PodsSeen(
            id=cause,
            at=first.at,
            attempt=first.attempt,
            purpose=first.purpose,
            total=first.total,
            pods=first.pods,
            trouble=first.trouble,
        )


def _submitter(
    state: RayJobState,
    told: Sequence[object],
    first: events.SubmitterObserved | events.SubmitterFinished,
    cause: ObservationId,
) -> seen.SubmitterSeen:
    ended = find(told, events.SubmitterFinished)
    there = find(told, events.SubmitterObserved)
    known = state.submitter is not None and state.submitter.deleting
    return seen.SubmitterSeen(
        id=cause,
        at=first.at,
        name=first.name,
        uid=first.uid,
        owned=True,
        finished=ended.outcome if ended is not None else "",
        finished_at=ended.finished_at if ended is not None else None,
        reason=ended.reason if ended is not None else "",
        message=ended.message if ended is not None else "",
        deleting=there.deleting if there is not None else known,
    )


def _head(
    state: RayJobState,
    told: Sequence[object],
    first: events.HeadPodObserved | events.SidecarFinished,
    cause: ObservationId,
) -> seen.HeadPodSeen:
    ended, look = find(told, events.SidecarFinished), find(told, events.HeadPodObserved)
    over = any(isinstance(e, events.HeadPodVanished) and e.uid == first.uid for e in told)
    attempt, cluster = state.attempt, state.cluster
    return seen.HeadPodSeen(
        id=cause,
        at=first.at,
        cluster=attempt.cluster_name if attempt is not None else "",
        cluster_uid=cluster.uid if cluster is not None else "",
        name=first.name,
        uid=first.uid,
        deleting=False,
        finished=ended.outcome if ended is not None else "",
        finished_at=ended.finished_at if ended is not None else None,
        message=ended.message if ended is not None else "",
        taken=look.taken if look is not None else "",
        over=over,
        restarts=look.restarts if look is not None else 0,
        ended=look.ended if look is not None else "",
        keeps_jobs=look.keeps_jobs if look is not None else False,
    )
