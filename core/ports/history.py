"""Port: queries of people and commands about jobs, attempts, decisions and effects."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs; an empty field does not restrict."""

    cluster: str = ""
    namespace: str = ""
    name: str = ""
    kind: str = ""
    uid: str = ""
    stream_id: StreamId | None = None
    streams: tuple[StreamId, ...] = ()
    """One of these."""
    phase: str = ""
    new_only: bool = False
    """Jobs that are in no phase yet."""
    reason: str = ""
    text: str = ""
    """Part of its name or namespace, or how its UID begins; in letters of either case."""
    cause: str = ""
    """One of its attempts failed of this cause, as far as reports have come; see `CAUSES`."""
    label: str = ""
    """A label that it has, as `name=value`; as far as reports have come."""
    open_only: bool = False
    created_from: Instant | None = None
    created_until: Instant | None = None
    """Before this instant."""
    older_than: StreamId | None = None
    """Jobs that come after this one in the order of `History.jobs`: for the next page."""
    kept_only: bool = False
    """Ended jobs whose RayCluster stays because nothing in their deletionStrategy covers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedJob:
    """A summary at a job in which nothing is left to do, and whose object is still there."""

    stream_id: StreamId
    generation: int
    recorded: bool = False
    """Whether it was only recorded."""
    version: int = 0
    """Where its stream ends."""


class History(Protocol):
    """The inline projections, to be read. May raise `LedgerUnavailable`."""

    def jobs(self, wanted: JobFilter, limit: int) -> Sequence[JobRow]:
        """Return jobs, the youngest first."""

    def counts(self, wanted: JobFilter) -> Mapping[str, int]:
        """Return how many of these jobs are in each phase; one without any is left out."""

    def streams(self) -> Sequence[StreamId]:
        """Return the streams of the whole log, the oldest first."""

    def open_streams(self, shards: Collection[int]) -> Sequence[StreamId]:
        """Return the streams of all jobs in which something is left to do, the oldest first."""

    def finished(self, shards: Collection[int]) -> Sequence[FinishedJob]:
        """Return the jobs in which nothing is left to do and whose object is still there."""

    def attempts(self, stream: StreamId) -> Sequence[AttemptRow]:
        """Return a job's attempts in order."""

    def decisions(self, stream: StreamId) -> Sequence[DecisionRow]:
        """Return all decisions of a job, by the instant they were scheduled, then their id."""

    def effects(self, stream: StreamId) -> Sequence[EffectRow]:
        """Return all effects of a job, by the instant they were requested, then their id."""

    def last_events(
        self, streams: Collection[StreamId], name: str
    ) -> Mapping[StreamId, StoredEvent]:
        """Return the last event of a type, by its name, of each job; a job without is left out."""
