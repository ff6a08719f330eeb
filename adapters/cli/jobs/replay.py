"""`jobledger replay`: compares recorded decisions with those of today's code."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import dossier, is_directory, is_file, ledger_to_read
from jobledger.adapters.cli.files.job_names import complete_job
from jobledger.adapters.cli.options import (
    PROCESSES_MAX,
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, fail, marked, show
from jobledger.adapters.cli.progressing import counting
from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.postgres.refolding.replaying import replay_all
from jobledger.core.forensics.replay.replay import Divergence, Replayed
from jobledger.core.forensics.replay.replay import replay as decide_again
from jobledger.core.values.counted import counted

BUNDLES = ("*.bundle", "*.bundle.gz")


def replay(
    job: Annotated[
        str | None,
        typer.Argument(
            autocompletion=complete_job,
            help="Name, namespace/name, UID or stream; a bundle; or a directory of bundles. "
            "Without it: every job of the ledger.",
        ),
    ] = None,
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    processes: Annotated[
        int | None,
        typer.Option(
            help="Processes that share many jobs. Without it: one per CPU.",
            min=1,
            max=PROCESSES_MAX,
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Refold a job and decide it again with today's code; show where that differs."""
    settings = settings_from(database_url, data_dir)
    if job is not None and (is_file(job) or not is_directory(job)):
        with dossier(settings, job, namespace, cluster) as found:
            name = f"{found.identity.namespace}/{found.identity.name}"
            results = {name: decide_again(item.record for item in found.events)}
    elif job is not None:
        results = dict(_directory(Path(job)))
        if not results:
            told = f"{job} is a directory, and holds no bundle ({', '.join(BUNDLES)})"
            fail(f"{told}; a job of that name is named by its namespace too", ExitCode.NOT_FOUND)
    else:
        with ledger_to_read(settings) as opened:
            results = _everything(opened, processes or os.cpu_count() or 1)
    _tell(results, output)
    if not all(result.is_reproduced for result in results.values()):
        raise typer.Exit(ExitCode.FOUND_WRONG)


def _everything(opened: Ledger, processes: int) -> dict[str, Replayed]:
    with counting("jobs") as told:
        decided = replay_all(opened.engine, told, processes)
        return {str(stream): found for stream, found in decided}


def _directory(path: Path) -> Iterator[tuple[str, Replayed]]:
    for file in sorted(file for pattern in BUNDLES for file in path.rglob(pattern)):
        yield (
            str(file.relative_to(path)),
            decide_again(item.record for item in read_file(file).events),
        )


def _tell(results: dict[str, Replayed], output: Output) -> None:
    if output is not Output.TABLE:
        rows = [
            {"job": job, "reproduced": result.is_reproduced, **asdict(result)}
            for job, result in results.items()
        ]
        show(output, rows, ())
        return
    for job, result in results.items():
        told = [_words(found) for found in result.divergences[:1]]
        told += [_words_of_unseen(found) for found in result.unknown[:1]]
        for words in told:
            console.print(marked(str(job), "red", f" {words}"), soft_wrap=True)
        more = len(result.divergences) + len(result.unknown) - len(told)
        if more > 0:
            console.print(f"  and {counted(more, 'more turn')} of it", style="dim")
    events = sum(result.events for result in results.values())
    turns = sum(result.turns for result in results.values())
    same = sum(result.is_reproduced for result in results.values())
    are = "is decided as it was" if len(results) == 1 else "are decided as they were"
    console.print(
        f"{same} of {counted(len(results), 'job')} {are}: {counted(turns, 'turn')}, "
        f"{counted(events, 'event')}"
    )


def _words_of_unseen(found: Divergence) -> str:
    event = f"version {found.version}: {found.recorded}"
    return f"{event} does not carry what was seen, so its turn is not decided again"


def _words(found: Divergence) -> str:
    place = f"version {found.version}"
    if not found.decided and found.recorded and not found.fields:
        return f"{place}: {found.recorded} is recorded, and would not be decided"
    if not found.recorded:
        return f"{place}: {found.decided} would be decided, and is not recorded"
    if found.fields:
        return f"{place}: {found.recorded} would be decided with {'; '.join(found.fields)}"
    return f"{place}: {found.recorded} is recorded, {found.decided} would be decided"
