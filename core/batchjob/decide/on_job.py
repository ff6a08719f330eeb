"""Events that follow from an observation of the user's Job."""

from jobledger.core.batchjob.decide.on_lost_history import signs
from jobledger.core.batchjob.events import (
    BatchJobAdopted,
    BatchJobDeleted,
    BatchJobDeletionStarted,
    BatchJobDiscovered,
    BatchJobEvent,
    BatchJobReceived,
    OthersBatchStatusObserved,
)
from jobledger.core.batchjob.observations import NO_STATUS, BatchJobGone, BatchJobSeen
from jobledger.core.batchjob.state import BatchJobState, KnownBatchJob, is_final, known_job
from jobledger.core.jobs.control.control_change import ControlRules, control_of
from jobledger.core.jobs.control.lost_history import unknown_job
from jobledger.core.jobs.control.went_back import is_old_look
from jobledger.core.jobs.events import ControlReleased
from jobledger.core.jobs.manifest.news import manifest_changes
from jobledger.core.jobs.outcomes import rejected

News = tuple[BatchJobEvent, ...]


def on_job_seen(state: BatchJobState, seen: BatchJobSeen) -> News:
    """Return what is new about the object; an old look at it is no news.

    A Job that is not given to this controller is not written down.
    """
    known = state.manifest
    if state.deleted_at is not None:
        return ()
    if known is None:
        return _first_sight(seen) if seen.spec.is_ours and not seen.in_between else ()
    if is_old_look(seen, known):
        return ()
    return *_changes(seen, known), *control_of(_CONTROL, state, seen)


def _changes(seen: BatchJobSeen, known: KnownBatchJob) -> News:
    if known_job(seen) == known:
        return ()
    received = _received(seen, with_document=seen.digest != known.digest)
    return manifest_changes(seen, known, received, BatchJobDeletionStarted)


def _first_sight(seen: BatchJobSeen) -> News:
    """Return all that the first look tells.

    Nobody but this controller drives such a Job: where the status tells of a life, or Jobs of
    attempts are there, the log has lost them.
    """
    news: list[BatchJobEvent] = [
        BatchJobDiscovered(at=seen.at, identity=seen.identity),
        _received(seen, with_document=True),
        *rejected(seen.at, seen.option_problems),
    ]
    has_lived = seen.status != NO_STATUS or (seen.survey is not None and seen.survey.there != ())
    if seen.recorded:
        news.append(ControlReleased(at=seen.at, why=seen.recorded))
    elif has_lived:
        news.append(unknown_job(seen))
    if seen.status != NO_STATUS:
        news.append(BatchJobAdopted(at=seen.at, status=seen.status))
    if seen.deleting_at is not None:
        news.append(BatchJobDeletionStarted(at=seen.deleting_at))
    return tuple(news)


def _received(seen: BatchJobSeen, *, with_document: bool) -> BatchJobReceived:
    return BatchJobReceived(
        at=seen.at,
        generation=seen.generation,
        digest=seen.digest,
        spec=seen.spec,
        policy=seen.policy,
        deleting_at=seen.deleting_at,
        document=seen.document if with_document else {},
        option_problems=seen.option_problems,
    )


def on_job_gone(state: BatchJobState, gone: BatchJobGone) -> News:
    """Return the end of the job's stream."""
    if state.manifest is None or state.deleted_at is not None:
        return ()
    return (BatchJobDeleted(at=gone.at),)


def _shows_own(state: BatchJobState, seen: BatchJobSeen) -> bool:
    return not any(True for _ in signs(state, seen))


_CONTROL: ControlRules[BatchJobState, BatchJobSeen, OthersBatchStatusObserved] = ControlRules(
    no_status=NO_STATUS,
    shown=lambda seen: OthersBatchStatusObserved(at=seen.at, status=seen.status),
    signs=signs,
    is_final=is_final,
    shows_own=_shows_own,
)
