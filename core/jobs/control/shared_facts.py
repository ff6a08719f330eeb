"""Facts of observations that are judged alike for every kind of job, whoever controls the job."""

from typing import TypeAlias, assert_never

from jobledger.core.jobs.control.lost_history import set_back
from jobledger.core.jobs.events import (
    EvidenceCaptured,
    LedgerBehindFound,
    ObservationGapFound,
    ObservationsConfirmed,
    StatusPublished,
    StatusWriteFailed,
)
from jobledger.core.jobs.evolve.shared_state import SharedState
from jobledger.core.jobs.observations import (
    EvidenceSeen,
    LedgerSetBack,
    NothingNew,
    SharedFact,
    StatusNotWritten,
    StatusWritten,
    WatchInterrupted,
    evidence_of,
)
from jobledger.core.jobs.outcomes import confirmation_of, gap_of, publication_of

SharedNews: TypeAlias = tuple[
    EvidenceCaptured
    | LedgerBehindFound
    | ObservationGapFound
    | ObservationsConfirmed
    | StatusPublished
    | StatusWriteFailed,
    ...,
]


def shared_facts(state: SharedState, seen: SharedFact, *, is_final: bool) -> SharedNews:
    """Return what an observation tells that was not known of a job; `is_final`: it has ended.

    A gap counts for a job to which something could have happened in it. That the ledger was set
    back means nothing to a job that is only recorded.
    """
    match seen:
        case EvidenceSeen():
            attempt = state.attempt.number if state.attempt is not None else None
            return evidence_of(seen, state.captured, attempt)
        case LedgerSetBack():
            is_ours = state.identity is not None and state.recorded is None
            return set_back(seen) if is_ours else ()
        case WatchInterrupted():
            may_matter = state.manifest is not None and state.deleted_at is None and not is_final
            return gap_of(seen, state.gap_until) if may_matter else ()
        case StatusWritten():
            known = state.manifest is not None
            return publication_of(seen, state.published) if known else ()
        case StatusNotWritten():
            is_ours = state.manifest is not None and state.recorded is None
            told = StatusWriteFailed(at=seen.at, since=seen.since, trouble=seen.trouble)
            return (told,) if is_ours and state.unwritten_since is None else ()
        case NothingNew():
            known = state.manifest is not None
            return confirmation_of(seen, state.confirmed_at) if known else ()
        case _:
            assert_never(seen)
