"""Whether base backup and WAL archive could restore the ledger: given facts, then sentences."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from jobledger.core.forensics.backups.checks import CHECKS
from jobledger.core.forensics.backups.facts import (
    Archiver,
    BackupFacts,
    BaseBackup,
    Slot,
    lsn,
    segment_name,
    segment_number,
    segment_of,
)
from jobledger.core.forensics.findings import Finding, Severity

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MIB = 1 << 20
SEGMENT = 16 * MIB

ARCHIVER = Archiver(
    mode="on",
    how="cp %p /archive/%f",
    archived=9,
    last_archived="000000010000000000000008",
    last_archived_at=NOW - timedelta(minutes=1),
    failed=2,
    last_failed="000000010000000000000003",
    last_failed_at=NOW - timedelta(days=2),
    timeout_seconds=60,
)
BASE = BaseBackup(
    place="/base",
    start=lsn("0/2000028"),
    started_at=NOW - timedelta(days=2),
    missing=(),
    has_manifest=True,
)
SOUND = BackupFacts(
    now=NOW,
    in_recovery=False,
    wal_level="replica",
    fsync=True,
    full_page_writes=True,
    segment_bytes=SEGMENT,
    position=lsn("0/9000100"),
    archiver=ARCHIVER,
    slots=(),
    receivers=0,
    last_event=100,
    last_event_at=NOW,
    sealed_to=90,
    sealed_at=NOW - timedelta(minutes=30),
    base=BASE,
    archive=frozenset(range(2, 9)),
    archive_place="/archive",
)
IDLE = Slot(name="left", active=False, wal_status="extended", kept_bytes=20 << 30)
HOUR_AGO = NOW - timedelta(hours=1)


def archiver(**changes: object) -> dict[str, Any]:
    return {"archiver": replace(ARCHIVER, **cast("Any", changes))}


def base(**changes: object) -> dict[str, Any]:
    return {"base": replace(BASE, **cast("Any", changes))}


ROWS: list[tuple[str, dict[str, Any], str, Severity, str]] = [
    ("minimal WAL", {"wal_level": "minimal"}, "durable", Severity.ERROR, "not enough to recover"),
    ("no fsync", {"fsync": False}, "durable", Severity.ERROR, "fsync is off"),
    ("half pages", {"full_page_writes": False}, "durable", Severity.WARNING, "half written"),
    ("a replica", {"in_recovery": True}, "archiving", Severity.NOTE, "is a replica"),
    ("no archiving", archiver(mode="off"), "archiving", Severity.ERROR, "nobody receives the WAL"),
    (
        "received in place of archived",
        {**archiver(mode="off"), "receivers": 1, "archive": None},
        "archiving",
        Severity.WARNING,
        "the WAL is received as it is written, nobody said where",
    ),
    ("no command", archiver(how=""), "archiving", Severity.ERROR, "neither archive_command nor"),
    (
        "the last try failed",
        archiver(last_failed_at=NOW),
        "archiving",
        Severity.ERROR,
        "failed 2 times, last with 000000010000000000000003 at 2026-11-21 12:00:00Z",
    ),
    (
        "never archived",
        archiver(last_archived_at=None, last_failed_at=None),
        "archiving",
        Severity.ERROR,
        "no file of the WAL was ever archived",
    ),
    (
        "archived late in spite of a time-out",
        archiver(last_archived_at=HOUR_AGO),
        "archiving",
        Severity.ERROR,
        "archived 1 h 0 min ago, and events came since",
    ),
    (
        "archived late without a time-out",
        archiver(last_archived_at=HOUR_AGO, timeout_seconds=0),
        "archiving",
        Severity.WARNING,
        "archived 1 h 0 min ago",
    ),
    ("an idle slot", {"slots": (IDLE,)}, "slots", Severity.WARNING, "keeps 20 GiB"),
    (
        "a lost slot",
        {"slots": (replace(IDLE, wal_status="lost"),)},
        "slots",
        Severity.ERROR,
        "the slot left has lost WAL",
    ),
    ("no base named", {"base": None}, "base-backup", Severity.WARNING, "is not known"),
    (
        "files are missing",
        base(missing=("a", "b", "c", "d")),
        "base-backup",
        Severity.ERROR,
        "/base lacks a, b, c and 1 more",
    ),
    ("no manifest", base(has_manifest=False), "base-backup", Severity.NOTE, "whether it is whole"),
    (
        "an old base",
        base(started_at=NOW - timedelta(days=30)),
        "base-backup",
        Severity.WARNING,
        "begun 30 days ago",
    ),
    ("no archive named", {"archive": None}, "wal-archive", Severity.NOTE, "nobody said where"),
    (
        "an empty archive",
        {"archive": frozenset()},
        "wal-archive",
        Severity.ERROR,
        "/archive is empty, and Postgres writes …0000000000000009",
    ),
    (
        "an archive that ends early",
        {"archive": frozenset(range(2, 8))},
        "wal-archive",
        Severity.ERROR,
        "/archive ends with …0000000000000007",
    ),
    (
        "a file is missing in between",
        {"archive": frozenset({2, 3, 5, 6, 7, 8})},
        "wal-archive",
        Severity.ERROR,
        "/archive lacks …0000000000000004, which recovery from /base needs",
    ),
    (
        "the file with which recovery begins",
        {"archive": frozenset(range(3, 9))},
        "wal-archive",
        Severity.ERROR,
        "lacks …0000000000000002",
    ),
    ("never sealed", {"sealed_to": 0, "sealed_at": None}, "seals", Severity.WARNING, "ever sealed"),
    (
        "sealed long ago",
        {"sealed_at": NOW - timedelta(days=3)},
        "seals",
        Severity.WARNING,
        "3 days old",
    ),
]


def judged(found: BackupFacts) -> list[Finding]:
    return [finding for check in CHECKS for finding in check.run(found)]


def test_against_a_backup_as_it_should_be_nothing_stands() -> None:
    assert judged(SOUND) == []


@pytest.mark.parametrize("changes", [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_stands_against_it_is_said(changes: tuple[dict[str, Any], str, Severity, str]) -> None:
    said, check, severity, part = changes
    found = [one for one in judged(replace(SOUND, **said)) if one.check == check]
    assert [one.severity for one in found][:1] == [severity], found
    assert part in found[0].what
    assert found[0].remedy


QUIET: dict[str, dict[str, Any]] = {
    "received, and named": {**archiver(mode="off"), "receivers": 1},
    "nothing happened since the last file": {
        **archiver(last_archived_at=HOUR_AGO),
        "last_event_at": NOW - timedelta(hours=2),
    },
    "an empty ledger": {"last_event": 0, "last_event_at": None, "sealed_to": 0, "sealed_at": None},
    "a slot that is read": {"slots": (replace(IDLE, active=True),)},
    "sealed long ago, and all of it": {"sealed_to": 100, "sealed_at": NOW - timedelta(days=3)},
    "the archive goes back further": {"archive": frozenset(range(9))},
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_no_reason_is_not_said(name: str) -> None:
    assert judged(replace(SOUND, **QUIET[name])) == []


def test_files_of_the_wal_are_counted_across_logs_and_timelines() -> None:
    last, first = "0000000100000001000000FF", "000000030000000200000000"
    numbers = segment_number(last, SEGMENT), segment_number(first, SEGMENT)
    assert numbers == (511, 512)
    assert segment_name(511, SEGMENT) == "…00000001000000FF"
    assert segment_of(lsn("1/FF000000"), SEGMENT) == 511
    assert segment_number("000000010000000000000002.00000028.backup", SEGMENT) is None
    with pytest.raises(ValueError, match="no position"):
        lsn("2000028")
