"""`jobledger rebuild`: recomputes the projections, to compare them or to replace their rows."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from jobledger.adapters.cli.output import Output, console, errors, marked, show
from jobledger.adapters.cli.progressing import counting
from jobledger.adapters.forensics.archive_files import checked
from jobledger.adapters.ledger_wiring import Ledger, ledger, report_rules, user_engine
from jobledger.adapters.postgres.refolding.all_jobs import rebuild_all
from jobledger.adapters.postgres.reports.projecting.archived import jobs_without_facts
from jobledger.adapters.postgres.reports.projecting.checkpoint import wrong_checkpoint
from jobledger.adapters.postgres.reports.projecting.dimensions import wrong_dimensions
from jobledger.adapters.postgres.reports.projecting.rebuild import check_reports, rebuild_reports
from jobledger.adapters.postgres.verifying.orphans import orphans, remove_orphans
from jobledger.adapters.settings import Settings
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.projections.differences import Difference
from jobledger.core.values.counted import counted

COLUMNS = ("table", "key", "column", "found", "expected")

_LEFT = (
    "jobledger: not all of it could be put right. Rows of no job, and rows of report_dimension, "
    "are changed by the owner of the tables alone: run this as the user of `jobledger db upgrade`. "
    "Rows of a stream that has events stay in any case: `jobledger verify` says what is wrong."
)


def rebuild(
    check: Annotated[bool, typer.Option("--check", help="Only compare; change nothing.")] = False,
    reports: Annotated[
        bool,
        typer.Option("--reports", help="The tables behind the reporting views, instead of those."),
    ] = False,
    archives: Annotated[
        Path | None,
        typer.Option(
            envvar="JOBLEDGER_ARCHIVE_DIR",
            help="With --reports: directory of the archives; what reports say of archived jobs is "
            "computed from their files. Without it, it stays as it is.",
            show_default=False,
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Compute job, attempt, decision and effect anew from the log, while the service runs."""
    settings = settings_from(database_url, data_dir)
    with ledger(settings) as opened:
        if reports:
            jobs, found, left = _of_reports(settings, opened, archives, check=check)
            _tell_lacking(jobs_without_facts(opened.engine))
        else:
            jobs, found, left = _of_jobs(opened, check=check)
    _tell(jobs, found, output, check=check)
    if left:
        errors.print(_LEFT, style="red", soft_wrap=True)
    if left or (found and check):
        raise typer.Exit(ExitCode.FOUND_WRONG)


def _of_jobs(opened: Ledger, *, check: bool) -> tuple[int, list[Difference], list[Difference]]:
    """Compare or replace the rows of jobs.

    Return of how many jobs, what was different, and what of that nobody put right.
    """
    with counting("fold") as told:
        found = list(rebuild_all(opened.engine, told, os.cpu_count() or 1, check=check))
    lost = orphans(opened.engine)
    if lost and not check:
        with user_engine(opened.url) as owner:
            remove_orphans(owner)
    left = orphans(opened.engine) if lost and not check else []
    return told.done, [*found, *lost], left


def _of_reports(
    settings: Settings, opened: Ledger, archives: Path | None, *, check: bool
) -> tuple[int, list[Difference], list[Difference]]:
    """Compare or replace the reporting tables; what it returns is as for jobs."""
    rules = report_rules(settings)
    archived = _archived(opened, archives) if archives is not None else ()
    with counting("fold") as told:
        if check:
            found = list(check_reports(opened.engine, rules, told, archived, os.cpu_count() or 1))
            return told.done, found, []
        with user_engine(opened.url) as owner:
            jobs = rebuild_reports(opened.engine, rules, told, os.cpu_count() or 1, owner, archived)
    left = [*wrong_checkpoint(opened.engine), *wrong_dimensions(opened.engine, rules)]
    return jobs, left, left


def _archived(opened: Ledger, directory: Path) -> Iterator[Sequence[StoredEvent]]:
    """Yield the events of every archived job, each file held against its record."""
    for record in opened.archives.records():
        for bundle in checked(directory / record.file.name, record.file, record.jobs):
            yield bundle.events


def _tell_lacking(jobs: int) -> None:
    if jobs:
        errors.print(
            f"jobledger: {counted(jobs, 'archived job')} in no report; `jobledger rebuild "
            "--reports --archives DIRECTORY` brings back what the files of the archives hold",
            style="yellow",
            soft_wrap=True,
        )


def _tell(jobs: int, found: Sequence[Difference], output: Output, *, check: bool) -> None:
    if output is not Output.TABLE:
        show(output, [asdict(item) for item in found], ())
    elif not found:
        done = "equal the fold of the log" if check else "are the fold of the log again"
        told = f" {counted(jobs, 'job')}: all rows and columns {done}"
        console.print(marked("rebuilt", "green", told))
    else:
        show(output, [asdict(item) for item in found], COLUMNS)
