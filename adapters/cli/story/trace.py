"""`jobledger trace JOB`: a job's story as an OpenTelemetry trace, printed or sent."""

import sys
from typing import Annotated

import msgspec
import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import JobArgument, dossier
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    settings_from,
)
from jobledger.adapters.cli.output import fail
from jobledger.adapters.forensics.otlp import PATH, request_of, send
from jobledger.core.forensics.story.trace import trace_of


def trace(
    job: JobArgument,
    to: Annotated[
        str,
        typer.Option(
            "--send-to",
            help=f"Address of a collector (OTLP over HTTP); {PATH} is added where it has no path. "
            "Without it the trace is printed.",
            metavar="URL",
        ),
    ] = "",
    headers: Annotated[
        list[str] | None,
        typer.Option(
            "--header", help="Header for the collector, as NAME=VALUE.", metavar="NAME=VALUE"
        ),
    ] = None,
    more_headers: Annotated[
        str,
        typer.Option(
            "--headers",
            envvar="OTEL_EXPORTER_OTLP_HEADERS",
            help="More of them, with commas between.",
            show_default=False,
        ),
    ] = "",
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Print a job's story as an OpenTelemetry trace (OTLP in JSON), or send it to a collector.

    One span for the job, one for each attempt, and below it what was done and waited for.
    """
    given = _headers([*(headers or ()), *filter(None, more_headers.split(","))])
    address = _address(to) if to else ""
    with dossier(settings_from(database_url, data_dir), job, namespace, cluster) as found:
        told = trace_of(found.read())
    if not address:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(request_of(told))).decode() + "\n")
        return
    send(told, address, given)
    typer.echo(f"trace {told.id.hex()} sent: {len(told.spans)} spans", err=True)


def _address(to: str) -> str:
    """Return where traces go, by the address of a collector."""
    scheme, mark, rest = to.partition("://")
    if scheme not in {"http", "https"} or not mark or not rest.strip("/"):
        fail(f"{to!r} is no address of a collector: http://host:4318", ExitCode.USAGE)
    return to if "/" in rest.rstrip("/") else to.rstrip("/") + PATH


def _headers(given: list[str]) -> dict[str, str]:
    found = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not mark or not name.strip():
            fail("a header is given as NAME=VALUE", ExitCode.USAGE)
        found[name.strip()] = value.strip()
    return found
