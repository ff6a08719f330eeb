"""`jobledger trainer-status`: serves the endpoint to which TrainJob Pods report progress."""

from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.options import Kubeconfig, ReadyFile, settings_from
from jobledger.adapters.cli.running.certified_server import serve_until_stopped
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
    ready_file: ReadyFile = None,
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
    serve_until_stopped(lambda: status_server(settings, options), ready_file)
