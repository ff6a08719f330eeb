"""`jobledger sandbox`: runs a local Kubernetes-style API whose Pods are real processes."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import console, fail
from jobledger.adapters.cli.running.stopping import StopSignals
from jobledger.adapters.http.server import CannotServe
from jobledger.adapters.telemetry.logging import configure_logging
from jobledger.sandbox.kubeconfig import write_environment
from jobledger.sandbox.wiring import start_sandbox


def sandbox(
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Where kubeconfig, Pods and logs go. Default: a new one."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to serve on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to serve on; 0: any free one.", min=0, max=65535)
    ] = 0,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Serve a simulated cluster, whose Pods are processes here, until SIGTERM or SIGINT."""
    configure_logging("console", log_level)
    stop = StopSignals()
    made = (directory or Path(tempfile.mkdtemp(prefix="jobledger-sandbox-"))).absolute()
    try:
        running = start_sandbox(made, host, port)
    except OSError as error:
        fail(
            f"--dir {directory or made} cannot be used: {error.strerror or error}",
            ExitCode.MISCONFIGURED,
        )
    except CannotServe:
        if directory is None:
            made.rmdir()
        raise
    sourced = write_environment(running.kubeconfig, running.data_plane.proxy_url)
    console.print(f"The sandbox serves {running.api.url}. In another terminal:", soft_wrap=True)
    console.print(Text(f"  {sourced}"), soft_wrap=True)
    console.print("  jobledger run", highlight=False)
    console.print("  kubectl apply -f ops/samples/retry.yaml; kubectl get rayjobs -w")
    stop.wait()
    running.stop()
