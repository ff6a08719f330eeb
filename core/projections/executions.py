"""The projection row of a job's current attempt, for every kind of job."""

from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.history.told_end import TOLD, told_end
from jobledger.core.jobs.rows import LOST, AttemptRow
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.values.ids import StreamId


def attempt_row(
    row: AttemptRow | None, state: JobState, event: JobEvent, stream: StreamId
) -> AttemptRow | None:
    """Return the row of the current or last attempt after an event; None before the first."""
    if state.attempt is None:
        return None
    log, number = kind_of(state).log, state.attempt.number
    before = log.begun(stream, state) if row is None or row.number != number else row
    after = _ended(before, log.project_attempt(before, event), state)
    # That of some events it is a text (why something went) says nothing of an attempt.
    if after is row or getattr(event, "inferred", False) is not True:
        return after
    return replace(after, inferred=True)


def _ended(before: AttemptRow, after: AttemptRow, state: JobState) -> AttemptRow:
    """Return the row after an event; if that ended the attempt, with when it ended as was told."""
    if before.ended_at is not None or after.ended_at is None or after.outcome not in TOLD:
        return after
    told = kind_of(state).log.end_told(state)
    ended_at = told_end(told, after.running_at or after.started_at, after.ended_at)
    return after if ended_at == after.ended_at else replace(after, ended_at=ended_at)


def followed_row(before: AttemptRow | None, after: AttemptRow) -> AttemptRow | None:
    """Return the row of a lost attempt after another began in its place; None if none did."""
    if before is None or before.number == after.number or before.outcome != LOST:
        return None
    return replace(before, retried=True)
