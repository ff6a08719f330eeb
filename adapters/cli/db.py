"""`jobledger db`: the schema of the database."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from adapters.cli.output import Output, console, show
from adapters.ledger_wiring import database
from adapters.postgres import schema_version

app = typer.Typer(help="The database of the ledger.", no_args_is_help=True)


@app.command()
def upgrade(
    revision: Annotated[str, typer.Option(help="Revision to go up to.")] = "head",
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Bring the schema up to what this program needs; nothing happens if it is."""
    with database(settings_from(database_url, data_dir)) as address:
        schema_version.upgrade(address, revision)
        found = schema_version.status(address)
    console.print(Text.assemble("schema ", (str(found.current), "green")))


@app.command()
def status(
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show the revision of the database, and which migrations are still to come."""
    with database(settings_from(database_url, data_dir)) as address:
        found = asdict(schema_version.status(address))
    if output is Output.TABLE:
        found["pending"] = ", ".join(found["pending"]) or "none"
    show(output, [found], ("current", "head", "pending", "newer"))


@app.command()
def downgrade(
    revision: Annotated[str, typer.Argument(help="Revision to go back to; base removes all.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Take the schema back; going back to base removes the ledger and all it holds."""
    if not yes:
        typer.confirm(f"Take the ledger back to {revision}?", abort=True)
    with database(settings_from(database_url, data_dir)) as address:
        schema_version.downgrade(address, revision)
    console.print(Text.assemble("schema ", (str(revision), "yellow")))


@app.command()
def url(database_url: DatabaseUrl = "", data_dir: DataDir = None) -> None:
    """Print the URL of the database, password included: psql "$(jobledger db url)".

    A private server answers under it as long as `jobledger run` keeps it running.
    """
    with database(settings_from(database_url, data_dir)) as found:
        typer.echo(found.replace("postgresql+psycopg://", "postgresql://"))
