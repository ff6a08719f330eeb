"""Checks the upkeep of the database: partitions, vacuum, roles, seals, archives, reports."""

from collections.abc import Iterator
from datetime import timedelta

from jobledger.adapters.postgres.verifying.condition import Condition, TableCondition
from jobledger.core.forensics.findings import Check, Finding, error, note, warning
from jobledger.core.values.counted import counted

DEAD_ROWS_MIN = 10_000
DEAD_SHARE_MAX = 0.5
"""Of a table with so many dead rows, more than this share of all rows may not be dead."""

ANALYZE_ROWS_MIN = 10_000
"""A table with more rows should have been looked at by the planner once."""

LAG_EVENTS_MAX = 10_000
LAG_MAX = timedelta(minutes=1)
"""The reporting tables should not be further behind, nor for longer."""

UNSEALED_EVENTS_MAX = 1_000_000
"""More events should not be without a seal."""


def lags(events: int, waiting: timedelta) -> bool:
    """Return whether reports that are so many events behind, for so long, are a warning."""
    return events > LAG_EVENTS_MAX or waiting > LAG_MAX


def writes(found: Condition) -> Iterator[Finding]:
    """Yield why nothing can be written."""
    if found.standby:
        remedy = "let DATABASE_URL lead the service to the primary, or promote this one"
        yield error("writes", "this server is a standby: it refuses every write", remedy)
    elif found.only_reads:
        remedy = (
            "see what sets default_transaction_read_only (ALTER DATABASE, ALTER ROLE, "
            "postgresql.conf), and RESET it"
        )
        yield error("writes", "transactions only read here: every write is refused", remedy)
    if found.lacks_room:
        remedy = (
            "make room on the server's disk, or a larger one; `jobledger backup check` names a "
            "replication slot that fills it, `jobledger archive create` takes jobs out of the log"
        )
        yield error("writes", f"the disk of the database is full: {found.lacks_room}", remedy)


def roles(found: Condition) -> Iterator[Finding]:
    """Yield roles that are missing."""
    for role, is_there in (
        ("jobledger_app", found.app_role),
        ("jobledger_report", found.report_role),
    ):
        if not is_there:
            remedy = "as the owner of the tables: `jobledger db upgrade` makes it, with its rights"
            yield error("roles", f"there is no role {role}", remedy)
    if found.is_owner:
        what = f"this user ({found.user}) owns the tables"
        remedy = "let the service use a user of its own that is only a member of jobledger_app"
        yield note("roles", what, remedy)


def rights(found: Condition) -> Iterator[Finding]:
    """Yield what the service's role may not do and has to, and what it may do and must not."""
    for lacking in found.rights_lacking:
        what = f"jobledger_app has no right to {lacking}"
        yield error("rights", what, f"as the owner of the tables: GRANT {lacking} TO jobledger_app")
    for beyond in found.rights_beyond:
        what = f"jobledger_app may {beyond}, past the functions that guard the log"
        remedy = f"as the owner of the tables: REVOKE {beyond} FROM jobledger_app"
        yield error("rights", what, remedy)


def partitions(found: Condition) -> Iterator[Finding]:
    """Yield months without a partition, and what went astray for the want of one."""
    for name in found.months_missing:
        what = f"the partition {name} is missing"
        yield warning("partitions", what, "start the service: it makes them every six hours")
    for table in found.partitions:
        if table.table == "event_default" and table.rows > 0:
            what = f"event_default holds about {table.rows} events, which age out with no month"
            remedy = (
                "these jobs were made before or after all months that have a partition (a wrong "
                "clock, or jobs older than five years); archiving removes them like all others"
            )
            yield note("partitions", what, remedy)


def vacuum(found: Condition) -> Iterator[Finding]:
    """Yield tables that nobody cleans up."""
    if not found.autovacuum:
        remedy = "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();"
        yield error("vacuum", "autovacuum is off: dead rows are never cleared away", remedy)
    for table in found.tables:
        if _is_bloated(table):
            what = f"{table.table} has {table.dead_rows} dead rows beside {table.rows} live ones"
            remedy = f"VACUUM {table.table}; and look for a transaction that is open for long"
            yield warning("vacuum", what, remedy)
        elif table.analyzed_at is None and table.rows > ANALYZE_ROWS_MIN:
            what = f"the planner has never looked at {table.table} (about {table.rows} rows)"
            yield warning("vacuum", what, f"ANALYZE {table.table}; the running service does it")


def _is_bloated(table: TableCondition) -> bool:
    whole = table.rows + table.dead_rows
    return table.dead_rows > DEAD_ROWS_MIN and table.dead_rows > whole * DEAD_SHARE_MAX


def seals(found: Condition) -> Iterator[Finding]:
    """Yield what is wrong with the seals, and with how far the log is sealed."""
    if found.seals_fault is not None:
        remedy = "`jobledger verify --seals DIRECTORY` says more; docs/howto/prove-the-log.md"
        yield error("seals", found.seals_fault, remedy)
    unsealed = found.last_position - found.sealed_to
    if unsealed > UNSEALED_EVENTS_MAX:
        what = f"{unsealed} events are not sealed"
        remedy = (
            "set JOBLEDGER_SEAL_EVERY_SECONDS, or run `jobledger seal add`; it says what stops it"
        )
        yield warning("seals", what, remedy)


def archives(found: Condition) -> Iterator[Finding]:
    """Yield archives that were not carried to their end."""
    if found.archived_still_here:
        what = f"{counted(found.archived_still_here, 'archived job')} still in the log"
        remedy = "run `jobledger archive create` again with the same --to: it carries on"
        yield warning("archives", what, remedy)


def reports(found: Condition) -> Iterator[Finding]:
    """Yield reporting tables that are behind, or say to be further than the log."""
    lag = found.last_position - found.reported_to
    if lag < 0:
        what = (
            f"the reporting tables say to be at event {found.reported_to}, and the log ends with "
            f"{found.last_position}: what comes next would never be reported"
        )
        remedy = "`jobledger verify` says whether the log lost its end; then `rebuild --reports`"
        yield error("reports", what, remedy)
    since = found.unreported_since
    waiting = found.now - since if since is not None else timedelta()
    if lags(lag, waiting):
        what = f"the reporting tables are {counted(lag, 'event')} behind the log"
        if since is not None:
            what += f": the oldest was written down at {since:%Y-%m-%d %H:%M:%S} UTC"
        remedy = "start the service, which keeps them up; its log says what stops it"
        yield warning("reports", what, remedy)


CHECKS: tuple[Check[Condition], ...] = (
    Check(name="writes", asks="Does the database take writes?", run=writes),
    Check(name="roles", asks="Are the roles there?", run=roles),
    Check(name="rights", asks="May the service do what it has to, and no more?", run=rights),
    Check(name="partitions", asks="Have the coming months their partitions?", run=partitions),
    Check(name="vacuum", asks="Are dead rows cleared away, and tables analyzed?", run=vacuum),
    Check(
        name="seals",
        asks="Is the log sealed up to lately, and is no seal gone, put in or moved?",
        run=seals,
    ),
    Check(name="archives", asks="Was every archive carried to its end?", run=archives),
    Check(name="reports", asks="Are the reporting tables up to date?", run=reports),
)
