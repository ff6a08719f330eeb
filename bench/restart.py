"""How long a restart takes: from nothing until every open job is held, at two lengths of the log.

A restart reads the open jobs and a glance at those that are finished and still there, as the
controller does when it gains its shards. What is deleted is only in the log and must cost nothing.
"""

import gc
import itertools
import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from bench.decode import Listening
from bench.figures import Report
from bench.filling import append_all
from bench.manifests import rayjob
from bench.story import Played, Story
from bench.throwaway import Server, ledger_engine, postgres
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.log.snapshots import PostgresSnapshots
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.work.slots import Slots
from jobledger.adapters.service.work.snapshots import ROUND_MAX, SnapshotKeeper
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.values.ids import SHARDS

OPEN_JOBS, OPEN_JOBS_FULL = 1_000, 10_000
EVENTS, EVENTS_FULL = 100_000, 1_000_000
REPEATS = 3
FINISHED_SHARE = 10
"""One finished job in so many is still there."""

DATABASE = "restarts"
KEY = b"a key of the bench"


def measure(report: Report) -> None:
    """Load the open jobs from a short log, then from a long one."""
    open_jobs = OPEN_JOBS_FULL if report.full else OPEN_JOBS
    wanted = EVENTS_FULL if report.full else EVENTS
    report.setting("open jobs", f"{open_jobs:,}, each running its second attempt")
    report.setting("finished jobs", f"1 in {FINISHED_SHARE} still there, the others deleted")
    with postgres(report) as server:
        url = server.database(DATABASE)
        with ledger_engine(url) as engine:
            report.say(f"appending {open_jobs} open jobs")
            events = append_all(engine, _open(open_jobs))
            short = _measure(report, server, engine, events)
            _measure_snapshots(report, server, engine)
            report.say(f"appending finished jobs until the log has {wanted:,} events")
            events += append_all(engine, _finished(report, wanted - events))
            long = _measure(report, server, engine, events)
            report.figure("longer log, times the CPU", long / short, "times")
            report.say("weighing")
            _weigh(report, engine, open_jobs)


def _open(count: int) -> Iterator[tuple[Story, list[Played]]]:
    """Give jobs whose first attempt has failed and whose second runs."""
    for number in range(count):
        name = f"open-{number}"
        story = Story(name, _long_ago(), rayjob(name))
        yield story, list(story.until_running_again())


def _finished(report: Report, events: int) -> Iterator[tuple[Story, list[Played]]]:
    """Give finished jobs until they have brought so many events."""
    brought, said = 0, 0
    for number in itertools.count():
        if brought >= events:
            return
        name = f"finished-{number}"
        story = Story(name, _long_ago(), rayjob(name))
        played = list(story.whole(deleted=number % FINISHED_SHARE != 0))
        brought += sum(len(item.events) for item in played)
        yield story, played
        if brought - said >= 100_000:
            said = brought
            report.say(f"{brought:,} of {events:,} events")


def _long_ago() -> datetime:
    return datetime.now(UTC) - timedelta(hours=1)


def _measure(report: Report, server: Server, engine: Engine, events: int) -> float:
    """Load a few times; return the CPU seconds of the best, ours and the server's."""
    with server.admin(DATABASE) as admin:
        admin.execute("VACUUM ANALYZE")
    server.checkpoint()
    history, loads, glances, cpus = PostgresHistory(engine), [], [], []
    held = noted = 0
    for number in range(REPEATS):
        report.say(f"loading from {events:,} events, {number + 1} of {REPEATS}")
        slots = Slots(PostgresEventStore(engine, _long_ago))
        cpu, began = _spent(server), time.monotonic()
        slots.load(history.open_streams(range(SHARDS)))
        loads.append(time.monotonic() - began)
        began = time.monotonic()
        slots.note_finished(history.finished(range(SHARDS)))
        glances.append(time.monotonic() - began)
        cpus.append(_spent(server) - cpu)
        held, noted = len(slots), len(slots.finished_of(range(SHARDS)))
    name = f"log of {events:,} events"
    report.figure(f"{name}: {held:,} open jobs loaded", min(loads), "s")
    report.figure(f"{name}: wall per open job", min(loads) / held * 1e3, "ms")
    report.figure(f"{name}: CPU per open job, the server's included", min(cpus) / held * 1e3, "ms")
    report.figure(f"{name}: {noted:,} finished jobs noted", min(glances), "s")
    return min(cpus)


def _measure_snapshots(report: Report, server: Server, engine: Engine) -> None:
    """Write a snapshot of every open job, then load from them."""
    keeper = SnapshotKeeper(PostgresSnapshots(engine), KEY, SystemClock())
    slots, streams = (
        Slots(PostgresEventStore(engine, _long_ago)),
        PostgresHistory(engine).open_streams(range(SHARDS)),
    )
    slots.load(streams)
    report.say("writing snapshots")
    cpu, wal, began = _spent(server), server.wal_bytes(), time.monotonic()
    for _ in range(0, len(slots) + ROUND_MAX, ROUND_MAX):
        keeper.keep((slot.tail, slot.view) for slot in slots)
    wrote, cpu, wal = time.monotonic() - began, _spent(server) - cpu, server.wal_bytes() - wal
    report.figure("snapshots: written, wall per job", wrote / len(slots) * 1e3, "ms")
    report.figure("snapshots: written, CPU per job", cpu / len(slots) * 1e6, "µs")
    report.figure("snapshots: WAL per job", wal / len(slots) / 1e3, "kB")
    loads, cpus = [], []
    for number in range(REPEATS):
        report.say(f"loading from snapshots, {number + 1} of {REPEATS}")
        again = Slots(PostgresEventStore(engine, _long_ago))
        again.known = SnapshotKeeper(PostgresSnapshots(engine), KEY, SystemClock()).read
        cpu, began = _spent(server), time.monotonic()
        again.load_open(streams)
        loads.append(time.monotonic() - began)
        cpus.append(_spent(server) - cpu)
        assert all(again.held(slot.stream_id) == slot for slot in slots), "it is the same"
    report.figure(f"snapshots: {len(slots):,} open jobs loaded", min(loads), "s")
    report.figure("snapshots: wall per open job", min(loads) / len(slots) * 1e3, "ms")
    report.figure("snapshots: CPU per open job", min(cpus) / len(slots) * 1e3, "ms")


def _spent(server: Server) -> float:
    """Return the CPU seconds of this thread and of the connections it uses."""
    return time.thread_time() + server.backend_cpu_seconds(DATABASE)


def _weigh(report: Report, engine: Engine, open_jobs: int) -> None:
    """Say how much memory a job takes: its fold, and its object as it is watched."""
    streams = PostgresHistory(engine).open_streams(range(SHARDS))
    slots = Slots(PostgresEventStore(engine, _long_ago))
    gc.collect()
    tracemalloc.start()
    slots.load(streams)
    gc.collect()
    folded, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    live = ObjectCache()
    listening = Listening(live)
    for number in range(open_jobs):
        listening.new(f"open-{number}")
    gc.collect()
    both, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(slots) == len(live.jobs()) == open_jobs, "all are held"
    report.figure("memory, state held per job", folded / open_jobs / 1e3, "kB")
    report.figure("memory, object watched per job", (both - folded) / open_jobs / 1e3, "kB")
