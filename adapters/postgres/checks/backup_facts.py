"""Reads what Postgres tells of its archiving, its slots, and of the newest event and seal."""

from typing import Any

from sqlalchemy import Engine, Row, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.core.forensics.backups.facts import Archiver, BackupFacts, Slot, lsn

_SERVER = text("""
    SELECT clock_timestamp() AS now, pg_is_in_recovery() AS in_recovery,
        current_setting('wal_level') AS wal_level,
        current_setting('fsync')::boolean AS fsync,
        current_setting('full_page_writes')::boolean AS full_page_writes,
        pg_size_bytes(current_setting('wal_segment_size')) AS segment_bytes,
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text
            ELSE pg_current_wal_insert_lsn()::text END AS position,
        current_setting('archive_mode') AS archive_mode,
        coalesce(nullif(current_setting('archive_library', true), ''),
            nullif(nullif(current_setting('archive_command'), '(disabled)'), ''), '') AS how,
        (SELECT setting::integer FROM pg_settings WHERE name = 'archive_timeout') AS timeout,
        (SELECT count(*) FROM pg_stat_replication) AS receivers
""")

_ARCHIVER = text("""
    SELECT archived_count, coalesce(last_archived_wal, '') AS last_archived, last_archived_time,
        failed_count, coalesce(last_failed_wal, '') AS last_failed, last_failed_time
    FROM pg_stat_archiver
""")

_SLOTS = text("""
    SELECT slot_name::text AS name, active, coalesce(wal_status, '') AS wal_status,
        coalesce(CASE WHEN pg_is_in_recovery() THEN 0
            ELSE pg_current_wal_insert_lsn() - restart_lsn END, 0)::bigint AS kept_bytes
    FROM pg_replication_slots ORDER BY slot_name
""")

_LEDGER = text("""
    SELECT coalesce(last.position, 0) AS position, last.recorded_at,
        coalesce(newest.last_position, 0) AS sealed_to,
        CAST(newest.document AS json) -> 'seal' ->> 'sealed_at' AS sealed_at
    FROM (SELECT) AS one
    LEFT JOIN (SELECT position, recorded_at FROM event ORDER BY position DESC LIMIT 1) AS last
        ON true
    LEFT JOIN (SELECT last_position, document FROM seal ORDER BY number DESC LIMIT 1) AS newest
        ON true
""")


def backup_facts(engine: Engine) -> BackupFacts:
    """Return what the server tells; base backup and archive are elsewhere.

    Raises:
        LedgerUnavailable: it cannot be reached.
        LedgerMisconfigured: this user may not read that.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        server = connection.execute(_SERVER).one()
        archiver = connection.execute(_ARCHIVER).one()
        slots = connection.execute(_SLOTS).all()
        ledger = connection.execute(_LEDGER).one()
    return BackupFacts(
        now=server.now,
        in_recovery=server.in_recovery,
        wal_level=server.wal_level,
        fsync=server.fsync,
        full_page_writes=server.full_page_writes,
        segment_bytes=server.segment_bytes,
        position=lsn(server.position),
        archiver=_archiver(server, archiver),
        slots=tuple(Slot(**slot._mapping) for slot in slots),  # noqa: SLF001 the public name of it
        receivers=server.receivers,
        last_event=ledger.position,
        last_event_at=ledger.recorded_at,
        sealed_to=ledger.sealed_to,
        sealed_at=ledger.sealed_at,
    )


def _archiver(server: Row[Any], told: Row[Any]) -> Archiver:
    return Archiver(
        mode=server.archive_mode,
        how=server.how,
        archived=told.archived_count,
        last_archived=told.last_archived,
        last_archived_at=told.last_archived_time,
        failed=told.failed_count,
        last_failed=told.last_failed,
        last_failed_at=told.last_failed_time,
        timeout_seconds=server.timeout,
    )
