"""Takes the progress of TrainJobs from their status to the log.

How often that is passed on says `core.trainjob.progress.is_due`; what comes in between is counted,
and the newest of it goes out with the next.
"""

import threading
from dataclasses import dataclass

from jobledger.core.jobs.history.progress import Metric
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.log.storable import storable_text
from jobledger.core.trainjob.observations import ProgressSeen
from jobledger.core.trainjob.progress import METRICS_MAX, TrainerProgress, is_due
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant, parse_rfc3339

TRAINER_STATUS = "trainerStatus"

WORD_CHARACTERS_MAX = 64
"""Longest name and value of a metric that the API server takes."""

_INT32_MAX = 2**31 - 1


def read_progress(manifest: Manifest, redactor: Redactor) -> TrainerProgress | None:
    """Return what the status of a TrainJob says of its progress; None if it says nothing."""
    status = child(manifest, "status")
    shown = child(status, TRAINER_STATUS)
    if not shown:
        return None
    found = items(shown, "metrics")
    return TrainerProgress(
        percentage=_counted(number(shown, "progressPercentage")),
        remaining_seconds=_counted(number(shown, "estimatedRemainingSeconds")),
        metrics=tuple(_metric(one, redactor) for one in found[:METRICS_MAX]),
        metrics_left_out=max(0, len(found) - METRICS_MAX),
        updated_at=parse_rfc3339(text(shown, "lastUpdatedTime")),
    )


def _counted(value: int | None) -> int | None:
    """Return a number that the API server takes; another definition may have let in another."""
    return value if value is not None and 0 <= value <= _INT32_MAX else None


def _metric(one: Json, redactor: Redactor) -> Metric:
    return Metric(
        name=redactor.text(storable_text(text(one, "name")), WORD_CHARACTERS_MAX),
        value=redactor.text(storable_text(text(one, "value")), WORD_CHARACTERS_MAX),
    )


@dataclass(slots=True)
class _Reported:
    """Of one job."""

    newest: TrainerProgress
    version: str
    """resourceVersion that showed it."""
    told: TrainerProgress
    told_at: Instant
    waiting: int = 0
    """How many reports have come since."""


class ProgressReports:
    """What was seen, and what of it was passed on. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[StreamId, _Reported] = {}

    def note(
        self, stream: StreamId, progress: TrainerProgress, version: str, at: Instant
    ) -> ProgressSeen | None:
        """Take note of what a status shows; return what is to be passed on now."""
        with self._lock:
            known = self._jobs.get(stream)
            if known is None:
                self._jobs[stream] = _Reported(progress, version, progress, at)
                return _seen(stream, self._jobs[stream], at, reports=1)
            if known.newest == progress:
                return None
            known.newest, known.version = progress, version
            known.waiting += 1
            return self._passed_on(stream, known, at)

    def due(self, at: Instant) -> list[tuple[StreamId, ProgressSeen]]:
        """Return what has waited long enough."""
        with self._lock:
            waiting = [(stream, known) for stream, known in self._jobs.items() if known.waiting]
            found = [(stream, self._passed_on(stream, known, at)) for stream, known in waiting]
            return [(stream, seen) for stream, seen in found if seen is not None]

    def forget(self, stream: StreamId) -> None:
        """Drop what is known of a job: it is gone, or its next report is to be passed on."""
        with self._lock:
            self._jobs.pop(stream, None)

    def _passed_on(self, stream: StreamId, known: _Reported, at: Instant) -> ProgressSeen | None:
        if not is_due(known.told, known.told_at, known.newest, at):
            return None
        reports = known.waiting
        known.told, known.told_at, known.waiting = known.newest, at, 0
        return _seen(stream, known, at, reports=reports)


def _seen(stream: StreamId, known: _Reported, at: Instant, *, reports: int) -> ProgressSeen:
    return ProgressSeen(
        id=observation_id(stream, "progress", known.version),
        at=at,
        progress=known.newest,
        reports=reports,
    )
