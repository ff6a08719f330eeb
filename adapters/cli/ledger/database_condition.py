"""Prints the condition of the database for `jobledger db status`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from rich.text import Text

from jobledger.adapters.cli.ledger.findings import as_row
from jobledger.adapters.cli.output import console, print_table
from jobledger.adapters.postgres.checks.housekeeping import CHECKS
from jobledger.adapters.postgres.log.replicas import Holder
from jobledger.adapters.postgres.verifying.condition import Condition
from jobledger.core.forensics.findings import Finding, Severity
from jobledger.core.values.counted import counted

TABLES = ("table", "rows", "dead_rows", "size", "vacuumed_at", "analyzed_at")
HOLDERS = ("replica", "shards", "held_until")
KIBI = 1024


def findings_of(found: Condition) -> list[Finding]:
    """Return what is not in order."""
    return [finding for check in CHECKS for finding in check.run(found)]


def as_document(found: Condition, holders: Sequence[Holder]) -> dict[str, object]:
    """Return everything for machines."""
    derived = {
        "events": found.events,
        "bytes": found.bytes,
        "bytes_per_million_events": found.bytes_per_million_events,
        "log_bytes_per_million_events": found.log_bytes_per_million_events,
        "months_missing": list(found.months_missing),
        "replicas": [asdict(holder) for holder in holders],
        "warnings": [as_row(item) for item in findings_of(found)],
    }
    return {**asdict(found), "tables": [asdict(item) for item in found.tables], **derived}


def tell(found: Condition, holders: Sequence[Holder]) -> None:
    """Print everything for people."""
    for name, told in _lines(found):
        console.print(Text.assemble((f"{name:<16}", "bold"), told), soft_wrap=True)
    console.print()
    print_table([_table_row(asdict(item)) for item in found.tables], TABLES)
    if holders:
        console.print()
        rows = [{**asdict(item), "replica": item.owner or "(free)"} for item in holders]
        print_table(rows, HOLDERS)
    for finding in findings_of(found):
        told = f"{finding.check}: {finding.what}. {finding.remedy}"
        style = "dim" if finding.severity is Severity.NOTE else "yellow"
        console.print(Text(told, style=style), soft_wrap=True)


def _lines(found: Condition) -> Iterator[tuple[str, str]]:
    yield "server", f"PostgreSQL {found.server}; autovacuum {'on' if found.autovacuum else 'off'}"
    owner = "the owner of the tables" if found.is_owner else f"the owner is {found.owner}"
    yield "user", f"{found.user}, {owner}"
    events = counted(found.events, "event")
    yield "log", f"{events}, {size(found.bytes)} with everything that follows from it"
    if found.bytes_per_million_events is not None:
        log, whole = found.log_bytes_per_million_events or 0, found.bytes_per_million_events
        yield "per million", f"{size(log)} of log, {size(whole)} in all, for each million events"
    missing = ", ".join(found.months_missing)
    coming = f"missing: {missing}" if missing else "this month and the next two are there"
    yield "partitions", f"{len(found.partitions)}; {coming}"
    yield "open jobs", _open(found)
    yield "sealed", f"up to position {found.sealed_to} of {found.last_position}"
    yield "archived", _archived(found)
    yield "reports", f"{counted(found.last_position - found.reported_to, 'event')} behind the log"


def _open(found: Condition) -> str:
    if found.oldest_open is None:
        return "none"
    oldest = found.oldest_open
    made = oldest["created_at"]
    when = f" of {made:%Y-%m-%d %H:%M:%S}" if isinstance(made, datetime) else ""
    name = f"{oldest['namespace']}/{oldest['name']}"
    return f"{found.open_jobs}; the oldest is {oldest['kind']} {name}{when}"


def _archived(found: Condition) -> str:
    if not found.archives:
        return "nothing"
    left = f", {found.archived_still_here} of them still here" if found.archived_still_here else ""
    return (
        f"{counted(found.archived_jobs, 'job')} with {counted(found.archived_events, 'event')} "
        f"in {counted(found.archives, 'file')}{left}"
    )


def _table_row(row: Mapping[str, object]) -> dict[str, object]:
    number = row["bytes"]
    return {**row, "size": size(number) if isinstance(number, int) else ""}


def size(count: int) -> str:
    """Return a number of bytes as people read it."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < KIBI:
            return f"{amount:.0f} {unit}"
        amount /= KIBI
    return f"{amount:.1f} GiB"
