"""`jobledger trainer-status`: serves the endpoint to which TrainJob Pods report progress."""

import threading
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.admission.kept_certificate import ForeignSecret
from jobledger.adapters.admission.tls import NoCertificate
from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.options import Kubeconfig, settings_from
from jobledger.adapters.cli.output import console, fail
from jobledger.adapters.cli.running.stopping import StopSignals
from jobledger.adapters.progress_wiring import StatusOptions, status_server
from jobledger.adapters.telemetry.logging import configure_logging

PORT = 10443
"""Upstream's."""


def trainer_status(
    kubeconfig: Kubeconfig = "",
    host: Annotated[str, typer.Option(help="Address to serve on.")] = "0.0.0.0",  # noqa: S104 Pods come from outside
    port: Annotated[int, typer.Option(help="Port; 0: any free one.", min=0, max=65535)] = PORT,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Namespace of the Service in front.")
    ] = "jobledger",
    service: Annotated[
        str, typer.Option(help="Service in front; the certificate is made for it.")
    ] = "jobledger-trainer-status",
    cert_dir: Annotated[
        Path | None,
        typer.Option(
            help="Directory with tls.crt, tls.key and ca.crt, as cert-manager keeps them. "
            "Without it a certificate is made and kept in the Secret <service>-tls."
        ),
    ] = None,
    dns_name: Annotated[
        list[str] | None,
        typer.Option(help="A further name in our certificate, if Pods call by another."),
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="File to write the address into once it is served.")
    ] = None,
) -> None:
    """Take the progress that Pods of TrainJobs report until SIGTERM or SIGINT; needs no database.

    It stands in status.trainerStatus then, as with Trainer's feature TrainJobStatus. See
    ops/trainer-status.yaml; Pods are told of it with JOBLEDGER_TRAINER_STATUS_URL.
    """
    settings = settings_from(kubeconfig=kubeconfig)
    configure_logging(settings.log_format, settings.log_level)
    options = StatusOptions(
        host=host,
        port=port,
        namespace=namespace,
        service=service,
        cert_dir=cert_dir,
        dns_names=tuple(dns_name or ()),
    )
    stop, stopped = StopSignals(), threading.Event()
    try:
        server = status_server(settings, options)
    except (ForeignSecret, NoCertificate) as error:
        fail(str(error), ExitCode.MISCONFIGURED)

    def tell() -> None:
        stop.wait()
        stopped.set()

    threading.Thread(target=tell, daemon=True).start()
    console.print(server.http.url)
    if ready_file is not None:
        ready_file.write_text(server.http.url)
    server.serve(stopped)
