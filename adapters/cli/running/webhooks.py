"""`jobledger webhooks`: serves admission webhooks for RayJobs, TrainJobs and runtimes."""

from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.admission_wiring import WebhookOptions
from jobledger.adapters.admission_wiring import webhooks as wired
from jobledger.adapters.cli.options import Kubeconfig, ReadyFile, settings_from
from jobledger.adapters.cli.running.certified_server import serve_until_stopped
from jobledger.adapters.telemetry.logging import configure_logging

PORT = 9443
"""Where controller-runtime serves webhooks, and upstream's network policies expect them."""


def webhooks(
    kubeconfig: Kubeconfig = "",
    host: Annotated[str, typer.Option(help="Address to serve on.")] = "0.0.0.0",  # noqa: S104 the API server comes from outside
    port: Annotated[int, typer.Option(help="Port; 0: any free one.", min=0, max=65535)] = PORT,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Namespace of the Service in front.")
    ] = "jobledger",
    service: Annotated[
        str, typer.Option(help="Service in front; the certificate is made for it.")
    ] = "jobledger-webhooks",
    cert_dir: Annotated[
        Path | None,
        typer.Option(
            help="Directory with tls.crt and tls.key, as cert-manager keeps them. "
            "Without it one is made, kept in the Secret <service>-tls, and renewed."
        ),
    ] = None,
    dns_name: Annotated[
        list[str] | None,
        typer.Option(help="A further name in our certificate, if the API server calls by another."),
    ] = None,
    configuration: Annotated[
        str, typer.Option(help="Name of the webhook configurations that are told whom to trust.")
    ] = "jobledger",
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse invalid RayJobs. Without it their author is only warned."
        ),
    ] = False,
    ready_file: ReadyFile = None,
) -> None:
    """Answer admission webhooks until SIGTERM or SIGINT; needs no database.

    Refuses TrainJobs and runtimes that cannot be built, and RayJobs with a name that KubeRay
    refuses; warns of all else that is wrong. See ops/webhooks.yaml.
    """
    settings = settings_from(kubeconfig=kubeconfig)
    configure_logging(settings.log_format, settings.log_level)
    options = WebhookOptions(
        host=host,
        port=port,
        namespace=namespace,
        service=service,
        cert_dir=cert_dir,
        dns_names=tuple(dns_name or ()),
        configuration=configuration,
        strict=strict,
    )
    serve_until_stopped(lambda: wired(settings, options), ready_file)
