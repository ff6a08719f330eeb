"""What observations of a Job mean before anything is decided on them."""

from jobledger.core.batchjob.observations import (
    NO_STATUS,
    AttemptJobGone,
    AttemptJobSeen,
    BatchJobGone,
    BatchJobObservation,
    BatchJobSeen,
)
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.jobs.control.observation_rules import ObservationRules


def _subject(seen: BatchJobObservation) -> tuple[object, ...] | None:
    if isinstance(seen, BatchJobSeen):
        return type(seen), seen.recorded, seen.in_between
    return (type(seen), seen.uid) if isinstance(seen, AttemptJobSeen) else None


def _marks(seen: BatchJobObservation) -> frozenset[str]:
    if isinstance(seen, AttemptJobSeen | AttemptJobGone):
        return frozenset({seen.uid, seen.name})
    return frozenset()


def _known_marks(state: BatchJobState) -> frozenset[str]:
    attempt, unknown = state.attempt, state.unknown_job
    marks = {late.uid for late in state.late_jobs}  # the next attempt waits until they are gone
    if attempt is not None:
        marks |= {attempt.job_name, attempt.job.uid if attempt.job is not None else ""}
    if unknown is not None:
        marks.add(unknown.job.uid)
    return frozenset(marks) - {""}


def _reopens(seen: BatchJobObservation, _kept: str) -> bool:
    if isinstance(seen, AttemptJobSeen):  # after the end none should be at work
        return seen.end is None and not seen.deleting
    return isinstance(seen, BatchJobGone)


def _shows_end(seen: BatchJobObservation) -> bool:
    return isinstance(seen, BatchJobSeen) and seen.status.end is not None


def _may_be_old(seen: BatchJobObservation) -> bool:
    if not isinstance(seen, BatchJobSeen) or seen.recorded or not seen.spec.is_ours:
        return False
    return seen.written_here or seen.status == NO_STATUS


BATCHJOB_OBSERVING: ObservationRules[BatchJobState, BatchJobObservation] = ObservationRules(
    marks=_marks,
    known_marks=_known_marks,
    subject=_subject,
    reopens=_reopens,
    shows_end=_shows_end,
    turning_points=(AttemptJobSeen, BatchJobGone),
    may_be_old=_may_be_old,
)
