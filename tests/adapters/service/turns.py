"""A turn over a log in memory, with a follower that notes what is handed over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from jobledger.adapters.service.loop.turn import Turn, TurnParts
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.prepared import Prepared
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.event_store import AppendResult, StreamAppend
from jobledger.core.rayjob.observations.observations import ManifestSeen
from jobledger.core.values.ids import StreamId, observation_id
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.leases import MemoryLeases
from tests.support.rayjob_builders import IDENTITY, manifest
from tests.support.records import NOON, a_stream

Append = Callable[[Sequence[StreamAppend]], Sequence[AppendResult]]


class WatchedStore(MemoryEventStore):
    """A log whose appends can be tampered with, and which notes what is read and sent."""

    def __init__(self, leases: MemoryLeases) -> None:
        super().__init__(leases)
        self.sent: list[list[StreamAppend]] = []
        self.read: list[StreamId] = []
        self.before: list[Callable[[], None]] = []
        """Called before the next appends, one each; may raise."""
        self.after: list[Callable[[], None]] = []
        """Called after the next appends, one each; may raise."""

    def append(self, batch: Sequence[StreamAppend]) -> Sequence[AppendResult]:
        self.sent.append(list(batch))
        if self.before:
            self.before.pop(0)()
        results = super().append(batch)
        if self.after:
            self.after.pop(0)()
        return results

    def read_streams(self, streams: Sequence[StreamId]) -> Mapping[StreamId, Sequence[StoredEvent]]:
        self.read += streams
        return super().read_streams(streams)


@dataclass
class Notes:
    """A follower that only notes."""

    handed_over: list[Prepared] = field(default_factory=list)
    resumed: list[StreamId] = field(default_factory=list)
    let_go: list[StreamId] = field(default_factory=list)
    poison: StreamId | None = None

    def after_append(self, prepared: Prepared) -> None:
        if prepared.slot.stream_id == self.poison:
            raise ZeroDivisionError
        self.handed_over.append(prepared)

    def resume(self, slot: Slot) -> None:
        self.resumed.append(slot.stream_id)

    def retired(self, stream: StreamId) -> None:
        self.let_go.append(stream)

    def streams(self) -> list[StreamId]:
        """Return whose events were handed over."""
        return [item.slot.stream_id for item in self.handed_over]


class TurnBench:
    """Everything a turn works with."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.table = MemoryLeases(self.clock.now)
        self.store = WatchedStore(self.table)
        self.inbox, self.confirmations = Inbox(), Confirmations()
        self.slots = Slots(self.store)
        self.leases = LeaseKeeper(self.table, self.clock, "a/1", 15)
        self.leases.renew()
        self.notes = Notes()
        self.pauses: list[float] = []
        self.stops = False
        """Whether the service is to stop when it next waits."""
        self.metrics = Metrics(CollectorRegistry())
        self.turn = Turn(
            TurnParts(
                store=self.store,
                slots=self.slots,
                inbox=self.inbox,
                confirmations=self.confirmations,
                epochs=self.leases,
                clock=self.clock,
                metrics=self.metrics,
                actor="a/1",
                pause=self._pause,
            ),
            self.notes,
        )

    def see(self, *observations: ManifestSeen) -> None:
        """Put observations of RayJobs into the inbox."""
        for observation in observations:
            self.inbox.put(observation.identity.stream_id, observation)

    def take(self) -> int:
        """Take a turn without waiting."""
        return self.turn.run_once(wait_seconds=0)

    def lose_shards(self) -> None:
        """Let another replica take every shard."""
        self.table.release("a/1")
        self.table.acquire("b/1", timedelta(minutes=5), 16)

    def versions(self, *streams: StreamId) -> list[int]:
        """Return how many events each stream has."""
        return [len(self.store.read_stream(stream)) for stream in streams]

    def _pause(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return self.stops


def a_job(name: str) -> StreamId:
    """Return the stream of the job called `name`."""
    return a_stream(name)


def seen(name: str, generation: int = 1, **spec: object) -> ManifestSeen:
    """Return a look at the RayJob called `name`."""
    looked = manifest(generation=generation, **spec)  # type: ignore[arg-type]  # fields by name
    stream = a_job(name)
    identity = replace(IDENTITY, stream_id=stream, name=name, uid=f"uid-of-{name}")
    mark = observation_id(stream, "manifest", str(generation), repr(spec))
    return replace(looked, id=mark, identity=identity)
