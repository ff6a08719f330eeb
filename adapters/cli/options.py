"""Options that several commands share, and the settings that follow from them.

What is not given comes from the environment, then from the defaults.
"""

import os
import re
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from pydantic_settings import SettingsError

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import Output, errors, fail, marked
from jobledger.adapters.settings import Settings, mistyped

DatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database-url",
        envvar="DATABASE_URL",
        help="Postgres to use. Without it a private server is started in the data directory.",
        show_default=False,
    ),
]
ReportsDatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database-url",
        envvar=["REPORTS_DATABASE_URL", "DATABASE_URL"],
        help="Postgres to ask, which may be a read replica of the ledger's. Without it a private "
        "server is started in the data directory.",
        show_default=False,
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        envvar="JOBLEDGER_DATA_DIR",
        help="Directory of the private Postgres and of the redaction key.",
        show_default="/var/lib/jobledger for root, else ~/.local/share/jobledger",
    ),
]
Kubeconfig = Annotated[
    str,
    typer.Option(
        "--kubeconfig",
        help="Path of a kubeconfig. Without it the usual places, then the Pod's service account.",
        show_default=False,
    ),
]
SET_HOST, SET_PORT = "JOBLEDGER_HOST, or 127.0.0.1", "JOBLEDGER_PORT, or 8080"
"""Where a default comes from, as `--help` shows it."""
HealthHost = Annotated[
    str,
    typer.Option("--host", help="Address of /healthz, /readyz, /metrics.", show_default=SET_HOST),
]
HealthPort = Annotated[
    int | None,
    typer.Option(
        "--port", help="Port of them; 0: any free one.", min=0, max=65535, show_default=SET_PORT
    ),
]
HealthFile = Annotated[
    Path | None,
    typer.Option("--ready-file", help="File to write the HTTP address into once it is served."),
]
ReadyFile = Annotated[
    Path | None,
    typer.Option("--ready-file", help="File to write the address into once it is served."),
]
LogFormat = Annotated[
    str,
    typer.Option(
        "--log-format", help="console or json.", show_default="JOBLEDGER_LOG_FORMAT, or console"
    ),
]
PROCESSES_MAX = 256
"""Of every --processes."""
LIMIT_MAX = 1_000_000_000
"""Of every --limit: more rows than any ledger has jobs, and a number that Postgres can count to."""

OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="Form of the result.", case_sensitive=False)
]


def _not_empty(context: typer.Context, parameter: typer.CallbackParam, value: str) -> str:
    """Refuse an option that is given and empty: `-n "$UNSET"` means none, and would mean all."""
    source = context.get_parameter_source(parameter.name or "")
    if not value and source is not None and source.name != "DEFAULT":
        raise typer.BadParameter("it is empty; leave it out for all of them")
    return value


ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        help="Only jobs of this cluster, as the ledger calls it. Without it: all.",
        callback=_not_empty,
    ),
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        help="Only this namespace. Without it: all.",
        callback=_not_empty,
    ),
]


def settings_from(
    database_url: str = "", data_dir: Path | None = None, **given: object
) -> Settings:
    """Return the settings: what was given, else the environment, else the defaults."""
    values = {key: value for key, value in given.items() if value not in (None, "")}
    if database_url:
        values["database_url"] = database_url
    if data_dir is not None:
        values["data_dir"] = data_dir.absolute()
    for variable, meant in mistyped(os.environ):
        told = f" {variable} is no setting and sets nothing; {meant} may be meant"
        errors.print(marked("warning:", "yellow", told), soft_wrap=True)
    try:
        return Settings(**values)  # type: ignore[arg-type]  # checked by pydantic itself
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        fail(f"setting {where}: {first['msg']}", ExitCode.MISCONFIGURED)
    except SettingsError as error:
        named = re.search(r'field "(\w+)"', str(error))
        name = named[1] if named else ""
        written = f"""JOBLEDGER_{name.upper()}='["one", "another"]'"""
        fail(f"setting {name}: a list is written as JSON, {written}", ExitCode.MISCONFIGURED)
