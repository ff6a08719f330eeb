"""`jobledger webhooks`: serves admission webhooks for RayJobs, TrainJobs and runtimes."""

import threading
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.admission.kept_certificate import ForeignSecret
from jobledger.adapters.admission.tls import NoCertificate
from jobledger.adapters.admission_wiring import WebhookOptions, Webhooks
from jobledger.adapters.admission_wiring import webhooks as wired
from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.options import Kubeconfig, settings_from
from jobledger.adapters.cli.output import console, fail
from jobledger.adapters.cli.running.stopping import StopSignals
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
    ready_file: Annotated[
        Path | None, typer.Option(help="File to write the address into once it is served.")
    ] = None,
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
    stop, stopped = StopSignals(), threading.Event()
    try:
        served = wired(settings, options)
    except (ForeignSecret, NoCertificate) as error:
        fail(str(error), ExitCode.MISCONFIGURED)
    threading.Thread(target=_tell, args=(stop, stopped), daemon=True).start()
    _serve(served, stopped, ready_file)


def _serve(served: Webhooks, stopped: threading.Event, ready_file: Path | None) -> None:
    served.start()
    console.print(served.http.url)
    if ready_file is not None:
        ready_file.write_text(served.http.url)
    served.keep_fresh(stopped)


def _tell(stop: StopSignals, stopped: threading.Event) -> None:
    stop.wait()
    stopped.set()
