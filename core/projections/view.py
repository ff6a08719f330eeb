"""The view of one job that a writer keeps in memory: its state and projection rows.

Its state, the rows that may still change, and how both go on.

The same fold serves the controller (after every append), `jobledger rebuild` (from the first event
on) and the
simulator, so there is no second way to compute a row.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from jobledger.core.catalogue import JobEvent
from jobledger.core.decider import folded
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow, RowChanges
from jobledger.core.kinds import NOTHING, JobState, evolve
from jobledger.core.projections import decision as decision_rows
from jobledger.core.projections import effect as effect_rows
from jobledger.core.projections.executions import attempt_row, followed_row
from jobledger.core.projections.job import job_row
from jobledger.core.values.ids import DecisionId, EffectId, StreamId


class View(Struct, frozen=True, gc=False):
    """What is held of a stream at a version."""

    version: int = 0
    state: JobState = NOTHING
    job: JobRow | None = None
    attempt: AttemptRow | None = None
    """The row of the current or last attempt."""
    decisions: tuple[DecisionRow, ...] = ()
    """Rows that are pending."""
    effects: tuple[EffectRow, ...] = ()
    """Rows that are requested."""


def advance(
    view: View, events: Iterable[JobEvent], states: Sequence[JobState] | None = None
) -> tuple[View, RowChanges]:
    """Return the view after `events` and the rows that they changed; the job's is always one.

    `states` are those after each event, if they are known already.
    """
    state, attempt, told = view.state, view.attempt, tuple(events)
    if states is None:
        states = folded(state, told, evolve).states
    decisions = {row.decision_id: row for row in view.decisions}
    effects = {row.effect_id: row for row in view.effects}
    changed_attempts: dict[int, AttemptRow] = {}
    changed_decisions: dict[DecisionId, DecisionRow] = {}
    changed_effects: dict[EffectId, EffectRow] = {}
    for event, state in zip(told, states, strict=True):
        assert state.identity is not None, "a stream begins with who the job is"
        stream, before = state.identity.stream_id, attempt
        attempt = attempt_row(before, state, event, stream)
        if attempt is not None and attempt is not before:
            changed_attempts[attempt.number] = attempt
            if (followed := followed_row(before, attempt)) is not None:
                changed_attempts[followed.number] = followed
        if type(event) not in _OF_ROWS:  # to ask for class after class takes longer
            continue
        if (decision := _decision(decisions, event, stream)) is not None:
            changed_decisions[decision.decision_id] = decision
        if (effect := _effect(effects, event, stream)) is not None:
            changed_effects[effect.effect_id] = effect
    version = view.version + len(told)
    job = job_row(state, version=version, instants=[event.at for event in told], before=view.job)
    changes = RowChanges(
        job=job,
        attempts=tuple(changed_attempts.values()),
        decisions=tuple(changed_decisions.values()),
        effects=tuple(changed_effects.values()),
    )
    after = View(version, state, job, attempt, tuple(decisions.values()), tuple(effects.values()))
    return after, changes


def _decision(
    pending: dict[DecisionId, DecisionRow], event: JobEvent, stream: StreamId
) -> DecisionRow | None:
    """Return the row that an event changes, if any; `pending` is brought up to date."""
    if isinstance(event, shared.DecisionScheduled):
        row = pending[event.decision_id] = decision_rows.scheduled(stream, event)
        return row
    if isinstance(event, shared.DecisionFired | shared.DecisionCancelled):
        ended = pending.pop(event.decision_id, None)
        return None if ended is None else decision_rows.resolved(ended, event)
    return None


def _effect(
    requested: dict[EffectId, EffectRow], event: JobEvent, stream: StreamId
) -> EffectRow | None:
    """Return the row that an event changes, if any; `requested` is brought up to date."""
    if isinstance(event, shared.EffectRequested):
        row = requested[event.effect_id] = effect_rows.requested(stream, event)
        return row
    if not isinstance(event, _NEWS_OF_EFFECTS):
        return None
    known = requested.get(event.effect_id)
    if known is None:
        return None
    row = effect_rows.progressed(known, event)
    if isinstance(event, shared.EffectFaltered):
        requested[event.effect_id] = row
    else:
        del requested[event.effect_id]
    return row


_NEWS_OF_EFFECTS = (
    shared.EffectSucceeded,
    shared.EffectFaltered,
    shared.EffectFailed,
    shared.EffectSuperseded,
)

_OF_DECISIONS = (shared.DecisionScheduled, shared.DecisionFired, shared.DecisionCancelled)
_OF_ROWS = frozenset((shared.EffectRequested, *_NEWS_OF_EFFECTS, *_OF_DECISIONS))
