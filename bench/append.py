"""What an append costs, projections included, next to COPY, single rows and another library.

Batches are those of the turn: each part is what one observation brought one job, many jobs to a
batch; a batch of one holds one event. All of it goes over one connection to one durable server.
"""

import itertools
import time
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from bench import copying, eventsourcing_rival
from bench.figures import Report
from bench.filling import whole_part
from bench.manifests import rayjob
from bench.story import Ledgered, Story
from bench.throwaway import Cost, Server, ledger_engine, postgres
from jobledger.adapters.postgres.connection.codec import append_arguments
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.core.ports.event_store import AppendOutcome, StreamAppend

SIZES = {1: 1_500, 10: 6_000, 50: 20_000, 500: 40_000}
"""Events per batch -> events appended; four times as many with --full."""

WARM_UP = 20
"""Batches before the clock starts: plans and caches."""

OBSERVATIONS = 30
"""Jobs are spread over so many observations of their story."""

WHOLE = 10
"""Whole stories to a batch, where each row is written once."""

WHOLE_STORIES = 300

DATABASE = "appends"


def measure(report: Report) -> None:
    """Measure each batch size, then COPY of the very same rows, single rows, the library."""
    with postgres(report) as server:
        url = server.database(DATABASE)
        ours = {}
        with ledger_engine(url, connections=1) as engine:
            for batch, total in SIZES.items():
                count = total * 4 if report.full else total
                ours[batch] = _measure_batches(report, server, engine, (batch, count))
            whole = _measure_whole(report, server, engine)
        copied = copying.measure(report, server, DATABASE)
        share = 100 * copied.cpu / whole.cpu, 100 * copied.wall / whole.wall
        report.figure("share of COPY, whole stories: by backend CPU", share[0], "%")
        report.figure("share of COPY, whole stories: by wall", share[1], "%")
        for batch, cost in ours.items():
            share = 100 * copied.cpu / cost.cpu, 100 * copied.wall / cost.wall
            report.figure(f"share of COPY, batch {batch}: by backend CPU", share[0], "%")
            report.figure(f"share of COPY, batch {batch}: by wall", share[1], "%")
        alone = copying.insert_one_by_one(report, server, DATABASE)
        for batch, cost in ours.items():
            times = alone.wall / cost.wall
            report.figure(f"faster than single rows, batch {batch}: by wall", times, "times")
        theirs = eventsourcing_rival.measure(report, server, DATABASE, SIZES)
        for batch, cost in theirs.items():
            times = cost.wall / ours[batch].wall
            report.figure(f"faster than eventsourcing, batch {batch}: by wall", times, "times")


def _measure_batches(report: Report, server: Server, engine: Engine, size: tuple[int, int]) -> Cost:
    """Append that many events in batches; return what one costs."""
    batch, total = size
    report.say(f"playing stories for batches of {batch}")
    began = time.thread_time()
    batches = list(itertools.islice(_batches(batch), OBSERVATIONS + WARM_UP + total // batch))
    made = sum(len(part.events) for parts in batches for part in parts)
    playing = (time.thread_time() - began) / made * 1e6
    began = time.thread_time()
    for parts in batches:
        append_arguments(parts)
    packing = (time.thread_time() - began) / made * 1e6
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    measured = max(1, total // batch)
    _append(store, batches[:-measured])
    server.checkpoint()
    report.say(f"appending {total} events in batches of {batch}")
    with server.meter(DATABASE) as meter:
        count = _append(store, batches[-measured:])
    cost = meter.cost(count)
    name = f"append, batch {batch}"
    report.figure(f"{name}: events per call", count / measured, "")
    report.figure(f"{name}: backend CPU", cost.cpu, "µs per event")
    report.figure(f"{name}: wall", cost.wall, "µs per event")
    report.figure(f"{name}: WAL", cost.wal, "bytes per event")
    report.figure(f"{name}: packing the call", packing, "µs of Python per event")
    if batch == max(SIZES):
        report.figure("deciding, folding, recording", playing, "µs of Python per event")
    return cost


def _measure_whole(report: Report, server: Server, engine: Engine) -> Cost:
    """Append whole stories at once: the work that COPY does, each row written once."""
    names = [f"whole-{number}" for number in range(WHOLE_STORIES)]
    then = datetime.now(UTC) - timedelta(hours=1)
    report.say(f"playing {WHOLE_STORIES} whole stories")
    stories = [Story(name, then, rayjob(name)) for name in names]
    parts = [whole_part(story, list(story.whole())) for story in stories]
    batches = [parts[start : start + WHOLE] for start in range(0, len(parts), WHOLE)]
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    _append(store, batches[:2])
    server.checkpoint()
    report.say("appending them")
    with server.meter(DATABASE) as meter:
        count = _append(store, batches[2:])
    cost = meter.cost(count)
    name = f"append, {WHOLE} whole stories"
    report.figure(f"{name}: events per call", count / len(batches[2:]), "")
    report.figure(f"{name}: backend CPU", cost.cpu, "µs per event")
    report.figure(f"{name}: wall", cost.wall, "µs per event")
    report.figure(f"{name}: WAL", cost.wal, "bytes per event")
    return cost


def _append(store: PostgresEventStore, batches: Sequence[Sequence[StreamAppend]]) -> int:
    count = 0
    for parts in batches:
        results = store.append(parts)
        assert all(item.outcome is AppendOutcome.APPENDED for item in results), "all new"
        count += sum(len(part.events) for part in parts)
    return count


class _Job:
    """A story on its way into the log; each call gives the next part, None after the last."""

    def __init__(self, *, alone: bool) -> None:
        now = datetime.now(UTC)
        name = f"train-{next(_NUMBERS)}"
        story = Story(name, now - timedelta(hours=1), rayjob(name))
        self._ledgered = Ledgered(story.stream, 1)
        self._story = story.whole()
        self._alone = alone
        self._waiting: deque[StreamAppend] = deque()

    def __call__(self) -> StreamAppend | None:
        """Return what the next observation brings, or (alone) its next event."""
        while not self._waiting:
            played = next(self._story, None)
            if played is None:
                return None
            self._waiting.extend(
                self._ledgered.parts([played], datetime.now(UTC), alone=self._alone)
            )
        return self._waiting.popleft()


_NUMBERS = itertools.count()


def _batches(size: int) -> Iterator[list[StreamAppend]]:
    """Give batches of about `size` events, never two parts of one job in a batch.

    Each job is some observations ahead of the one after it, as jobs that came one by one are.
    """
    jobs = [_Job(alone=size == 1) for _ in range(max(2, size))]
    parts: list[StreamAppend] = []
    held = 0
    yield from _lead(jobs)
    for number in itertools.cycle(range(len(jobs))):
        part = jobs[number]()
        if part is None:
            jobs[number] = _Job(alone=size == 1)
            continue
        parts.append(part)
        held += len(part.events)
        if held >= size:
            yield parts
            parts, held = [], 0


def _lead(jobs: Sequence[_Job]) -> Iterator[list[StreamAppend]]:
    """Play some jobs further than others, many to a batch; these batches are not measured."""
    for step in range(OBSERVATIONS):
        ahead = [job for number, job in enumerate(jobs) if number % OBSERVATIONS > step]
        parts = [part for job in ahead if (part := job()) is not None]
        if parts:
            yield parts
