"""The jobs in memory: their views, and where their streams end.

Only jobs in which something is left to do are held; of the others a summary is kept, so that a
relist of many
finished jobs reads nothing from the log.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jobledger.adapters.service.objects.by_shard import ByShard
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.catalogue import read_event
from jobledger.core.kinds import JobState, is_open, kept, kind_of
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.log.recording import Tail
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.history import FinishedJob
from jobledger.core.projections.snapshot import Folded
from jobledger.core.projections.view import View, advance
from jobledger.core.values.ids import StreamId, shard_of

log = get_logger(__name__)

CHUNK = 200
"""How many streams are read at once."""


@dataclass(slots=True)
class Slot:
    """One job, as far as it has been appended."""

    stream_id: StreamId
    view: View
    tail: Tail
    is_cut_off: bool = False
    """Whether it was read anew and lacks the end that was known: the ledger was set back."""

    @property
    def shard(self) -> int:
        """Return the shard the job belongs to."""
        return shard_of(self.stream_id)


def empty_slot(stream: StreamId) -> Slot:
    """Return the slot of a job of which nothing is known."""
    return Slot(stream, View(), Tail(stream_id=stream, version=0, chain=GENESIS))


Known: TypeAlias = tuple[Tail, Folded]
"""What a stream adds up to until an end of it."""

OnRead = Callable[[StreamId, Sequence[StoredEvent], Folded | None], None]


def fold_slot(stream: StreamId, stored: Sequence[StoredEvent], known: Known | None = None) -> Slot:
    """Return the slot that a whole stream adds up to, or what follows on what is known of it."""
    before = empty_slot(stream) if known is None else Slot(stream, known[1].view, known[0])
    if not stored:
        return before
    view, _ = advance(before.view, (read_event(item.record) for item in stored))
    last = stored[-1].record
    return Slot(stream, view, Tail(stream_id=stream, version=last.version, chain=last.chain))


def job_name(state: JobState | None) -> str:
    """Return kind, namespace and name of a job; empty where its state does not know them."""
    if state is None or state.identity is None:
        return ""
    return f"{kind_of(state).name} {state.identity.namespace}/{state.identity.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The summary at a job in which nothing is left to do, and whose object is still there."""

    generation: int
    leaving: bool
    recorded: bool = False
    """Whether it was only recorded when it was let go."""
    version: int = 0
    """Where its stream ended then."""
    kept: str = ""
    """UID of what was still there of it then; empty: nothing was, or nobody knows."""


def _goes_on(stored: Sequence[StoredEvent], end: Tail) -> bool:
    """Return whether a whole stream goes on from where it ended."""
    if end.version == 0:
        return True
    return end.version <= len(stored) and stored[end.version - 1].record.chain == end.chain


