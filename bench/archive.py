"""What a million events weigh, in the log and in archives, and how fast jobs leave the log."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine

from bench.figures import Report
from bench.filling import append_all
from bench.manifests import rayjob
from bench.story import Played, Story
from bench.throwaway import ledger_engine, postgres
from jobledger.adapters.forensics.archived_log import ArchivedLog
from jobledger.adapters.forensics.archiving import ArchiveParts, archive
from jobledger.adapters.forensics.sealed import SealOptions, check_seals, seal_new
from jobledger.adapters.ledger_wiring import Ledger, open_ledger
from jobledger.adapters.postgres.archive.archives import Retention
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.verifying.condition import condition
from jobledger.adapters.postgres.verifying.verify import verify

STORIES, STORIES_FULL = 1_800, 18_000
"""Of 59 events each: 106,200 events, and a million with --full."""

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MEBI = 1 << 20


def measure(report: Report) -> None:
    """Fill a log, weigh it, archive two thirds of its jobs, and verify what is left."""
    stories = STORIES_FULL if report.full else STORIES
    with postgres(report) as server, TemporaryDirectory(prefix="jobledger-bench-") as place:
        url = server.database("archive")
        with ledger_engine(url) as service:
            report.say(f"filling the log with {stories} jobs")
            events = append_all(service, _stories(stories))
        report.setting("log", f"{events} events of {stories} jobs; two thirds of the jobs are gone")
        with server.admin("archive") as admin:
            admin.execute("VACUUM ANALYZE")
        engine = open_engine(url)
        try:
            _weigh(report, engine)
            _archive(report, open_ledger(url, engine), Path(place))
            with server.admin("archive") as admin:
                admin.execute("VACUUM ANALYZE")
            _verify(report, open_ledger(url, engine), Path(place))
        finally:
            engine.dispose()


def _stories(number: int) -> Iterator[tuple[Story, list[Played]]]:
    """Yield jobs, each created a second after the one before; every third is still there."""
    manifest = rayjob("train")
    for index in range(number):
        story = Story(f"train-{index}", NOW - timedelta(seconds=number - index), manifest)
        yield story, list(story.whole(deleted=index % 3 > 0))


def _weigh(report: Report, engine: Engine) -> None:
    found = condition(engine)
    log, whole = found.log_bytes_per_million_events, found.bytes_per_million_events
    assert log is not None
    assert whole is not None
    report.figure("the log, per million events", log / MEBI, "MiB")
    report.figure("the log and all that follows from it", whole / MEBI, "MiB")


def _archive(report: Report, ledger: Ledger, place: Path) -> None:
    report.say("archiving")
    began = time.perf_counter()
    seal_new(ledger.seals, lambda: datetime.now(UTC), lambda *_: None, SealOptions())
    jobs = ledger.archives.candidates(Retention(gone_before=datetime.now(UTC)))
    parts = ArchiveParts(
        store=ledger.store,
        evidence=ledger.evidence,
        archives=ledger.archives,
        directory=place,
        schema="",
        now=lambda: datetime.now(UTC),
    )
    left = archive(parts, jobs, list(ledger.seals.seals()))
    seconds = time.perf_counter() - began
    assert left.jobs == len(jobs), "all of them"
    size = sum(file.stat().st_size for file in place.glob("*.gz"))
    records = sum(file.stat().st_size for file in place.glob("*.json"))
    report.figure("archive files, per million events", size / left.events * 1e6 / MEBI, "MiB")
    report.figure("archive records, per million events", records / left.events * 1e6 / MEBI, "MiB")
    report.figure(
        "archived, sealing and second reading included", left.events / seconds, "events/s"
    )


def _verify(report: Report, ledger: Ledger, place: Path) -> None:
    report.say("verifying what is left")
    began = time.perf_counter()
    assert not verify(ledger.engine, lambda *_: None).faults
    assert not check_seals(ledger.seals, None, None, lambda _: None).faults
    report.figure("verify of what is left", time.perf_counter() - began, "s")
    began = time.perf_counter()
    with closing(ArchivedLog(ledger.seals, place, lambda _: None)) as log:
        assert not check_seals(log, None, None, lambda _: None).faults
        assert not log.faults
    report.figure("the seals with the files", time.perf_counter() - began, "s")
