"""`jobledger archive`: moves old jobs from the log into files, and lists the archives."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import asdict

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.finding import named
from jobledger.adapters.cli.ledger.seal import SealsDir
from jobledger.adapters.cli.options import (
    LIMIT_MAX,
    DatabaseUrl,
    DataDir,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, fail, marked, show
from jobledger.adapters.cli.periods import instant
from jobledger.adapters.cli.progressing import progressing
from jobledger.adapters.forensic_wiring import archive_parts, seal_log
from jobledger.adapters.forensics.archive_files import check_file
from jobledger.adapters.forensics.archiving import Left
from jobledger.adapters.forensics.archiving import archive as archive_jobs
from jobledger.adapters.ledger_wiring import ledger
from jobledger.adapters.postgres.archive.archives import Retention
from jobledger.core.errors import BrokenChain, LedgerMisconfigured
from jobledger.core.jobs.rows import JobRow
from jobledger.core.values.counted import counted

app = typer.Typer(help="Archives: jobs that are long over, in files instead of the log.")

CANDIDATES = ("name", "namespace", "kind", "phase", "version", "created_at", "deleted_at")
RECORDS = ("number", "file", "jobs", "events", "still_in_the_log", "made_at", "digest")

ArchiveDir = Annotated[
    Path,
    typer.Option(
        "--to", envvar="JOBLEDGER_ARCHIVE_DIR", help="Directory of the files.", show_default=False
    ),
]


@app.command()
def create(
    to: ArchiveDir,
    older_than: Annotated[
        str,
        typer.Option(help="Jobs whose objects were gone before this: 90d, 2026-01-01."),
    ] = "90d",
    failed_older_than: Annotated[
        str, typer.Option(help="The same for jobs that failed. Without it: as the others.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option(help="At most so many jobs, the oldest.", min=1, max=LIMIT_MAX)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would go; change nothing.")
    ] = False,
    seals: SealsDir = None,
    key: Annotated[
        Path | None,
        typer.Option(
            envvar="JOBLEDGER_SEAL_KEY_FILE",
            help="Private key that seals and archive records are signed with (PEM, Ed25519).",
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Write jobs that are over and gone into files, then take them out of the log.

    Needs the owner of the tables: the service's user may not remove anything.
    """
    settings = settings_from(database_url, data_dir, seals_dir=seals, seal_key_file=key)
    wanted = Retention(
        gone_before=instant(older_than),
        failed_gone_before=instant(failed_older_than) if failed_older_than else None,
    )
    with ledger(settings, role="") as opened:
        jobs = opened.archives.candidates(wanted)[:limit]
        if dry_run:
            _tell_candidates(jobs, output)
            return
        with opened.archives.alone(), progressing() as progress:
            seal_log(settings, opened.engine)
            tasks = {what: progress.add_task(what, total=None) for what in ("write", "remove")}
            parts = archive_parts(
                settings,
                opened,
                to,
                lambda what, done, total: progress.update(tasks[what], completed=done, total=total),
            )
            left = archive_jobs(parts, jobs, list(opened.seals.seals()))
            swept = opened.archives.sweep_evidence()
    _tell_left(left, swept, output)


@app.command("list")
def list_(
    job: Annotated[str, typer.Argument(help="Only where this job is: a name or a UID.")] = "",
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """List the archive records, or where one job is."""
    with ledger(settings_from(database_url, data_dir)) as opened:
        if job:
            space, name = named(job)
            rows: Sequence[Mapping[str, object]] = opened.archives.find(name, space)
            if not rows:
                fail(f"no job {job} is in an archive", ExitCode.NOT_FOUND)
            columns: Iterable[str] = ("namespace", "name", "kind", "version", "archive", "file")
        else:
            pending = opened.archives.pending()
            rows = [
                {**row, "digest": row["digest"].hex(), "still_in_the_log": pending.get(number, 0)}
                for row in opened.archives.summary()
                if (number := row["number"])
            ]
            columns = RECORDS
    show(output, rows, columns, "no archives")


@app.command()
def verify(
    to: ArchiveDir,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Read every archive file of the ledger, and hold it against its record.

    `jobledger verify --archives` holds their events against the seals as well.
    """
    found: list[dict[str, object]] = []
    with (
        ledger(settings_from(database_url, data_dir)) as opened,
        progressing() as progress,
    ):
        task = progress.add_task("archives", total=len(opened.archives.summary()))
        for record in opened.archives.records():
            fault = ""
            try:
                check_file(to / record.file.name, record.file, record.jobs)
            except (BrokenChain, LedgerMisconfigured) as error:
                fault = str(error)
            found.append(
                {
                    "number": record.number,
                    "file": record.file.name,
                    "jobs": len(record.jobs),
                    "events": record.events,
                    "found": fault or "as its record says",
                }
            )
            progress.advance(task)
            if fault:
                found[-1]["fault"] = fault
    show(output, found, ("number", "file", "jobs", "events", "found"), "no archives")
    if any("fault" in row for row in found):
        raise typer.Exit(ExitCode.FOUND_WRONG)


def _tell_candidates(jobs: Sequence[JobRow], output: Output) -> None:
    show(output, [asdict(job) for job in jobs], CANDIDATES, "no jobs to archive")
    if output is Output.TABLE:
        events = sum(job.version for job in jobs)
        told = f" {counted(len(jobs), 'job')} with {counted(events, 'event')}; nothing was changed"
        console.print(marked("would go", "yellow", told))


def _tell_left(left: Left, swept: int, output: Output) -> None:
    if output is not Output.TABLE:
        told = {
            "jobs": left.jobs,
            "events": left.events,
            "partitions": left.partitions,
            "evidence_removed": swept,
            "archives": [
                {"number": record.number, "file": record.file.name, "jobs": len(record.jobs)}
                for record in left.records
            ],
        }
        show(output, [told], ())
        return
    gone = len(left.partitions)
    dropped = f", {counted(gone, 'partition')} dropped" if gone else ""
    told_ = f" {counted(left.jobs, 'job')} with {counted(left.events, 'event')}{dropped}"
    console.print(marked("archived", "green", told_))
    for record in left.records:
        console.print(f"{record.file.name}: {counted(len(record.jobs), 'job')}", soft_wrap=True)