class Slots:
    """All jobs the service works on.

    Written by the turn's thread only; reading is safe from any.
    """

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self.on_read: OnRead = lambda *_: None
        """Is told of each stream that was read from the log, whole or after what was known."""
        self.on_end: Callable[[Tail], None] = lambda _: None
        """Is told where each stream ends that was read by itself, with no look at the whole log."""
        self.on_let_go: Callable[[Slot], None] = lambda _: None
        """Is told of each job in which nothing is left to do."""
        self.known: Callable[[Sequence[StreamId]], Mapping[StreamId, Known]] = lambda _: {}
        """Tells what streams add up to until an end of each, as far as that is known."""
        self._held = ByShard[Slot]()
        self._finished = ByShard[Finished]()

    def load(self, streams: Iterable[StreamId]) -> None:
        """Hold these jobs, read from the log; those already held are left as they are.

        One whose stream cannot be folded is not held: nothing is done for it.
        """
        missing = [stream for stream in streams if stream not in self._held]
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            self._load(chunk)
            for stream in chunk:
                self._note_end(stream)

    def _load(self, chunk: Sequence[StreamId]) -> None:
        found = self._store.read_streams(chunk) if chunk else {}
        for stream in chunk:
            self._fold(stream, found.get(stream, ()))

    def load_open(self, streams: Sequence[StreamId]) -> None:
        """Hold these jobs, as `load`; of what is known of them nothing is read again."""
        missing = [stream for stream in streams if stream not in self._held]
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            known = self.known(chunk)
            rest = self._store.read_rest({stream: known[stream][0].version for stream in known})
            for stream, stored in rest.items():
                self._fold(stream, stored, known[stream])
            self._load([stream for stream in chunk if stream not in known])

    def reload(self, stream: StreamId) -> None:
        """Put the job as the log has it now in place of what was held; never without either."""
        before = self._held.get(stream)
        stored = self._store.read_streams([stream]).get(stream, ())
        self._fold(stream, stored)
        self._note_end(stream)
        slot = self._held.get(stream)
        if before is not None and slot is not None:
            slot.is_cut_off = not _goes_on(stored, before.tail)

    def _note_end(self, stream: StreamId) -> None:
        slot = self._held.get(stream)
        if slot is not None and slot.tail.version:
            self.on_end(slot.tail)

    def _fold(
        self, stream: StreamId, stored: Sequence[StoredEvent], known: Known | None = None
    ) -> None:
        try:
            slot = fold_slot(stream, stored, known)
        except Exception:  # a stream that cannot be folded must not keep the others from working
            log.exception("stream_unreadable", stream=str(stream))
            self._held.drop(stream)
        else:
            self._held[stream] = slot
            self.on_read(stream, stored, None if known is None else known[1])

    def held(self, stream: StreamId) -> Slot | None:
        """Return a job that is held."""
        return self._held.get(stream)

    def state(self, stream: StreamId) -> JobState | None:
        """Return the state of a job that is held."""
        slot = self._held.get(stream)
        return slot.view.state if slot is not None else None

    def namespace(self, stream: StreamId) -> str:
        """Return the namespace of a job that is held; empty: of any other."""
        state = self.state(stream)
        return state.identity.namespace if state is not None and state.identity is not None else ""

    def name(self, stream: StreamId) -> str:
        """Return kind, namespace and name of a job that is held; empty: of any other."""
        return job_name(self.state(stream))

    def finished(self, stream: StreamId) -> Finished | None:
        """Return the summary at a job in which nothing was left to do."""
        return self._finished.get(stream)

    def retire(self, slot: Slot) -> bool:
        """Let go of a job in which nothing is left to do; return whether it was let go."""
        state = slot.view.state
        if is_open(state):
            self._finished.drop(slot.stream_id)
            return False
        self._held.drop(slot.stream_id)
        self._finished.drop(slot.stream_id)
        manifest = state.manifest
        if manifest is not None and state.deleted_at is None:
            self._finished[slot.stream_id] = Finished(
                generation=manifest.generation,
                leaving=manifest.deleting_at is not None,
                recorded=state.recorded is not None,
                version=slot.tail.version,
                kept=kept(state),
            )
        self.on_let_go(slot)
        return True

    def drop(self, streams: Iterable[StreamId]) -> None:
        """Forget jobs that another replica works on now."""
        for stream in list(streams):
            self._held.drop(stream)
            self._finished.drop(stream)

    def drop_shards(self, shards: Collection[int]) -> None:
        """Forget the jobs of shards that another replica works on now."""
        self.drop([*self._held.of(shards), *self._finished.of(shards)])

    def note_finished(self, jobs: Iterable[FinishedJob]) -> None:
        """Take note of jobs in which nothing was left to do when they were last written.

        One that is held as it was before that was read a while ago, when another drove it still.
        """
        for job in jobs:
            slot = self._held.get(job.stream_id)
            if slot is not None and slot.tail.version < job.version:
                self._held.drop(job.stream_id)
            summary = Finished(
                generation=job.generation,
                leaving=False,
                recorded=job.recorded,
                version=job.version,
            )
            if job.stream_id not in self._finished:
                self._finished[job.stream_id] = summary

    def versions(self) -> dict[StreamId, int]:
        """Return where the stream of each job ended that is held, or kept a summary of."""
        ends = {stream: summary.version for stream, summary in self._finished.items()}
        return ends | {stream: slot.tail.version for stream, slot in self._held.items()}

    def take_set_back(self, stream: StreamId) -> int:
        """Return where a stream ended that was read again and ends before that; 0: it does not.

        The summary at the job is forgotten then.
        """
        known = self._finished.drop(stream) if self._is_set_back(stream) else None
        return 0 if known is None else known.version

    def leave_set_back(self, stream: StreamId) -> bool:
        """Hold a job no more that was read again and ends earlier now; return whether it does.

        The summary at it stays.
        """
        if self._is_set_back(stream):
            del self._held[stream]
            return True
        return False

    def _is_set_back(self, stream: StreamId) -> bool:
        slot, summary = self._held.get(stream), self._finished.get(stream)
        return slot is not None and summary is not None and slot.tail.version < summary.version

    def of(self, shards: Collection[int]) -> list[Slot]:
        """Return the jobs of shards that are held."""
        return [self._held[stream] for stream in self._held.of(shards)]

    def finished_of(self, shards: Collection[int]) -> dict[StreamId, Finished]:
        """Return the jobs of shards of which only a summary is kept."""
        return {stream: self._finished[stream] for stream in self._finished.of(shards)}

    def __iter__(self) -> Iterator[Slot]:
        return iter(list(self._held.values()))

    def __len__(self) -> int:
        return len(self._held)
