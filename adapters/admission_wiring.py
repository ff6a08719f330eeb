"""Composition root of the admission webhooks: a server of its own, without a ledger."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from jobledger.adapters.admission import tls
from jobledger.adapters.admission.kept_certificate import KeptCertificate
from jobledger.adapters.admission.looking_after import keep_fresh
from jobledger.adapters.admission.reviews import webhook_app
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.kinds.admission import handlers
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock

CONNECTIONS = 50
"""As many as requests are judged at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """How webhooks are served."""

    host: str
    port: int
    namespace: str
    service: str
    """The Service in front, which the certificate is for."""
    cert_dir: Path | None = None
    """Where somebody else keeps a certificate; None: we keep one in a Secret."""
    dns_names: tuple[str, ...] = ()
    """Further names in our certificate."""
    configuration: str = "jobledger"
    """Name of the webhook configurations that are told whom to trust."""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The server, and what keeps its certificate fresh."""

    http: HttpServer
    refresh: Callable[[], None]

    def start(self) -> None:
        """Begin to serve."""
        self.http.start()

    def keep_fresh(self, stopped: Event) -> None:
        """Look after the certificate until told to stop, then end."""
        keep_fresh(self.refresh, stopped)
        self.http.stop()


def webhooks(settings: Settings, options: WebhookOptions) -> Webhooks:
    """Return the webhooks with a certificate; nothing is served yet.

    Raises:
        ClusterError: the API server does not answer, or refuses.
        ForeignSecret: the Secret that we would keep is somebody else's.
        NoCertificate: `cert_dir` holds none that can be used.
        CannotServe: nobody can listen there.
    """
    connection = ConnectionSettings(
        kubeconfig=settings.kubeconfig, context=settings.context, connections=CONNECTIONS
    )
    cluster = KubernetesCluster(connect(connection))
    secured = tls.context()
    kept = KeptCertificate(
        cluster=cluster,
        now=SystemClock().now,
        namespace=options.namespace,
        service=options.service,
        other_names=options.dns_names,
        configuration=options.configuration,
    )

    def refresh() -> None:
        if options.cert_dir is not None:
            tls.take_from(secured, options.cert_dir)
        else:
            tls.take(secured, kept.read())

    refresh()
    app = webhook_app(handlers(cluster, SystemClock().now, strict=options.strict))
    return Webhooks(HttpServer(app, options.host, options.port, tls=secured), refresh)
