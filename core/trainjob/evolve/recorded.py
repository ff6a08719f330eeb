"""Applies events of a TrainJob that another controller drives."""

from msgspec.structs import replace

from jobledger.core.jobs.control.lost_history import why_held
from jobledger.core.jobs.events import ControlReleased, LedgerBehindFound
from jobledger.core.trainjob.conditions import is_true, with_condition
from jobledger.core.trainjob.observations import SeenTrainStatus
from jobledger.core.trainjob.phases import COMPLETE, CREATED, FAILED, SUSPENDED, Phase
from jobledger.core.trainjob.state import Built, TrainJobState, TrainRecorded

_INFERRED = frozenset({COMPLETE, FAILED, SUSPENDED})
"""Conditions that events of their own tell of."""


def control_released(state: TrainJobState, event: ControlReleased) -> TrainJobState:
    """Return the state of a job that is only recorded from now on; what was refused is over."""
    shown = state.recorded.shown if state.recorded is not None else None
    since = state.recorded.since if state.recorded is not None else event.at
    recorded = TrainRecorded(since=since, why=event.why, shown=shown)
    return replace(state, recorded=recorded, refused=(), repeated=())


def ledger_behind_found(state: TrainJobState, event: LedgerBehindFound) -> TrainJobState:
    """Return the state of a job that is held: nothing is done until what is missing is known."""
    held = TrainRecorded(since=event.at, why=why_held(event.signs), behind=True)
    return replace(state, recorded=held, refused=())


def control_taken(state: TrainJobState, _: object) -> TrainJobState:
    """Return the state of a job that is controlled from now on: what is there was not built here.

    So it is built and applied once; what the API server has already stays as it is.
    """
    built, is_created = state.built, is_true(state.conditions, CREATED)
    if built is None and state.created_once:
        built = Built(phase=Phase.CREATED, digest="", runtime="")
    elif built is not None and (built.phase is Phase.CREATED) != is_created:  # it was built since
        phase = Phase.CREATED if is_created else built.phase
        built = Built(phase=phase, digest="", runtime="")
    return replace(state, recorded=None, built=built)


def others_status_observed(state: TrainJobState, status: SeenTrainStatus) -> TrainJobState:
    """Return the state that knows what the other controller has written last.

    Its counts of Jobs count as long as no JobSet tells them: that may be gone.
    """
    if state.recorded is None:
        return state
    conditions = state.conditions
    tells_itself = state.jobset is not None and state.jobset.observed
    jobs = status.jobs if status.jobs and not tells_itself else state.jobs
    for condition in status.conditions:
        if condition.type not in _INFERRED:
            conditions = with_condition(conditions, condition)
    return replace(
        state,
        recorded=replace(state.recorded, shown=status),
        conditions=conditions,
        jobs=jobs,
        shown_jobs=state.shown_jobs or jobs != (),
        created_once=state.created_once or status.jobs != () or is_true(conditions, CREATED),
    )
