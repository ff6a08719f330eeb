"""`jobledger backup`: whether what is backed up could bring the ledger back to now."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.ledger.findings import asked, end_by, tell
from jobledger.adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from jobledger.adapters.cli.output import Output
from jobledger.adapters.forensics.base_backup import archived_segments, base_backup
from jobledger.adapters.ledger_wiring import database, user_engine
from jobledger.adapters.postgres.checks.backup_facts import backup_facts
from jobledger.core.forensics.backups.checks import CHECKS

app = typer.Typer(help="Backups of the database.", no_args_is_help=True)


@app.callback()
def backup() -> None:
    """Backups of the database."""


@app.command()
def check(
    base: Annotated[
        Path | None,
        typer.Option("--base-backup", help="Directory with the last base backup (pg_basebackup)."),
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option("--wal-archive", help="Directory in which files of the WAL are archived."),
    ] = None,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Check whether base backup and WAL archive could restore the ledger to now. Reads only.

    Ends with 1 if something stands against it. What a tool such as pgBackRest keeps in a form of
    its own, its own check knows better.
    """
    with database(settings_from(database_url, data_dir)) as address, user_engine(address) as engine:
        found = backup_facts(engine)
    if base is not None:
        found = replace(found, base=base_backup(base))
    if archive is not None:
        segments = archived_segments(archive, found.segment_bytes)
        found = replace(found, archive=segments, archive_place=str(archive))
    done = list(asked(CHECKS, lambda: found))
    tell(done, output)
    end_by(done)
