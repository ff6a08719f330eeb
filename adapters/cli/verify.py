"""`jobledger verify`: is the log as it was written? Names the first row that is not."""

from dataclasses import asdict

import typer
from rich.progress import Progress

from adapters.cli.exit_codes import ExitCode
from adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from adapters.cli.output import Output, console, errors, show
from adapters.postgres.verify import VerifyReport
from adapters.postgres.verify import verify as walk
from adapters.wiring import ledger


def verify(
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Check every hash, link, version and position of the log."""
    settings = settings_from(database_url, data_dir)
    with ledger(settings) as opened, Progress(console=errors, transient=True) as progress:
        task = progress.add_task("verify", total=None)

        def advance(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        report = walk(opened.engine, advance)
    _tell(report, output)
    if report.faults:
        raise typer.Exit(ExitCode.FOUND_WRONG)


def _tell(report: VerifyReport, output: Output) -> None:
    if output is not Output.TABLE:
        show(output, [asdict(report)], ())
        return
    if not report.faults:
        console.print(
            f"[green]verified[/] {report.events} events of {report.streams} jobs: "
            "every hash, link, version and position is as written"
        )
        return
    for fault in report.faults:
        place = f"position {fault.position}, stream {fault.stream_id}, version {fault.version}"
        console.print(f"[red]{fault.kind}[/] at {place}: {fault.what}", soft_wrap=True)
