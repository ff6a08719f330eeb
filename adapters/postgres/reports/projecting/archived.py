"""Facts of archived jobs: they stay when the events leave, and are made anew from the files."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.statements import one_value
from jobledger.adapters.postgres.reports.projecting.projector import folded_from
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.projections.reporting.fold import Folded, Rows, Rules, rows_of
from jobledger.core.values.ids import StreamId

ArchivedJobs: TypeAlias = Iterable[Sequence[StoredEvent]]
"""The events of each archived job, as its file has them."""

_LACKING = text(
    "SELECT count(DISTINCT a.stream_id) FROM archived_stream a WHERE"
    " NOT EXISTS (SELECT FROM stream s WHERE s.stream_id = a.stream_id)"
    " AND NOT EXISTS (SELECT FROM report_job j WHERE j.stream_id = a.stream_id)"
)


def jobs_without_facts(engine: Engine) -> int:
    """Return how many jobs have left the log and are in no report."""
    return int(one_value(engine, _LACKING))


def archived_rows(
    jobs: ArchivedJobs, in_the_log: Collection[StreamId], rules: Rules
) -> Iterator[Rows]:
    """Yield the facts of archived jobs, but of those that the log still has."""
    for events in jobs:
        if events[0].record.stream_id in in_the_log:
            continue
        folded = folded_from(Folded(), events, rules)
        if folded is not None:
            yield rows_of(folded)
