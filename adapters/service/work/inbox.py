"""The inbox: observations that wait for their turn, by job."""

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from jobledger.adapters.service.work.rotation import Rotation
from jobledger.core.jobs.observations import AboutStatus
from jobledger.core.kinds import JobObservation, job_seen
from jobledger.core.values.ids import StreamId, shard_of

Arrival = tuple[StreamId, JobObservation]


@dataclass(frozen=True, slots=True)
class LateSighting:
    """A sighting of a job's own object that is made when it is taken, if it is needed then."""

    namespace: str
    make: Callable[[], JobObservation | None]
    """Makes it; None: the log has it already, or it cannot be made."""


@dataclass(frozen=True, slots=True)
class _Accompanied:
    """An observation of which more is on its way: it is taken along with that."""

    observation: JobObservation


_Waiting = tuple[StreamId, JobObservation | LateSighting | _Accompanied]


class Inbox:
    """An unbounded queue; its length is bounded by the jobs that exist, and is a metric.

    Namespaces take turns, so no tenant's jobs wait behind all those of another. Of a job, and of a
    namespace as long as no shard is held back, observations are taken in the order in which they
    were put. What nothing follows from, and what is accompanied, wakes nobody: it is taken along
    with the next that does, or when a `take` has waited.
    """

    def __init__(self, namespace_of: Callable[[StreamId], str] = lambda _: "") -> None:
        """`namespace_of` tells it of a job that is known; empty: of one that is not."""
        self._namespace_of = namespace_of
        self._arrivals: Rotation[_Waiting] = Rotation()
        self._waiting: dict[StreamId, tuple[str, int]] = {}
        """Of each job with arrivals: the namespace under which they wait, and how many do."""
        self._in_hand: set[StreamId] = set()
        """The jobs of which something was taken last."""
        self._held_back: dict[int, deque[tuple[str, _Waiting]]] = {}
        """Of each shard that is held back: what has come in, with the namespaces."""
        self._urgent = 0
        """How many of the others are waited for."""
        self._ready = threading.Condition()
        self._closed = False

    def put(self, stream: StreamId, observation: JobObservation) -> None:
        """Add an observation; one that comes after `close` is dropped (it will be seen again)."""
        with self._ready:
            if not self._closed:
                self._let_in(self._add(stream, observation), (stream, observation))

    def put_late(self, stream: StreamId, sighting: LateSighting) -> None:
        """Add a sighting that is made when it is taken, as `put`."""
        with self._ready:
            if not self._closed:
                self._let_in(self._add(stream, sighting), (stream, sighting))

    def put_accompanied(self, stream: StreamId, observation: JobObservation) -> None:
        """Add an observation that wakes nobody, as `put`: another of its job is on its way."""
        with self._ready:
            if not self._closed:
                self._let_in(self._add(stream, observation), (stream, _Accompanied(observation)))

    def hold_back(self, shards: Collection[int]) -> None:
        """Hold back what comes and has come of the jobs of these shards, and of no other."""
        with self._ready:
            before = self._held_back
            self._held_back = {shard: before.get(shard, deque()) for shard in shards}
            if self._held_back.keys() - before.keys():
                come, self._arrivals, self._urgent = self._arrivals, Rotation(), 0
                while (found := come.pop()) is not None:
                    self._let_in(*found)
            let_go = (before[shard] for shard in before if shard not in self._held_back)
            for found in chain.from_iterable(let_go):
                self._let_in(*found)

    def replace_held_back(self, sightings: Mapping[StreamId, JobObservation]) -> set[StreamId]:
        """Let sightings of jobs stand in place of those held back; return of which jobs any was."""
        replaced = set[StreamId]()
        with self._ready:
            for shard in {shard_of(stream) for stream in sightings} & self._held_back.keys():
                kept = deque[tuple[str, _Waiting]]()
                for namespace, (stream, observation) in self._held_back[shard]:
                    if stream not in sightings or not _is_sighting(observation):
                        kept.append((namespace, (stream, observation)))
                    elif stream in replaced:
                        self._forget(stream)
                    else:
                        replaced.add(stream)
                        kept.append((namespace, (stream, sightings[stream])))
                self._held_back[shard] = kept
        return replaced

    def holds_back(self, stream: StreamId) -> bool:
        """Return whether what comes of a job is held back."""
        return shard_of(stream) in self._held_back

    def count_held_back(self, shard: int) -> int:
        """Return how many observations of the jobs of a shard are held back."""
        return len(self._held_back.get(shard, ()))

    def take(self, limit: int, timeout_seconds: float) -> list[Arrival]:
        """Return up to `limit` observations.

        Returns at once if there are urgent ones, else with the first that comes in time, and at
        the latest with what else there is. For one thread alone: what was taken before has been
        decided on then, or put back.
        """
        with self._ready:
            if not self._urgent and not self._closed:
                self._ready.wait(timeout_seconds)
            taken: list[_Waiting] = []
            while len(taken) < limit and (found := self._arrivals.pop()) is not None:
                taken.append(found[1])
                self._forget(found[1][0])
            self._urgent -= sum(_is_urgent(observation) for _, observation in taken)
            self._in_hand = {stream for stream, _ in taken}
        return list(_made(taken))

    def is_settled(self, stream: StreamId) -> bool:
        """Return whether nothing of a job waits, or was taken and is still to be decided on."""
        with self._ready:
            return stream not in self._waiting and stream not in self._in_hand

    def put_back(self, arrivals: Sequence[Arrival]) -> None:
        """Put what was taken back in front, in its order, unless the inbox is closed."""
        with self._ready:
            if not self._closed:
                for stream, observation in reversed(arrivals):
                    namespace = self._add(stream, observation)
                    held_back = self._held_back.get(shard_of(stream))
                    if held_back is not None:
                        held_back.appendleft((namespace, (stream, observation)))
                        continue
                    self._arrivals.append_left(namespace, (stream, observation))
                    self._arrivals.is_next(namespace)
                    self._urgent += _is_urgent(observation)
                self._ready.notify()

    @property
    def is_closed(self) -> bool:
        """Return whether nothing more is taken in."""
        return self._closed

    def close(self) -> None:
        """Take nothing more and let a waiting `take` return."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()

    @property
    def size(self) -> int:
        """Return how many there are, those included that are held back."""
        return len(self._arrivals) + sum(map(len, self._held_back.values()))

    def __len__(self) -> int:
        """Return how many there are to be taken; what is held back does not count."""
        return len(self._arrivals)

    def _let_in(self, namespace: str, arrival: _Waiting) -> None:
        held_back = self._held_back.get(shard_of(arrival[0])) if self._held_back else None
        if held_back is not None:
            held_back.append((namespace, arrival))
            return
        self._arrivals.append(namespace, arrival)
        if _is_urgent(arrival[1]):
            self._urgent += 1
            self._ready.notify()

    def _add(self, stream: StreamId, observation: JobObservation | LateSighting) -> str:
        """Count an arrival of a job; return the namespace under which all of that job's wait."""
        if known := self._waiting.get(stream):
            namespace, count = known
        elif isinstance(observation, LateSighting):
            namespace, count = observation.namespace, 0
        elif (found := job_seen(observation)) is not None:
            namespace, count = found[1].identity.namespace, 0
        else:
            namespace, count = self._namespace_of(stream), 0
        self._waiting[stream] = namespace, count + 1
        return namespace

    def _forget(self, stream: StreamId) -> None:
        """Count an arrival of a job no more."""
        namespace, count = self._waiting.pop(stream)
        if count > 1:
            self._waiting[stream] = namespace, count - 1


def _made(taken: Iterable[_Waiting]) -> Iterator[Arrival]:
    for stream, waiting in taken:
        if isinstance(waiting, _Accompanied):
            yield stream, waiting.observation
        elif not isinstance(waiting, LateSighting):
            yield stream, waiting
        elif (made := waiting.make()) is not None:
            yield stream, made


def _is_sighting(waiting: JobObservation | LateSighting | _Accompanied) -> bool:
    if isinstance(waiting, _Accompanied):
        return False
    return isinstance(waiting, LateSighting) or job_seen(waiting) is not None


def _is_urgent(waiting: JobObservation | LateSighting | _Accompanied) -> bool:
    """Return whether it is to be taken at once: not a status that was written."""
    return not isinstance(waiting, AboutStatus | _Accompanied)
