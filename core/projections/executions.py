"""The projection row of a job's current attempt, for every kind of job."""

from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.rows import AttemptRow
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.values.ids import StreamId


def attempt_row(
    row: AttemptRow | None, state: JobState, event: JobEvent, stream: StreamId
) -> AttemptRow | None:
    """Return the row of the current or last attempt after an event; None before the first."""
    after = kind_of(state).log.attempt_row(row, state, event, stream)
    # That of some events it is a text (why something went) says nothing of an attempt.
    if after is None or after is row or getattr(event, "inferred", False) is not True:
        return after
    return replace(after, inferred=True)
