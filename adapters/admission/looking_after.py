"""Gives a server its certificate, and renews it while it serves."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from jobledger.adapters.admission import tls
from jobledger.adapters.admission.kept_certificate import TRUSTED, ForeignSecret, KeptCertificate
from jobledger.adapters.admission.tls import NoCertificate
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError

LOOK_SECONDS = 60.0
"""Pause between two looks at the certificate and at who trusts it."""

log = get_logger(__name__)


def keep_fresh(refresh: Callable[[], None], stopped: Event) -> None:
    """Look after the certificate until told to stop; a look that fails is made again."""
    while not stopped.wait(LOOK_SECONDS):
        try:
            refresh()
        except (ClusterError, ForeignSecret, NoCertificate) as error:
            log.warning("certificate_not_checked", why=str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a server with a certificate is served."""

    host: str
    port: int
    namespace: str
    service: str
    """The Service in front, which the certificate is for."""
    cert_dir: Path | None = None
    """Where somebody else keeps a certificate (and, if Pods call, its authority); None: we keep
    ours in a Secret."""
    dns_names: tuple[str, ...] = ()
    """Further names in our certificate."""


def certified(
    context: ssl.SSLContext, kept: KeptCertificate, directory: Path | None
) -> Callable[[], None]:
    """Give a context its certificate; return what gives it the newest from then on.

    It is the one in the directory, where somebody else keeps it, or else ours in the Secret. Whom
    to trust is published; of another's certificate only where a ConfigMap says it.

    Raises:
        ClusterError: the API server does not answer, or refuses.
        ForeignSecret: the Secret that we would keep is somebody else's.
        NoCertificate: the directory holds none that can be used.
    """

    def refresh() -> None:
        if directory is None:
            tls.take(context, kept.read())
            return
        tls.take_from(context, directory)
        if kept.authority:
            kept.publish(_authority_in(directory))

    refresh()
    return refresh


def _authority_in(directory: Path) -> str:
    try:
        return (directory / TRUSTED).read_text()
    except OSError as error:
        why = error.strerror
        raise NoCertificate(f"{directory}: {TRUSTED} cannot be used: {why}") from error
