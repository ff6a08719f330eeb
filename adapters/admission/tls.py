"""A TLS context whose certificate can be replaced while it serves."""

import os
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jobledger.adapters.admission.certificates import Certificate


class NoCertificate(Exception):
    """There is no certificate that can be served with; the text says why."""


def context() -> ssl.SSLContext:
    """Return a context of a server, still without a certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made


def take(into: ssl.SSLContext, certificate: Certificate) -> None:
    """Serve new connections with a certificate; one that cannot be used changes nothing.

    Raises:
        NoCertificate: it is none, or the key does not belong to it.
    """
    try:
        _load(into, certificate.chain, certificate.key)
    except (OSError, ssl.SSLError) as error:
        raise NoCertificate(f"the certificate cannot be used: {error.strerror}") from error


def take_from(into: ssl.SSLContext, directory: Path) -> str:
    """Serve new connections with `tls.crt` and `tls.key` of a directory, as cert-manager mounts it.

    Return the certificate. Both are read before they are looked at: they may be replaced meanwhile.

    Raises:
        NoCertificate: they are not there, or do not belong together; nothing is changed then.
    """
    try:
        chain, key = ((directory / name).read_text() for name in ("tls.crt", "tls.key"))
        _load(into, chain, key)
    except (OSError, ssl.SSLError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "they are no text"
        raise NoCertificate(f"{directory}: tls.crt and tls.key cannot be used: {why}") from error
    return chain


def _load(into: ssl.SSLContext, chain: str, key: str) -> None:
    """Have a context serve with a certificate.

    OpenSSL takes the certificate before it looks at the key: a context whose next key does not
    belong to it would answer nobody. So another one tries both first.
    """
    for each in (context(), into):
        with _pipe_with(chain) as chain_file, _pipe_with(key) as key_file:
            each.load_cert_chain(chain_file, key_file, password="")  # nobody is asked for one


@contextmanager
def _pipe_with(content: str) -> Iterator[str]:
    """Give the name of a pipe from which the content can be read, once.

    OpenSSL reads files only, and a key belongs on no disk. Files in memory have names on Linux
    alone; a pipe has one everywhere, and no end to what it takes if somebody pours it in meanwhile.
    """
    reading, writing = os.pipe()
    pouring = threading.Thread(target=_pour, args=(content.encode(), writing), daemon=True)
    pouring.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        pouring.join()


def _pour(content: bytes, into: int) -> None:
    with suppress(BrokenPipeError), open(into, "wb") as pipe:  # it was not read to its end
        pipe.write(content)
