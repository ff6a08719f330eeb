"""What Postgres and its own programs say of a backup, read and judged as they made it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from jobledger.adapters.forensics.base_backup import archived_segments, base_backup
from jobledger.adapters.forensics.sealed import SealOptions, seal_new
from jobledger.adapters.postgres.checks.backup_facts import backup_facts
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.verifying.seals import PostgresSeals
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.forensics.backups.checks import CHECKS, proofs
from jobledger.core.forensics.backups.facts import BackupFacts, segment_of
from jobledger.core.forensics.findings import Severity
from tests.failover.losses import PointInTime
from tests.failover.standby import asked
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.postgres import open_directory
from tests.support.records import StreamWriter, a_stream
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres
LIMIT_SECONDS = 60.0


@pytest.fixture
def owner(ledger_url: str) -> Iterator[Engine]:
    made = open_engine(ledger_url)
    ledger = postgres_ledger(made)
    ledger.take_all_shards()
    ledger.store.append([StreamWriter(a_stream()).next()])
    yield made
    made.dispose()


@contextmanager
def backed_up(url: str) -> Iterator[Path]:
    """Give a directory with a base backup in `data` and the WAL since in `archive`."""
    with open_directory() as directory:
        if os.geteuid() == 0:
            directory.chmod(0o777)
        made = PointInTime(url, directory)
        try:
            made.begin()
            yield directory
        finally:
            made.end()


def judged(found: BackupFacts) -> dict[str, str]:
    """Return check -> the first thing that stands against it."""
    return {
        finding.check: finding.what
        for check in CHECKS
        for finding in reversed(list(check.run(found)))
        if finding.severity is Severity.ERROR
    }


def test_a_base_backup_and_what_was_received_since_are_enough_until_a_file_is_gone(
    owner: Engine, ledger_url: str
) -> None:
    with backed_up(ledger_url) as place:
        asked(ledger_url, "SELECT pg_logical_emit_message(false, 'tests', 'a record')")
        (name,) = asked(ledger_url, "SELECT pg_walfile_name(pg_current_wal_lsn())")
        asked(ledger_url, "SELECT pg_switch_wal()")
        file = place / "archive" / str(name)
        wait_until(file.exists, "the file is received", LIMIT_SECONDS)
        asked(ledger_url, "SELECT pg_logical_emit_message(true, 'tests', 'another')")
        server = replace(backup_facts(owner), fsync=True)  # off in tests
        assert server.receivers > 0
        assert [slot.active for slot in server.slots] == [True]
        base = base_backup(place / "data")
        assert base.has_manifest
        assert base.missing == ()
        archive = archived_segments(place / "archive", server.segment_bytes)
        assert segment_of(base.start, server.segment_bytes) in archive
        whole = replace(server, base=base, archive=archive, archive_place="archive")
        assert judged(whole) == {}
        file.unlink()
        left = archived_segments(place / "archive", server.segment_bytes)
        assert judged(replace(whole, archive=left)).keys() == {"wal-archive"}
        (place / "data" / "PG_VERSION").write_text("")
        assert base_backup(place / "data").missing == ("PG_VERSION",)


def test_the_user_of_the_service_sees_the_same(owner: Engine, ledger_url: str) -> None:
    with app_engine(ledger_url) as service:
        found = backup_facts(service)
    same = backup_facts(owner)
    assert replace(found, now=same.now, position=same.position) == same
    assert (found.last_event, found.sealed_at) == (1, None)
    assert found.archiver.mode == "off"


def test_events_after_the_last_seal_are_judged_by_its_age(owner: Engine) -> None:
    sealed_at = datetime(2026, 11, 21, tzinfo=UTC)
    seal_new(PostgresSeals(owner), lambda: sealed_at, lambda *_: None, SealOptions())
    postgres_ledger(owner).store.append([StreamWriter(a_stream("later")).next()])
    found = backup_facts(owner)
    assert (found.last_event, found.sealed_to, found.sealed_at) == (2, 1, sealed_at)
    told = [one.what for one in proofs(replace(found, now=sealed_at + timedelta(days=3)))]
    assert told == ["the last seal is 3 days old, and events came since"]


def test_a_file_that_is_not_whole_yet_is_not_counted(tmp_path: Path) -> None:
    for name, size in (("000000010000000000000001", 64), ("000000010000000000000002", 63)):
        (tmp_path / name).write_bytes(b"\0" * size)
    below = tmp_path / "0000000100000000"
    below.mkdir()
    (below / "000000010000000000000003.gz").write_bytes(b"short")
    (below / "000000010000000000000004.partial").write_bytes(b"\0" * 64)
    (below / "00000002.history").write_bytes(b"")
    assert archived_segments(tmp_path, 64) == {1, 3}


def test_what_is_no_backup_and_no_archive_is_said(tmp_path: Path) -> None:
    with pytest.raises(LedgerMisconfigured, match="is no base backup in the plain format"):
        base_backup(tmp_path)
    with pytest.raises(LedgerMisconfigured, match="is no directory of an archive"):
        archived_segments(tmp_path / "none", 64)
