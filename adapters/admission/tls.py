"""A TLS context whose certificate can be replaced while it serves."""

import ssl
import tempfile
from pathlib import Path

from jobledger.adapters.admission.certificates import Certificate


class NoCertificate(Exception):
    """The directory holds no certificate that can be served with; the text says why."""


def context() -> ssl.SSLContext:
    """Return a context of a server, still without a certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made


def take(into: ssl.SSLContext, certificate: Certificate) -> None:
    """Serve new connections with a certificate. OpenSSL reads keys from files only."""
    with tempfile.TemporaryDirectory(prefix="jobledger-tls-") as name:  # of mode 0700
        chain, key = Path(name, "tls.crt"), Path(name, "tls.key")
        chain.write_text(certificate.chain)
        key.write_text(certificate.key)
        into.load_cert_chain(chain, key)


def take_from(into: ssl.SSLContext, directory: Path) -> None:
    """Serve new connections with `tls.crt` and `tls.key` of a directory, as cert-manager mounts it.

    Raises:
        NoCertificate: they are not there, or do not belong together.
    """
    try:
        into.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or str(error)
        raise NoCertificate(f"{directory}: tls.crt and tls.key cannot be used: {why}") from error
