"""What questions about the past cost: refold, replay, verify, a job at an instant, a capture."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sqlalchemy import Engine, text

from bench.figures import Report
from bench.filling import append_all
from bench.manifests import rayjob
from bench.story import Played, Story
from bench.throwaway import Server, ledger_engine, postgres
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.refolding.all_jobs import rebuild_all
from jobledger.adapters.postgres.refolding.processes import PROCESS_JOBS
from jobledger.adapters.postgres.refolding.replaying import replay_all
from jobledger.adapters.postgres.schema.stored_events import StoredPayload, payloads_of
from jobledger.adapters.postgres.verifying.seals import PostgresSeals
from jobledger.adapters.postgres.verifying.verify import Extent, verify
from jobledger.core.catalogue import event_of
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.replay.replay import replay
from jobledger.core.forensics.seals.sealing import broken
from jobledger.core.forensics.seals.seals import EVENTS_MAX, make
from jobledger.core.forensics.story.moment import at_instant
from jobledger.core.jobs.evidence.pods import log_end
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.projections.view import View, advance
from jobledger.core.values.ids import StreamId

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STORIES, STORIES_FULL = 400, 18_000
"""Of 60 events each: 24,000 events, and a million with --full."""

LARGE_FULL = 10_000_000
"""Events of the log in which one job is looked at, with --full."""

READ_AT_ONCE = 100
REPLAYED_MAX = 200
"""Jobs that are decided again: each costs the same."""

LOOKS = 60
Told = Callable[..., None]
"""Is told how many are done, and of how many."""

LOG = "step 4182 loss 0.4711 lr 3e-4 tokens/s 18123\n" * 3_000


def measure(report: Report) -> None:
    """Measure everything on one filled log."""
    stories = STORIES_FULL if report.full else STORIES
    with postgres(report) as server:
        url = server.database("forensics")
        with ledger_engine(url) as engine:
            report.say(f"filling the log with {stories} jobs")
            events = append_all(engine, _stories(stories), _steps(report, "events"))
            report.setting("log", f"{events} events of {stories} jobs")
            report.setting("processes", os.cpu_count())
            with server.admin("forensics") as admin:
                admin.execute("VACUUM ANALYZE")
            _fold_and_replay(report, engine)
            _verify(report, engine, events)
            _moments(report, server, engine)
            _captures(report, engine)


def _steps(report: Report, what: str, every: int = 100_000) -> Told:
    """Return what says how far something has come, once per so many."""
    said = 0

    def told(done: int, _total: int = 0) -> None:
        nonlocal said
        if done // every > said:
            said = done // every
            report.say(f"  {done} {what}")

    return told


def _stories(number: int) -> Iterator[tuple[Story, list[Played]]]:
    """Yield jobs, each created a second after the one before."""
    manifest = rayjob("train")
    for index in range(number):
        story = Story(f"train-{index}", NOW - timedelta(seconds=number - index), manifest)
        yield story, list(story.whole())


def _fold_and_replay(report: Report, engine: Engine) -> None:
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    streams = list(PostgresHistory(engine).streams())
    report.say("refolding every job")
    _rates(report, "refold", _payloads(engine, streams), _fold)
    report.say("deciding jobs again")
    some = streams[:REPLAYED_MAX]
    _rates(report, "replay", _read(store, some), _decide_again)
    _replay_in_processes(report, engine, len(streams))
    report.say("holding every row against the fold")
    began, cpu = time.perf_counter(), time.process_time()
    assert list(rebuild_all(engine, _steps(report, "jobs", 2_000), check=True)) == []
    events = PostgresEventStore(engine, lambda: NOW).last_position()
    report.figure("rebuild --check", events / (time.perf_counter() - began), "events/s")
    spent = (time.process_time() - cpu) / events * 1e6
    report.figure("rebuild --check, CPU", spent, "µs per event")
    report.remark("refold and replay: reading and decoding included; aims 200,000/s and 60,000/s")


def _replay_in_processes(report: Report, engine: Engine, jobs: int) -> None:
    """Measure `jobledger replay` over all jobs, if there are enough to be shared."""
    processes = min(os.cpu_count() or 1, jobs // PROCESS_JOBS)
    if processes < 2:
        report.remark(f"replay by several processes: from {2 * PROCESS_JOBS} jobs on")
        return
    report.say(f"deciding all jobs again with {processes} processes")
    began, told = time.perf_counter(), _steps(report, "jobs", 2_000)
    found = [item for _, item in replay_all(engine, told, processes)]
    assert all(item.is_reproduced for item in found), "the rules are those that decided"
    events = sum(item.events for item in found)
    rate = events / (time.perf_counter() - began)
    report.figure(f"replay, {processes} processes", rate, "events/s")


def _read(store: PostgresEventStore, streams: list[StreamId]) -> Iterator[tuple[StoredEvent, ...]]:
    for at in range(0, len(streams), READ_AT_ONCE):
        read = store.read_streams(streams[at : at + READ_AT_ONCE])
        yield from (tuple(events) for events in read.values())


def _payloads(engine: Engine, streams: list[StreamId]) -> Iterator[list[StoredPayload]]:
    with engine.connect() as connection:
        for at in range(0, len(streams), READ_AT_ONCE):
            yield from payloads_of(connection, streams[at : at + READ_AT_ONCE]).values()


_Job = TypeVar("_Job", bound=Sized)


def _rates(report: Report, name: str, jobs: Iterable[_Job], work: Callable[[_Job], None]) -> None:
    """Measure by the clock, and by the CPU of this process alone: the machine may be shared."""
    began, cpu, events = time.perf_counter(), time.process_time(), 0
    for job in jobs:
        work(job)
        events += len(job)
    report.figure(name, events / (time.perf_counter() - began), "events/s")
    report.figure(f"{name}, CPU", (time.process_time() - cpu) / events * 1e6, "µs per event")


def _fold(job: list[StoredPayload]) -> None:
    advance(View(), [event_of(*stored) for stored in job])


def _decide_again(job: tuple[StoredEvent, ...]) -> None:
    assert replay(item.record for item in job).is_reproduced, "the rules are those that decided"


def _verify(report: Report, engine: Engine, events: int) -> None:
    for processes in (1, os.cpu_count() or 1):
        report.say(f"verifying with {processes} processes")
        began, cpu = time.perf_counter(), time.process_time()
        told = _steps(report, "events")
        found = verify(engine, told, Extent(processes=processes))
        assert found.faults == ()
        seconds = time.perf_counter() - began
        report.figure(f"verify, {processes} processes", events / seconds, "events/s")
        if processes == 1:
            spent = (time.process_time() - cpu) / events * 1e6
            report.figure("verify, CPU beside Postgres", spent, "µs per event")
    report.say("sealing, and holding the log against its seals")
    sealed = PostgresSeals(engine)
    began, before = time.perf_counter(), None
    seals = []
    for first in range(1, events + 1, EVENTS_MAX):
        rows = sealed.sealed_rows(first, min(events, first + EVENTS_MAX - 1))
        before = make(before, rows, NOW)
        seals.append(before)
    report.figure("seal", events / (time.perf_counter() - began), "events/s")
    began = time.perf_counter()
    assert list(broken(sealed, seals, None, lambda _: None)) == []
    report.figure("hold against seals", events / (time.perf_counter() - began), "events/s")
    report.remark("verify: every payload and link hashed anew outside the database; aim 250,000/s")


def _moments(report: Report, server: Server, engine: Engine) -> None:
    if report.full:
        report.say(f"growing the log to {LARGE_FULL} events (copies, by SQL)")
        _grow(report, server, LARGE_FULL)
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    with engine.connect() as connection:
        size = connection.execute(text("SELECT position FROM log_head")).scalar_one()
    streams = list(PostgresHistory(engine).streams())
    chosen = streams[:: max(1, len(streams) // LOOKS)]
    taken = []
    for stream in chosen:
        began = time.perf_counter()
        events = tuple(store.read_stream(stream))
        dossier = Dossier(events=events, evidence=lambda _: None, origin="the ledger")
        moment = at_instant(dossier.read(), events[len(events) // 2].record.recorded_at)
        assert moment.known.job is not None
        taken.append((time.perf_counter() - began) * 1000)
    report.setting("log in which a job is looked at", f"{size} events")
    report.percentiles("a job at an instant", taken, "ms")
    report.remark("a job at an instant: aim 50 ms in a log of 10 M events (--full)")


def _grow(report: Report, server: Server, wanted: int) -> None:
    """Copy whole jobs under other names until the log is large; links are not continued."""
    copy = """
        INSERT INTO event SELECT position + %(shift)s::bigint,
            (left(stream_id::text, 24) || lpad(to_hex(%(round)s::bigint), 12, '0'))::uuid, version,
            event_id, type, schema_version, occurred_at, recorded_at, actor, epoch, causation_id,
            correlation_id, data, data_sha, chain
        FROM event WHERE position <= %(last)s
    """
    with server.admin("forensics") as admin:
        row = admin.execute("SELECT position FROM log_head").fetchone()
        assert row is not None
        last: int = row[0]
        for number in range(1, wanted // last):
            admin.execute(copy, {"shift": number * last, "round": number, "last": last})
            report.say(f"  {(number + 1) * last} events")
        admin.execute("UPDATE log_head SET position = (SELECT max(position) FROM event)")
        admin.execute("ANALYZE event")


def _captures(report: Report, engine: Engine) -> None:
    """Measure what a capture costs here; how long Pods take to answer is not ours to measure."""
    store = PostgresEvidence(engine)
    taken = []
    for number in range(LOOKS):
        began = time.perf_counter()
        end, _ = log_end(f"attempt {number}\n{LOG}")
        store.put(end.encode(), NOW)
        taken.append((time.perf_counter() - began) * 1000)
    report.percentiles("keeping the end of a log", taken, "ms")
    size = "SELECT avg(octet_length(packed))::int, avg(size)::int FROM evidence"
    with engine.connect() as connection:
        packed, raw = connection.execute(text(size)).one()
    report.figure("a kept log, compressed", packed, "bytes")
    report.figure("a kept log", raw, "bytes")
