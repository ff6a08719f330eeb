"""Keeps snapshots of the jobs that are held, so that the next start need not fold their streams.

They are written beside the work, never with an append, and lag behind: a start reads one and the
events after it. One that is not exactly what this code wrote here, of an end that the log has, is
left alone, and its stream is folded from its first event.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

from msgspec import DecodeError
from msgspec.structs import replace

from jobledger.adapters.service.work.folding_code import folding_code
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import LedgerError
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.log.recording import Tail
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.projections import Snapshot, Snapshots
from jobledger.core.projections.snapshot import Folded, folded_in, is_genuine, snapshot_of
from jobledger.core.projections.view import View
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

QUIET_EVENTS = 4
"""A job that had no event since the last round is written again after so many since it was."""

BUSY_EVENTS = 32
"""Any other after so many."""

CALM = timedelta(minutes=1)
"""One of which nothing was told for so long is written after a single event: most jobs of a start
are such, and their snapshots are all that is read of them."""

BATCH = 100
"""Snapshots that are written at once, of some 4 kB each."""

ROUND_MAX = 2_000
"""Snapshots that are written in a round, so that a start with many jobs is not all about them."""


class SnapshotKeeper:
    """Reads and writes them. The turn's thread reads, one other writes."""

    def __init__(self, snapshots: Snapshots, key: bytes, clock: Clock) -> None:
        """Take the installation's key: without it nobody can make one that is gone on from."""
        self._snapshots, self._key, self._clock = snapshots, key, clock
        self.spent: Callable[[StreamId], float] = lambda _: 0.0
        """Tells how much of its budget of events a job has used up."""
        self.known_identity: Callable[[JobIdentity], JobIdentity] = lambda identity: identity
        """Returns the same identity of a job as it is held elsewhere."""
        self.decided: Callable[[StreamId, View], str] = lambda *_: ""
        """Returns what tells of a job later that it is as it was decided on by now."""
        self._decided: dict[StreamId, tuple[Tail, str]] = {}
        """What did when the snapshots were made that were read, and of which ends they are."""
        self._made: dict[StreamId, int] = {}
        """At which version a job's snapshot was made."""
        self._ends: Mapping[StreamId, int] = {}
        """Where the streams ended at the last round."""

    def read(self, streams: Sequence[StreamId]) -> dict[StreamId, tuple[Tail, Folded]]:
        """Return what can be gone on from, with the ends; raises as the ledger does."""
        found: dict[StreamId, tuple[Tail, Folded]] = {}
        refused = 0
        for one in self._snapshots.read(streams, folding_code()):
            try:
                if is_genuine(one, folding_code(), self._key):
                    folded = folded_in(one)
                    found[one.stream_id] = one.tail, replace(folded, view=self._shared(folded.view))
                    self._made[one.stream_id] = one.version
                    self._decided[one.stream_id] = one.tail, folded.decided
                    continue
            except DecodeError:
                log.exception("snapshot_unreadable", stream=str(one.stream_id))
            refused += 1
        if refused:
            log.warning("snapshots_refused", snapshots=refused)
        return found

    def take_decided(self, end: Tail) -> str:
        """Return what tells of a job that it is as it was decided on; empty if that is unclear.

        It is, once there is an event after the snapshot: it may be of another look, under other
        settings.
        """
        tail, decided = self._decided.pop(end.stream_id, (None, ""))
        return decided if tail == end else ""

    def _shared(self, view: View) -> View:
        """Return a view whose state and row have who the job is from whoever has it already.

        It is in memory once then: of a job that rests it is a good part of what is held.
        """
        state, job = view.state, view.job
        identity = None if state.identity is None else self.known_identity(state.identity)
        if identity is None or job is None:
            return view
        who = {name: getattr(identity, name) for name in identity.__struct_fields__}
        return replace(view, state=replace(state, identity=identity), job=replace(job, **who))

    def keep(self, held: Iterable[tuple[Tail, View]]) -> None:
        """Carry out the duty of writing those that are due; what fails is due again."""
        ends, due = dict[StreamId, int](), list[tuple[Tail, View]]()
        calm_since = self._clock.now() - CALM
        for tail, view in held:
            ends[tail.stream_id] = tail.version
            is_one = view.version == tail.version > 0  # they may be set one after the other
            if is_one and len(due) < ROUND_MAX and self._is_due(tail, view, calm_since):
                due.append((tail, view))
        self._ends = ends
        for stream in {*list(self._made), *list(self._decided)} - ends.keys():
            self._made.pop(stream, None)
            self._decided.pop(stream, None)
        try:
            for start in range(0, len(due), BATCH):
                self._write(due[start : start + BATCH])
        except LedgerError as error:
            log.warning("snapshots_not_written", error=str(error))

    def _is_due(self, end: Tail, view: View, calm_since: Instant) -> bool:
        behind = end.version - self._made.get(end.stream_id, 0)
        if view.job is not None and view.job.last_event_at < calm_since:
            return behind != 0
        is_quiet = self._ends.get(end.stream_id) == end.version
        return behind >= (QUIET_EVENTS if is_quiet else BUSY_EVENTS) or behind < 0

    def _write(self, due: Sequence[tuple[Tail, View]]) -> None:
        made = [one for tail, view in due if (one := self._snapshot(tail, view)) is not None]
        if made:
            self._snapshots.write(made)
        self._made |= {tail.stream_id: tail.version for tail, _ in due}

    def _snapshot(self, tail: Tail, view: View) -> Snapshot | None:
        """Return a job's snapshot; None if it holds a number that does not fit into 64 bits.

        Such a number is somebody else's, in the status of a RayCluster say. The log holds it, so
        the job is folded anew at the next start.
        """
        stream = tail.stream_id
        folded = Folded(
            view=view,
            spent=self.spent(stream),
            at=self._clock.now(),
            decided=self.decided(stream, view),
        )
        try:
            return snapshot_of(tail, folded, folding_code(), self._key)
        except OverflowError:
            return None
