"""Reconstructs the observations of a Job from the events that they led to."""

from collections.abc import Iterator, Sequence

from jobledger.core.batchjob import events
from jobledger.core.batchjob import observations as seen
from jobledger.core.batchjob.state import BatchJobState
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
from jobledger.core.jobs.observations import Survey
from jobledger.core.values.ids import ObservationId

_OF_A_LOOK = (
    ControlReleased,
    ControlTaken,
    LedgerBehindFound,
    RecoveredFromCluster,
    events.OthersBatchStatusObserved,
)
"""What a look at the user's Job can bring although its manifest is the same."""


def candidates(
    state: BatchJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.BatchJobObservation]:
    """Yield the observations that can have brought `told` in `state`."""
    first = told[0]
    if (shared := shared_observed(first, cause)) is not None:
        yield shared
        return
    job = find(told, events.AttemptJobObserved)
    if isinstance(first, events.BatchJobDiscovered | events.BatchJobReceived):
        yield from _manifest(state, told, cause)
    elif job is not None and isinstance(first, events.AttemptJobObserved | LedgerBehindFound):
        yield _of_attempt(state, job, cause)
    elif isinstance(first, _OF_A_LOOK) or find(told, RecoveredFromCluster) is not None:
        yield from _same_manifest(state, told, cause)
    elif isinstance(first, events.BatchJobDeleted):
        yield seen.BatchJobGone(id=cause, at=first.at)
    elif isinstance(first, events.AttemptJobVanished):
        yield seen.AttemptJobGone(id=cause, at=first.at, name=first.name, uid=first.uid)


def _of_attempt(
    state: BatchJobState, job: events.AttemptJobObserved, cause: ObservationId
) -> seen.AttemptJobSeen:
    known = state.attempt.job if state.attempt is not None else None
    return seen.AttemptJobSeen(
        id=cause,
        at=job.at,
        name=job.name,
        uid=job.uid,
        suspend=job.suspend,
        deleting=job.deleting,
        pods=job.pods,
        end=job.end,
        version=job.version,
        instead_of=known.version if known is not None else "",
    )


def _manifest(
    state: BatchJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.BatchJobObservation]:
    discovered = find(told, events.BatchJobDiscovered)
    received = find(told, events.BatchJobReceived)
    identity = discovered.identity if discovered is not None else state.identity
    if received is None or identity is None:
        return
    yield seen.BatchJobSeen(
        id=cause,
        at=received.at,
        identity=identity,
        generation=received.generation,
        digest=received.digest,
        spec=received.spec,
        policy=received.policy,
        deleting_at=received.deleting_at,
        status=_shown(state, told),
        document=received.document,
        option_problems=received.option_problems,
        recorded=why_recorded(state.recorded, told),
        written_here=find(told, LedgerBehindFound) is not None,
        survey=survey_of(told) or _survey_of_the_first_look(told),
        recover=asked_for(told),
        instead_of=state.manifest.generation if state.manifest is not None else 0,
    )


def _survey_of_the_first_look(told: Sequence[object]) -> Survey | None:
    """Return that some Job was there, where that alone shows that the log has lost the job."""
    first_look = find(told, events.BatchJobDiscovered) is not None
    behind = first_look and find(told, LedgerBehindFound) is not None
    is_told_by_status = find(told, events.BatchJobAdopted) is not None
    return Survey(there=("?",)) if behind and not is_told_by_status else None


def _same_manifest(
    state: BatchJobState, told: Sequence[object], cause: ObservationId
) -> Iterator[seen.BatchJobObservation]:
    known, identity = state.manifest, state.identity
    recovered = find(told, RecoveredFromCluster)
    first = recovered if recovered is not None else told[0]
    if known is None or identity is None or not isinstance(first, _OF_A_LOOK):
        return
    yield seen.BatchJobSeen(
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
    )


def _shown(state: BatchJobState, told: Sequence[object]) -> seen.SeenBatchStatus:
    """Return the status that was seen; of a job that is controlled it decides nothing."""
    if (adopted := find(told, events.BatchJobAdopted)) is not None:
        return adopted.status
    if (shown := find(told, events.OthersBatchStatusObserved)) is not None:
        return shown.status
    before = state.recorded.shown if state.recorded is not None else None
    return before if before is not None else seen.NO_STATUS
