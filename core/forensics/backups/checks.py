"""Judges whether the ledger could be restored to now; each check says what stands against it.

Source: PostgreSQL's documentation, chapter "Continuous Archiving and Point-in-Time Recovery".
"""

from collections.abc import Iterator
from datetime import timedelta

from jobledger.core.forensics.backups.facts import BackupFacts, segment_name, segment_of
from jobledger.core.forensics.findings import Check, Finding, error, note, warning
from jobledger.core.values.counted import counted

BASE_AGE_MAX = timedelta(days=8)
"""An older base backup takes long to recover from; one a week, and a day of grace."""

ARCHIVE_LATE_MAX = timedelta(minutes=15)
"""WAL that was begun should not be out of the archive for longer."""

SLOT_BYTES_MAX = 10 << 30
"""A slot that nobody reads should not keep more WAL than this: the disk fills up."""

UNSEALED_MAX = timedelta(hours=25)
"""What a restored ledger is held against should not be older."""

SHOWN_MAX = 3


def durable(found: BackupFacts) -> Iterator[Finding]:
    """Yield settings with which no backup is worth anything."""
    if found.wal_level == "minimal":
        what = "wal_level is minimal: the WAL is not enough to recover from"
        yield error("durable", what, "ALTER SYSTEM SET wal_level = replica; and restart Postgres")
    if not found.fsync:
        what = "fsync is off: a crash of the machine may destroy the ledger and its backups"
        yield error("durable", what, "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();")
    if not found.full_page_writes:
        what = "full_page_writes is off: pages that were half written cannot be mended"
        remedy = "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();"
        yield warning("durable", what, remedy)


def archiving(found: BackupFacts) -> Iterator[Finding]:
    """Yield what keeps the WAL from being archived."""
    archiver = found.archiver
    if found.in_recovery:
        what = "this server is a replica: what the primary archives is not known here"
        yield note("archiving", what, "ask the primary")
        return
    if archiver.mode == "off":
        yield from _without_archiving(found)
        return
    if not archiver.how:
        what = "archive_mode is on, and there is neither archive_command nor archive_library"
        yield error("archiving", what, "set one: files wait for it, and fill the disk")
    elif archiver.last_failed_at is not None and (
        archiver.last_archived_at is None or archiver.last_failed_at > archiver.last_archived_at
    ):
        what = f"the archiver failed {counted(archiver.failed, 'time')}, last with "
        what += f"{archiver.last_failed} at {archiver.last_failed_at:%Y-%m-%d %H:%M:%SZ}, "
        what += "and has not succeeded since"
        yield error("archiving", what, "look into Postgres' log; files wait, and fill the disk")
    elif archiver.last_archived_at is None:
        what = "no file of the WAL was ever archived"
        yield error("archiving", what, "SELECT pg_switch_wal(); and see whether one comes")
    else:
        yield from _late(found, found.now - archiver.last_archived_at)


def _without_archiving(found: BackupFacts) -> Iterator[Finding]:
    """Yield what is lost without; what is received and named is judged by its files."""
    if not found.receivers:
        what = "archive_mode is off, and nobody receives the WAL: what came after the last base "
        what += "backup would be lost"
        remedy = "set archive_mode and archive_command, or run pg_receivewal; or dump often enough"
        yield error("archiving", what, remedy)
    elif found.archive is None:
        what = "archive_mode is off; the WAL is received as it is written, nobody said where"
        remedy = "name what pg_receivewal writes with --wal-archive; a replica alone is no backup"
        yield warning("archiving", what, remedy)


def _late(found: BackupFacts, age: timedelta) -> Iterator[Finding]:
    """Yield that events wait for the archive: they are newer than its last file."""
    archived_at = found.archiver.last_archived_at
    if found.last_event_at is None or archived_at is None or found.last_event_at <= archived_at:
        return
    if age > ARCHIVE_LATE_MAX:
        what = f"the last file of the WAL was archived {_words(age)} ago, and events came since"
        if found.archiver.timeout_seconds:
            yield error("archiving", what, "look into Postgres' log why none is archived")
            return
        remedy = "ALTER SYSTEM SET archive_timeout = '60s'; SELECT pg_reload_conf(); then no "
        yield warning("archiving", what, f"{remedy}more than a minute can be lost")


