"""`jobledger db`: creates, upgrades and inspects the schema of the database."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.ledger.database_condition import as_document, tell
from jobledger.adapters.cli.ledger.prices import show_or_put
from jobledger.adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from jobledger.adapters.cli.output import Output, console, fail, show
from jobledger.adapters.ledger_wiring import database, user_engine
from jobledger.adapters.postgres.log.replicas import PostgresReplicas
from jobledger.adapters.postgres.schema import version as schema_version
from jobledger.adapters.postgres.verifying.condition import condition

app = typer.Typer(help="The database of the ledger.", no_args_is_help=True)
app.command("prices")(show_or_put)


@app.command()
def upgrade(
    revision: Annotated[str, typer.Option(help="Revision to go up to.")] = "head",
    beside_others: Annotated[
        bool,
        typer.Option(
            "--beside-others", help="Make a ledger also where tables of other programs are."
        ),
    ] = False,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Bring the schema up to what this program needs, with its roles and their rights."""
    with database(settings_from(database_url, data_dir)) as address:
        try:
            schema_version.upgrade(address, revision, beside_others=beside_others)
        except schema_version.NoSuchRevision as error:
            fail(str(error), ExitCode.USAGE)
        found = schema_version.status(address)
    console.print(Text.assemble("schema ", (str(found.current), "green")))


@app.command()
def status(
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show schema, sizes, partitions, dead rows, what lags behind, and what to do about it.

    Of a database whose schema is not the one that this program needs, only the schema.
    """
    with database(settings_from(database_url, data_dir)) as address:
        schema = schema_version.status(address)
        state = None
        if schema.is_current:
            with user_engine(address) as engine:
                state = condition(engine), PostgresReplicas(engine).holders()
    found = asdict(schema)
    if output is not Output.TABLE:
        whole = {**found, **(as_document(*state) if state is not None else {})}
        show(output, [whole], ())
        return
    found["pending"] = ", ".join(found["pending"]) or "none"
    show(output, [found], ("current", "head", "pending", "newer"))
    if not schema.usable:
        refusal = str(schema_version.refusal(address, schema))
        console.print(Text(f"\n{refusal}", style="yellow"), soft_wrap=True)
    if state is not None:
        console.print()
        tell(*state)


@app.command()
def downgrade(
    revision: Annotated[str, typer.Argument(help="Revision to go back to; base removes all.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Take the schema back; going back to base removes the ledger and all it holds.

    Refused while a service works on it: it would stand still, or lose its memory.
    """
    if not yes:
        typer.confirm(f"Take the ledger back to {revision}?", abort=True)
    with database(settings_from(database_url, data_dir)) as address:
        with user_engine(address) as engine:
            alive = PostgresReplicas(engine).alive()
        if alive:
            fail(
                f"a service works on this ledger: {', '.join(alive)}; nothing was changed; stop it "
                "first (one that was killed is gone once its lease has ended)",
                ExitCode.MISCONFIGURED,
            )
        try:
            schema_version.downgrade(address, revision)
        except schema_version.NoSuchRevision as error:
            fail(str(error), ExitCode.USAGE)
    console.print(Text.assemble("schema ", (str(revision), "yellow")))


@app.command()
def url(database_url: DatabaseUrl = "", data_dir: DataDir = None) -> None:
    """Print the URL of the database, password included: psql "$(jobledger db url)".

    A private server answers under it as long as `jobledger run` keeps it running.
    """
    with database(settings_from(database_url, data_dir)) as found:
        typer.echo(found.replace("postgresql+psycopg://", "postgresql://"))
