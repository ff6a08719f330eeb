"""`jobledger serve`: serves the pages and the read-only JSON API without a controller."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from starlette.applications import Starlette

from jobledger.adapters.cli.options import (
    SET_HOST,
    SET_PORT,
    DatabaseUrl,
    DataDir,
    Kubeconfig,
    ReadyFile,
    settings_from,
)
from jobledger.adapters.cli.output import console
from jobledger.adapters.cli.running.ready_file import tell_ready
from jobledger.adapters.cli.running.stopping import StopSignals
from jobledger.adapters.cluster_wiring import kubernetes_cluster
from jobledger.adapters.forensic_wiring import reviewer_of, with_api
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.ledger_wiring import ledger
from jobledger.adapters.page_wiring import page_parts
from jobledger.adapters.process.interpreter import SWITCH_INTERVAL_SECONDS
from jobledger.adapters.telemetry.logging import configure_logging


def serve(
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
    kubeconfig: Kubeconfig = "",
    host: Annotated[str, typer.Option(help="Address to serve on.", show_default=SET_HOST)] = "",
    port: Annotated[
        int | None,
        typer.Option(help="Port; 0: any free one.", min=0, max=65535, show_default=SET_PORT),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the bearer token that readers must send.")
    ] = None,
    token_review: Annotated[
        bool, typer.Option("--token-review", help="Let Kubernetes judge the tokens of readers.")
    ] = False,
    ready_file: ReadyFile = None,
) -> None:
    """Serve the pages (/page) and the read-only JSON API until SIGTERM or SIGINT.

    The API is described at /api/v1/openapi.json.
    """
    settings = settings_from(
        database_url,
        data_dir,
        kubeconfig=kubeconfig,
        host=host,
        port=port,
        api_token_file=token_file,
        api_token_review=token_review or None,
    )
    configure_logging(settings.log_format, settings.log_level)
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    reviewer = reviewer_of(settings, lambda: kubernetes_cluster(settings))
    with ledger(settings) as opened:
        app = with_api(Starlette(), page_parts(opened), reviewer)
        server = HttpServer(app, settings.host, settings.port)
        stop = StopSignals()
        server.start()
        console.print(f"{server.url}/api/v1/jobs")
        console.print(f"{server.url}/page/jobs")
        tell_ready(ready_file, server.url)
        stop.wait()
        server.stop()
