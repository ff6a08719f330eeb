"""Gives a server its certificate, and renews it while it serves."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from cryptography import x509

from jobledger.adapters.admission import tls
from jobledger.adapters.admission.certificates import end_of, is_for, names_of
from jobledger.adapters.admission.kept_certificate import (
    CHAIN,
    TRUSTED,
    ForeignSecret,
    KeptCertificate,
)
from jobledger.adapters.admission.tls import NoCertificate
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError
from jobledger.core.values.instants import Instant

LOOK_SECONDS = 60.0
"""Pause between two looks at the certificate and at who trusts it."""

log = get_logger(__name__)


def keep_fresh(refresh: Callable[[], None], stopped: Event) -> None:
    """Look after the certificate until told to stop; a look that fails is made again."""
    while not stopped.wait(LOOK_SECONDS):
        try:
            refresh()
        except (ClusterError, ForeignSecret, NoCertificate, OSError) as error:
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
    names = OtherNames(kept)

    def refresh() -> None:
        if directory is None:
            made = kept.read()
            tls.take(context, made)
            names.tell(made.chain, f"Secret {kept.namespace}/{kept.secret_name}", _LET_US)
            return
        chain = tls.take_from(context, directory)
        _tell_end(directory, chain, kept.now())
        names.tell(chain, str(directory / CHAIN), _LET_OTHERS)
        if kept.authority:
            kept.publish(_authority_in(directory))

    refresh()
    return refresh


_LET_US = "name that host with --dns-name, or what it is of with --service and --namespace"
_LET_OTHERS = (
    "have a certificate made for that host (`dnsNames` of cert-manager's Certificate), or let the "
    "webhook configurations call a host that it is for"
)


class OtherNames:
    """Tells once of a certificate that those who call will refuse, as it is for other hosts."""

    def __init__(self, kept: KeptCertificate) -> None:
        """Take who knows by which hosts the certificate's server is called."""
        self._kept = kept
        self._told: tuple[str, ...] = ()

    def tell(self, chain: str, where: str, remedy: str) -> None:
        """Look at a certificate, kept somewhere, and say what is to be done."""
        names = names_of(chain)
        missing = tuple(host for host in self._kept.called_by() if not is_for(names, host))
        if missing and missing != self._told:
            log.error(
                "certificate_of_other_name",
                kept_in=where,
                called_by=", ".join(missing),
                is_for=", ".join(names) or "no host",
                remedy=remedy,
            )
        self._told = missing


def _tell_end(directory: Path, chain: str, now: Instant) -> None:
    ends, is_near = end_of(chain, now)
    told = {
        "file": str(directory / CHAIN),
        "until": ends.isoformat(),
        "remedy": "let whoever keeps it renew it, cert-manager say; it is read again every minute",
    }
    if ends <= now:
        log.error("certificate_has_ended", **told)
    elif is_near:
        log.warning("certificate_ends_soon", **told)


def _authority_in(directory: Path) -> str:
    """Return whom to trust; nobody would trust us any more if what is no certificate was told."""
    file = directory / TRUSTED
    try:
        told = file.read_text()
        x509.load_pem_x509_certificates(told.encode())
    except OSError as error:
        raise NoCertificate(f"{directory}: {TRUSTED} cannot be used: {error.strerror}") from error
    except ValueError as error:
        raise NoCertificate(f"{directory}: {TRUSTED} holds no certificate") from error
    return told
