"""Reads what Postgres tells of its archiving, its slots, and of the newest event and seal."""

from sqlalchemy import Engine, text

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
        current_setting('archive_mode') AS mode,
        coalesce(nullif(current_setting('archive_library', true), ''),
            nullif(nullif(current_setting('archive_command'), '(disabled)'), ''), '') AS how,
        (SELECT setting::integer FROM pg_settings WHERE name = 'archive_timeout')
            AS timeout_seconds,
        (SELECT count(*) FROM pg_stat_replication) AS receivers
""")

_ARCHIVER = text("""
    SELECT archived_count AS archived, coalesce(last_archived_wal, '') AS last_archived,
        last_archived_time AS last_archived_at, failed_count AS failed,
        coalesce(last_failed_wal, '') AS last_failed, last_failed_time AS last_failed_at
    FROM pg_stat_archiver
""")

_SLOTS = text("""
    SELECT slot_name::text AS name, active, coalesce(wal_status, '') AS wal_status,
        coalesce(CASE WHEN pg_is_in_recovery() THEN 0
            ELSE pg_current_wal_insert_lsn() - restart_lsn END, 0)::bigint AS kept_bytes
    FROM pg_replication_slots ORDER BY slot_name
""")

_LEDGER = text("""
    SELECT coalesce(last.position, 0) AS last_event, last.recorded_at AS last_event_at,
        coalesce(newest.last_position, 0) AS sealed_to,
        CAST(CAST(newest.document AS json) -> 'seal' ->> 'sealed_at' AS timestamptz) AS sealed_at
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
        server, archiver, ledger = (
            dict(connection.execute(asked).mappings().one())
            for asked in (_SERVER, _ARCHIVER, _LEDGER)
        )
        slots = tuple(Slot(**row) for row in connection.execute(_SLOTS).mappings())
    archiver |= {name: server.pop(name) for name in ("mode", "how", "timeout_seconds")}
    server["position"] = lsn(server["position"])
    return BackupFacts(**server, **ledger, archiver=Archiver(**archiver), slots=slots)
