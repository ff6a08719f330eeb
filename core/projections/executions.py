"""The projection row of a job's current attempt, for every kind of job."""

from dataclasses import replace
from typing import cast

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.rows import AttemptRow
from jobledger.core.kinds import JobState
from jobledger.core.projections import attempt as of_rayjob
from jobledger.core.projections import trainjob_attempt as of_trainjob
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.ids import StreamId


def attempt_row(
    row: AttemptRow | None, state: JobState, event: JobEvent, stream: StreamId
) -> AttemptRow | None:
    """Return the row of the current or last attempt after an event; None before the first."""
    after = _projected(row, state, event, stream)
    # That of some events it is a text (why something went) says nothing of an attempt.
    if after is None or after is row or getattr(event, "inferred", False) is not True:
        return after
    return replace(after, inferred=True)


def _projected(
    row: AttemptRow | None, state: JobState, event: JobEvent, stream: StreamId
) -> AttemptRow | None:
    if isinstance(state, TrainJobState):
        if state.attempt is None:
            return None
        if row is None or row.number != state.attempt.number:
            row = of_trainjob.begun(stream, state.attempt, state)
        return of_trainjob.project_attempt(row, cast("TrainJobEvent", event))
    if state.attempt is None:
        return None
    if row is None or row.number != state.attempt.number:
        row = of_rayjob.begun(stream, state.attempt)
    return of_rayjob.project_attempt(row, cast("RayJobEvent", event))