def slots(found: BackupFacts) -> Iterator[Finding]:
    """Yield slots that have lost what they should keep, or keep it for nobody."""
    for slot in found.slots:
        if slot.wal_status == "lost":
            what = f"the slot {slot.name} has lost WAL: whoever reads from it has a gap"
            yield error("slots", what, "take a base backup anew, and make the slot anew")
        elif not slot.active and slot.kept_bytes > SLOT_BYTES_MAX:
            what = f"the slot {slot.name} is read by nobody and keeps {slot.kept_bytes >> 30} GiB"
            yield warning("slots", what, "start its reader, or SELECT pg_drop_replication_slot(…)")


def base_backup(found: BackupFacts) -> Iterator[Finding]:
    """Yield what is wrong with the base backup."""
    base = found.base
    if base is None:
        what = "which base backup there is is not known: Postgres does not say"
        remedy = "name the directory with --base-backup, or ask the tool that made it"
        yield warning("base-backup", what, remedy)
        return
    if base.missing:
        named = ", ".join(base.missing[:SHOWN_MAX])
        more = f" and {len(base.missing) - SHOWN_MAX} more" if len(base.missing) > SHOWN_MAX else ""
        what = f"{base.place} lacks {named}{more}, or has them in another size"
        yield error("base-backup", what, "take it anew; pg_verifybackup says more")
    if not base.has_manifest:
        what = f"{base.place} has no backup_manifest: whether it is whole is not known"
        yield note("base-backup", what, "pg_basebackup writes one unless told not to")
    age = found.now - base.started_at
    if age > BASE_AGE_MAX:
        what = f"the base backup was begun {_words(age)} ago"
        yield warning("base-backup", what, "take one each week: recovery reads all WAL since")


def wal_archive(found: BackupFacts) -> Iterator[Finding]:
    """Yield files that are missing between the base backup and now."""
    if found.archive is None:
        if found.archiver.mode != "off":
            what = "whether the archive has all files is not known: nobody said where it is"
            remedy = "name the directory with --wal-archive, or ask the tool that keeps it"
            yield note("wal-archive", what, remedy)
        return
    last = max(found.archive, default=-1)
    now = segment_of(found.position, found.segment_bytes)
    if last < now - 1:
        what = f"{found.archive_place} ends with {segment_name(last, found.segment_bytes)}"
        what = f"{found.archive_place} is empty" if last < 0 else what
        what += f", and Postgres writes {segment_name(now, found.segment_bytes)}"
        yield error("wal-archive", what, "what is not in it would be lost: see archiving")
    if found.base is None:
        return
    first = segment_of(found.base.start, found.segment_bytes)
    missing = [number for number in range(first, last + 1) if number not in found.archive]
    if last < first or missing:
        lacking = segment_name(missing[0] if missing else first, found.segment_bytes)
        what = f"{found.archive_place} lacks {lacking}, which recovery from {found.base.place} "
        what += "needs: it would end there"
        yield error("wal-archive", what, "take a base backup anew, now")


def proofs(found: BackupFacts) -> Iterator[Finding]:
    """Yield that a restored ledger could be held against nothing."""
    if found.last_event <= found.sealed_to:
        return
    if found.sealed_at is None:
        what = "nothing was ever sealed: what is restored could be held against nothing"
        yield warning("seals", what, "`jobledger seal add --seals DIRECTORY`, best on a schedule")
    elif found.now - found.sealed_at > UNSEALED_MAX:
        what = f"the last seal is {_words(found.now - found.sealed_at)} old, and events came since"
        yield warning("seals", what, "let the service seal, or `jobledger seal add` on a schedule")


def _words(age: timedelta) -> str:
    hours, seconds = divmod(int(age.total_seconds()), 3600)
    if hours >= 48:  # noqa: PLR2004 two days
        return f"{hours // 24} days"
    return f"{hours} h {seconds // 60} min" if hours else f"{seconds // 60} min"


CHECKS: tuple[Check[BackupFacts], ...] = (
    Check(name="durable", asks="Does Postgres write what it says it wrote?", run=durable),
    Check(name="archiving", asks="Does the WAL leave this server as it is written?", run=archiving),
    Check(name="slots", asks="Do slots keep what they should, and not for nobody?", run=slots),
    Check(name="base-backup", asks="Is there a base backup, whole and not old?", run=base_backup),
    Check(
        name="wal-archive",
        asks="Has the archive every file from the base backup to now?",
        run=wal_archive,
    ),
    Check(name="seals", asks="Could a restored ledger be held against seals?", run=proofs),
)
"""All checks, in the order in which they are made."""
