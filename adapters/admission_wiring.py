"""Composition root of the admission webhooks: a server of its own, without a ledger."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

from jobledger.adapters.admission import tls
from jobledger.adapters.admission.kept_certificate import KeptCertificate
from jobledger.adapters.admission.looking_after import ServerOptions, certified, keep_fresh
from jobledger.adapters.admission.reviews import webhook_app
from jobledger.adapters.cluster_wiring import judging_cluster
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.kinds.admission import handlers
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions(ServerOptions):
    """How webhooks are served."""

    configuration: str = "jobledger"
    """Name of the webhook configurations that are told whom to trust."""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The server, and what keeps its certificate fresh."""

    http: HttpServer
    refresh: Callable[[], None]

    def serve(self, stopped: Event) -> None:
        """Serve, and look after the certificate, until told to stop."""
        self.http.start()
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
    cluster, secured = judging_cluster(settings), tls.context()
    kept = KeptCertificate(
        cluster=cluster,
        now=SystemClock().now,
        namespace=options.namespace,
        service=options.service,
        other_names=options.dns_names,
        configuration=options.configuration,
    )
    refresh = certified(secured, kept, options.cert_dir)
    app = webhook_app(handlers(cluster, SystemClock().now, strict=options.strict))
    return Webhooks(HttpServer(app, options.host, options.port, tls=secured), refresh)
