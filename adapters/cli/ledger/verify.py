"""`jobledger verify`: checks that the log is unchanged, and names the first row that is not."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.known_ledgers import tell_if_made
from jobledger.adapters.cli.ledger.seal import SealsDir
from jobledger.adapters.cli.options import (
    PROCESSES_MAX,
    DatabaseUrl,
    DataDir,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, marked, show
from jobledger.adapters.cli.progressing import Counter, progressing
from jobledger.adapters.forensics.archived_log import ArchivedLog
from jobledger.adapters.forensics.sealed import SealReport, check_seals
from jobledger.adapters.forensics.signing import judge
from jobledger.adapters.ledger_wiring import Ledger, ledger
from jobledger.adapters.postgres.verifying.seals import PostgresSeals
from jobledger.adapters.postgres.verifying.tables import beside_the_log
from jobledger.adapters.postgres.verifying.verify import WHOLE, Extent, VerifyReport
from jobledger.adapters.postgres.verifying.verify import verify as walk
from jobledger.core.forensics.seals.sealing import SealFault
from jobledger.core.values.counted import counted


def verify(
    first: Annotated[
        int, typer.Option("--from", help="First position.", min=1, max=WHOLE.last)
    ] = WHOLE.first,
    last: Annotated[
        int | None,
        typer.Option("--to", help="Last position. Without it: the end.", min=1, max=WHOLE.last),
    ] = None,
    seals: SealsDir = None,
    key: Annotated[
        Path | None,
        typer.Option(help="Public key that every seal must be signed by (PEM, Ed25519)."),
    ] = None,
    archives: Annotated[
        Path | None,
        typer.Option(
            envvar="JOBLEDGER_ARCHIVE_DIR",
            help="Directory of the archives: their files are read and held against the seals too.",
            show_default=False,
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            help="Processes that share a large log. Without it: one per CPU.",
            min=1,
            max=PROCESSES_MAX,
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Check every hash, link, version and position of the log, and hold it against its seals."""
    if last is not None and last < first:
        raise typer.BadParameter(f"--from {first} is after --to {last}")
    settings = settings_from(database_url, data_dir)
    extent = Extent(
        first=first, last=last or WHOLE.last, processes=processes or os.cpu_count() or 1
    )
    public = judge(key) if key is not None else None
    tell_if_made(settings)
    with ledger(settings) as opened, progressing() as progress:
        report = walk(opened.engine, Counter(progress, "events"), extent)
        task = progress.add_task("seals", total=opened.seals.last_position())
        log = _with_archives(opened, archives, progress)
        with contextlib.closing(log) if isinstance(log, ArchivedLog) else contextlib.nullcontext():
            sealed = check_seals(log, seals, public, lambda at: progress.update(task, completed=at))
        kept = list(beside_the_log(opened.engine)) if extent.is_all else []
    faults = [asdict(fault) for fault in report.faults]
    faults += [_beside(kind, what) for kind, what in kept]
    broken = [*(log.faults if isinstance(log, ArchivedLog) else ()), *sealed.faults]
    faults += [{**asdict(fault), "stream_id": fault.stream} for fault in broken]
    _tell(report, sealed, faults, output, log.files if isinstance(log, ArchivedLog) else None)
    if faults:
        raise typer.Exit(ExitCode.FOUND_WRONG)


def _beside(kind: str, what: str) -> dict[str, object]:
    """Return a fault that is at no place of the log."""
    return {"kind": kind, "position": 0, "stream_id": None, "version": 0, "what": what}


def _place(fault: Mapping[str, object]) -> str:
    """Return where a fault is, as far as it is at a place of the log."""
    parts = [f"position {fault['position']}"] if fault["position"] else []
    if fault["stream_id"] is not None:
        parts += [f"stream {fault['stream_id']}", f"version {fault['version']}"]
    return f" at {', '.join(parts)}" if parts else ""


def _with_archives(
    opened: Ledger, archives: Path | None, progress: Progress
) -> PostgresSeals | ArchivedLog:
    if archives is None:
        return opened.seals
    task = progress.add_task("archives", total=None)
    return ArchivedLog(opened.seals, archives, lambda _: progress.advance(task))


def _tell(
    report: VerifyReport,
    sealed: SealReport,
    faults: Sequence[Mapping[str, object]],
    output: Output,
    files: int | None,
) -> None:
    if output is not Output.TABLE:
        found = {"events": report.events, "streams": report.streams, "faults": faults}
        kept = {"seals": sealed.seals, "sealed_to": sealed.sealed_to, "key": sealed.signed_by}
        left = {"archived": report.archived, "archive_files": files}
        show(output, [{**found, **kept, **left}], ())
        return
    if not faults:
        console.print(
            marked(
                "verified",
                "green",
                f" {counted(report.events, 'event')} of {counted(report.streams, 'job')}: "
                "every hash, link, version and position is as written",
            )
        )
    for fault in faults:
        told = f"{_place(fault)}: {fault['what']}"
        console.print(marked(str(fault["kind"]), "red", told), soft_wrap=True)
    if told_of_seals := _of_seals(sealed):
        console.print(told_of_seals, style="dim")
    if report.archived:
        console.print(_of_archives(report.archived, files), style="dim")


def _of_archives(archived: int, files: int | None) -> str:
    have = "has" if archived == 1 else "have"
    told = f"{counted(archived, 'event')} {have} left the log by its archive records"
    if files is None:
        return f"{told}; `--archives DIRECTORY` reads their files too"
    held = "1 file holds what its record says" if files == 1 else ""
    return f"{told}; {held or f'{files} files hold what their records say'}"


def _of_seals(sealed: SealReport) -> str:
    if any(fault.kind is SealFault.SEAL for fault in sealed.faults):
        return ""  # how many there should be is not known
    if not sealed.seals:
        return "no seals: `jobledger seal add` makes one"
    signed = f", signed by {sealed.signed_by}" if sealed.signed_by else ", signatures not asked for"
    return f"held against {counted(sealed.seals, 'seal')} up to position {sealed.sealed_to}{signed}"
