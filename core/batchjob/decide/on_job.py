"""Events that follow from an observation of the user's Job."""

from jobledger.core.batchjob.decide.on_lost_history import behind_by_status, is_ahead
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
from jobledger.core.batchjob.state import BatchJobState, KnownBatchJob
from jobledger.core.jobs.control.control_change import control_and_status, control_change, held
from jobledger.core.jobs.control.lost_history import UNKNOWN_JOB
from jobledger.core.jobs.control.went_back import is_old_look
from jobledger.core.jobs.events import ControlReleased, LedgerBehindFound
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
    return *_changes(seen, known), *_control(state, seen)


def _changes(seen: BatchJobSeen, known: KnownBatchJob) -> News:
    now = KnownBatchJob(
        generation=seen.generation,
        digest=seen.digest,
        spec=seen.spec,
        policy=seen.policy,
        deleting_at=seen.deleting_at,
        option_problems=seen.option_problems,
    )
    if now == known:
        return ()
    received = _received(seen, with_document=seen.digest != known.digest)
    left_out = rejected(seen.at, seen.option_problems, known.option_problems)
    if seen.deleting_at is not None and known.deleting_at is None:
        return received, *left_out, BatchJobDeletionStarted(at=seen.deleting_at)
    return received, *left_out


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
        news.append(LedgerBehindFound(at=seen.at, signs=(UNKNOWN_JOB,)))
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


def _control(state: BatchJobState, seen: BatchJobSeen) -> News:
    """Return who decides about the job from now on, and what its status shows; if that is news."""
    recorded = state.recorded
    shown = OthersBatchStatusObserved(at=seen.at, status=seen.status)
    before = recorded.shown if recorded is not None else None
    is_news = seen.status not in (before, NO_STATUS)
    ahead = is_ahead(state, seen)
    if recorded is not None and recorded.behind:
        return held(shown, seen.recorded, is_news=is_news, is_old=not ahead)
    if behind := behind_by_status(state, seen):
        return *behind, shown
    if recorded is None and (not seen.recorded or (seen.in_between and not ahead)):
        return ()
    since, why = (recorded.since, recorded.why) if recorded is not None else (None, "")
    changed = control_change(since, why, seen.recorded, seen.at)
    return control_and_status(changed, shown, seen.recorded, is_news=is_news)


def on_job_gone(state: BatchJobState, gone: BatchJobGone) -> News:
    """Return the end of the job's stream."""
    if state.manifest is None or state.deleted_at is not None:
        return ()
    return (BatchJobDeleted(at=gone.at),)
