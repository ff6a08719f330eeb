"""The view of one job that a writer keeps in memory: its state and projection rows.

Its state, the rows that may still change, and how both go on.

The same fold serves the controller (after every append), `jobledger rebuild` (from the first event
on) and the simulator, so there is no second way to compute a row.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.decider import folded
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow, RowChanges
from jobledger.core.kinds import NOTHING, JobState, evolve, kind_of
from jobledger.core.values.ids import DecisionId, EffectId, StreamId, shard_of
from jobledger.core.values.instants import Instant


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
        if type(event) not in _OF_ROWS:  # to ask for class after class takes longer
            continue
        if (decision := _decision(decisions, event, stream)) is not None:
            changed_decisions[decision.decision_id] = decision
        if (effect := _effect(effects, event, stream)) is not None:
            changed_effects[effect.effect_id] = effect
    version = view.version + len(told)
    job = _job_row(state, version=version, instants=[event.at for event in told], before=view.job)
    changes = RowChanges(
        job=job,
        attempts=tuple(changed_attempts.values()),
        decisions=tuple(changed_decisions.values()),
        effects=tuple(changed_effects.values()),
    )
    after = View(version, state, job, attempt, tuple(decisions.values()), tuple(effects.values()))
    return after, changes


def _job_row(
    state: JobState, *, version: int, instants: Sequence[Instant], before: JobRow | None
) -> JobRow:
    """Return the row after the event of `version`; `before` is the row before some events.

    `instants` are those at which these events were true.
    """
    identity, attempt, manifest = state.identity, state.attempt, state.manifest
    assert identity is not None, "a stream begins with who the job is"
    kind = kind_of(state)
    platform = kind.log.columns(state)
    return JobRow(
        stream_id=identity.stream_id,
        shard=shard_of(identity.stream_id),
        version=version,
        cluster=identity.cluster,
        kind=kind.name,
        namespace=identity.namespace,
        name=identity.name,
        uid=identity.uid,
        generation=manifest.generation if manifest is not None else 0,
        phase=state.phase.value,
        job_status=platform.job_status,
        reason=state.reason,
        message=state.message,
        attempt=attempt.number if attempt is not None else 0,
        retries=state.retries,
        succeeded=state.succeeded,
        failed=state.failed,
        ray_cluster_name=platform.ray_cluster_name,
        ray_job_id=platform.ray_job_id,
        created_at=identity.created_at,
        first_seen_at=before.first_seen_at if before is not None else instants[0],
        started_at=state.started_at,
        ended_at=state.ended_at,
        deleted_at=state.deleted_at,
        open=kind.is_open(state),
        last_event_at=max([*instants, before.last_event_at] if before is not None else instants),
        recorded=state.recorded is not None,
    )


def _decision(
    pending: dict[DecisionId, DecisionRow], event: JobEvent, stream: StreamId
) -> DecisionRow | None:
    """Return the row that an event changes, if any; `pending` is brought up to date."""
    if isinstance(event, shared.DecisionScheduled):
        row = pending[event.decision_id] = _scheduled(stream, event)
        return row
    if isinstance(event, shared.DecisionFired | shared.DecisionCancelled):
        ended = pending.pop(event.decision_id, None)
        return None if ended is None else _resolved(ended, event)
    return None


def _scheduled(stream: StreamId, event: shared.DecisionScheduled) -> DecisionRow:
    """Return the row of a decision that has just been scheduled."""
    return DecisionRow(
        decision_id=event.decision_id,
        stream_id=stream,
        shard=shard_of(stream),
        attempt=event.attempt,
        kind=event.kind.value,
        state="pending",
        due_at=event.due_at,
        scheduled_at=event.at,
        resolved_at=None,
        cause=event.cause,
        resolution="",
    )


def _resolved(
    row: DecisionRow, event: shared.DecisionFired | shared.DecisionCancelled
) -> DecisionRow:
    """Return the row of a decision that has ended."""
    if isinstance(event, shared.DecisionFired):
        return replace(row, state="fired", resolved_at=event.at, resolution="carried out")
    return replace(row, state="cancelled", resolved_at=event.at, resolution=event.cause)


def _effect(
    requested: dict[EffectId, EffectRow], event: JobEvent, stream: StreamId
) -> EffectRow | None:
    """Return the row that an event changes, if any; `requested` is brought up to date."""
    if isinstance(event, shared.EffectRequested):
        row = requested[event.effect_id] = _requested(stream, event)
        return row
    if not isinstance(event, _NEWS_OF_EFFECTS):
        return None
    known = requested.get(event.effect_id)
    if known is None:
        return None
    row = _progressed(known, event)
    if isinstance(event, shared.EffectFaltered):
        requested[event.effect_id] = row
    else:
        del requested[event.effect_id]
    return row


def _requested(stream: StreamId, event: shared.EffectRequested) -> EffectRow:
    """Return the row of an effect that has just been asked for."""
    return EffectRow(
        effect_id=event.effect_id,
        stream_id=stream,
        shard=shard_of(stream),
        attempt=event.attempt,
        kind=event.kind.value,
        target=f"{event.name} at {event.address}" if event.address else event.name,
        state="requested",
        requested_at=event.at,
        ended_at=None,
        trouble="",
    )


def _progressed(
    row: EffectRow,
    event: shared.EffectSucceeded
    | shared.EffectFaltered
    | shared.EffectFailed
    | shared.EffectSuperseded,
) -> EffectRow:
    """Return the row after news of the effect."""
    if isinstance(event, shared.EffectFaltered):
        return replace(row, trouble=event.trouble)
    if isinstance(event, shared.EffectSucceeded):
        return replace(row, state="succeeded", ended_at=event.at)
    if isinstance(event, shared.EffectFailed):
        return replace(row, state="failed", ended_at=event.at, trouble=event.trouble)
    return replace(row, state="superseded", ended_at=event.at, trouble=event.cause)


_NEWS_OF_EFFECTS = (
    shared.EffectSucceeded,
    shared.EffectFaltered,
    shared.EffectFailed,
    shared.EffectSuperseded,
)

_OF_DECISIONS = (shared.DecisionScheduled, shared.DecisionFired, shared.DecisionCancelled)
_OF_ROWS = frozenset((shared.EffectRequested, *_NEWS_OF_EFFECTS, *_OF_DECISIONS))


def attempt_row(
    row: AttemptRow | None, state: JobState, event: JobEvent, stream: StreamId
) -> AttemptRow | None:
    """Return the row of the current or last attempt after an event; None before the first."""
    if state.attempt is None:
        return None
    log, number = kind_of(state).log, state.attempt.number
    before = log.begun(stream, state) if row is None or row.number != number else row
    after = log.project_attempt(before, event)
    # That of some events it is a text (why something went) says nothing of an attempt.
    if after is row or getattr(event, "inferred", False) is not True:
        return after
    return replace(after, inferred=True)
