"""In-memory queries: the port `core.ports.history`."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from jobledger.core.catalogue import FATES_OF_A_CLUSTER, KEPT
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.story.explain import causes
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow
from jobledger.core.kinds import ROLES
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.history import FinishedJob, JobFilter
from jobledger.core.values.documents import child
from jobledger.core.values.ids import StreamId, first_stream_at
from tests.support.memory.event_store import MemoryEventStore


class MemoryHistory:
    """The inline projections of a log in memory."""

    def __init__(self, store: MemoryEventStore) -> None:
        self._store = store

    def jobs(self, wanted: JobFilter, limit: int) -> Sequence[JobRow]:
        """See `core.ports.history.History.jobs`."""
        with self._store.lock:
            rows = [row for row in self._store.rows.jobs.values() if _matches(row, wanted)]
            if wanted.cause:
                rows = [row for row in rows if self._failed_of(row, wanted.cause)]
            if wanted.label:
                rows = [row for row in rows if self._is_labelled(row, wanted.label)]
            if wanted.kept_only:
                rows = [row for row in rows if self._keeps_its_cluster(row)]
        return sorted(rows, key=lambda row: row.stream_id, reverse=True)[:limit]

    def counts(self, wanted: JobFilter) -> Mapping[str, int]:
        """See `core.ports.history.History.counts`."""
        return Counter(row.phase for row in self.jobs(wanted, 10**9))

    def _failed_of(self, row: JobRow, cause: str) -> bool:
        return cause in causes(self._dossier(row)).values()

    def _dossier(self, row: JobRow) -> Dossier:
        events = tuple(self._store.read_stream(row.stream_id))
        return Dossier(events=events, evidence=reader_of({}), origin="memory")

    def _is_labelled(self, row: JobRow, label: str) -> bool:
        """Return whether the manifest that came last has a label."""
        name, _, value = label.partition("=")
        came = [
            event.document
            for event in (one.event for one in self._dossier(row).read())
            if isinstance(event, ROLES.manifest_received) and event.document
        ]
        return bool(came) and child(came[-1], "labels").get(name) == value

    def _keeps_its_cluster(self, row: JobRow) -> bool:
        told = [
            item.record.type
            for item in self._store.read_stream(row.stream_id)
            if item.record.type in FATES_OF_A_CLUSTER
        ]
        ended = row.phase in ("Complete", "Failed") and row.deleted_at is None
        return ended and told[-1:] == [KEPT]

    def streams(self) -> Sequence[StreamId]:
        """See `core.ports.history.History.streams`."""
        with self._store.lock:
            return sorted({item.record.stream_id for item in self._store.read_after(0, 10**9)})

    def finished(self, shards: Collection[int]) -> Sequence[FinishedJob]:
        """See `core.ports.history.History.finished`."""
        with self._store.lock:
            rows = list(self._store.rows.jobs.values())
        return [
            FinishedJob(
                stream_id=row.stream_id,
                generation=row.generation,
                recorded=row.recorded,
                version=row.version,
            )
            for row in rows
            if not row.open and row.deleted_at is None and row.shard in shards
        ]

    def open_streams(self, shards: Collection[int]) -> Sequence[StreamId]:
        """See `core.ports.history.History.open_streams`."""
        with self._store.lock:
            rows = list(self._store.rows.jobs.values())
        return sorted(row.stream_id for row in rows if row.open and row.shard in shards)

    def attempts(self, stream: StreamId) -> Sequence[AttemptRow]:
        """See `core.ports.history.History.attempts`."""
        with self._store.lock:
            rows = [row for row in self._store.rows.attempts.values() if row.stream_id == stream]
        return sorted(rows, key=lambda row: row.number)

    def decisions(self, stream: StreamId) -> Sequence[DecisionRow]:
        """See `core.ports.history.History.decisions`."""
        with self._store.lock:
            rows = [row for row in self._store.rows.decisions.values() if row.stream_id == stream]
        return sorted(rows, key=lambda row: (row.scheduled_at, row.decision_id))

    def effects(self, stream: StreamId) -> Sequence[EffectRow]:
        """See `core.ports.history.History.effects`."""
        with self._store.lock:
            rows = [row for row in self._store.rows.effects.values() if row.stream_id == stream]
        return sorted(rows, key=lambda row: (row.requested_at, row.effect_id))

    def last_events(
        self, streams: Collection[StreamId], name: str
    ) -> Mapping[StreamId, StoredEvent]:
        """See `core.ports.history.History.last_events`."""
        return {
            stream: item
            for stream in streams
            for item in self._store.read_stream(stream)
            if item.record.type == name
        }


def _is_in_order(row: JobRow, wanted: JobFilter) -> bool:
    stream = row.stream_id
    if wanted.older_than is not None and stream >= wanted.older_than:
        return False
    if wanted.created_from is not None and stream < first_stream_at(wanted.created_from):
        return False
    return wanted.created_until is None or stream < first_stream_at(wanted.created_until)


def _matches(row: JobRow, wanted: JobFilter) -> bool:
    restrictions = (
        (wanted.cluster, row.cluster),
        (wanted.namespace, row.namespace),
        (wanted.name, row.name),
        (wanted.kind, row.kind),
        (wanted.uid, row.uid),
        (wanted.phase, row.phase),
        (wanted.reason, row.reason),
    )
    if not _is_in_order(row, wanted):
        return False
    small = wanted.text.lower()
    if small not in f"{row.name}\n{row.namespace}" and not row.uid.startswith(small):
        return False
    if wanted.open_only and not row.open:
        return False
    if wanted.new_only and row.phase:
        return False
    if wanted.stream_id is not None and row.stream_id != wanted.stream_id:
        return False
    if wanted.streams and row.stream_id not in wanted.streams:
        return False
    return all(value in ("", found) for value, found in restrictions)
