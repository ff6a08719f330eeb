"""`jobledger seal`: seals new events of the log, lists seals, makes a signing key."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from jobledger.adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from jobledger.adapters.cli.output import Output, console, show
from jobledger.adapters.forensic_wiring import seal_log
from jobledger.adapters.forensics.signing import make_keys, public_path
from jobledger.adapters.ledger_wiring import ledger
from jobledger.core.forensics.seals.seals import Seal

app = typer.Typer(help="Seals: what the log looked like, to be kept elsewhere.")

COLUMNS = ("number", "first", "last", "streams", "sealed_at", "signed_by", "digest")

SealsDir = Annotated[
    Path | None,
    typer.Option(
        "--seals",
        envvar="JOBLEDGER_SEALS_DIR",
        help="Directory in which each seal is kept as a file, best on another machine.",
        show_default=False,
    ),
]


@app.command()
def add(
    seals: SealsDir = None,
    key: Annotated[
        Path | None,
        typer.Option(
            envvar="JOBLEDGER_SEAL_KEY_FILE", help="Private key to sign with (PEM, Ed25519)."
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Check and seal every event that is not sealed yet."""
    settings = settings_from(database_url, data_dir, seals_dir=seals, seal_key_file=key)
    with ledger(settings) as opened:
        made = seal_log(settings, opened.engine)
    show(output, [row(seal) for seal in made], COLUMNS, "every event is sealed already")


@app.command("list")
def list_(
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """List the seals of the database."""
    with ledger(settings_from(database_url, data_dir)) as opened:
        rows = [row(seal) for seal in opened.seals.seals()]
    show(output, rows, COLUMNS, "no seals")


@app.command()
def key(
    path: Annotated[Path, typer.Argument(help="File of the private key; PATH.pub is the public.")],
) -> None:
    """Make a key pair: the private key signs seals, the public one checks them."""
    name = make_keys(path)
    told = f": {path} signs, {public_path(path)} checks"
    console.print(Text.assemble("key ", (name, "green"), told), soft_wrap=True)


def row(seal: Seal) -> dict[str, object]:
    """Return a seal as a line of a table."""
    return {
        "number": seal.number,
        "first": seal.first,
        "last": seal.last,
        "streams": len(seal.streams),
        "sealed_at": seal.sealed_at,
        "signed_by": seal.signature.key if seal.signature is not None else "",
        "digest": seal.digest.hex(),
    }
