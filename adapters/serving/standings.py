"""How far jobs say that they are, asked of the ledger."""

from collections.abc import Mapping, Sequence

from jobledger.core.catalogue import read_event
from jobledger.core.jobs.history.progress import ShownProgress
from jobledger.core.jobs.rows import JobRow
from jobledger.core.kinds import KINDS
from jobledger.core.ports.history import History
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


def standings(
    history: History, rows: Sequence[JobRow], now: Instant
) -> Mapping[StreamId, ShownProgress]:
    """Return how far those of jobs are that have ever reported it."""
    found = {}
    for kind in KINDS.values():
        reports = kind.log.progress
        jobs = {row.stream_id: row for row in rows if row.kind == kind.name}
        if reports is None or not jobs:
            continue
        for stream, stored in history.last_events(list(jobs), reports.event_type).items():
            found[stream] = reports.standing(jobs[stream], read_event(stored.record), now)
    return found
