"""The certificate of the webhooks: made, trusted, renewed, and changed while it serves."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest
import urllib3
from urllib3.util.ssl_ import create_urllib3_context

from jobledger.adapters.admission import tls
from jobledger.adapters.admission.certificates import (
    RENEWED_BEFORE_END,
    VALID,
    is_due,
    new_certificate,
)
from jobledger.adapters.admission.reviews import webhook_app
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.telemetry.clock import SystemClock

NAMES = ("localhost",)
NOW = SystemClock().now()


def asked(url: str, trusted: str, directory: Path) -> int:
    """Ask as Python 3.13 does, which asks for every extension."""
    authorities = directory / "ca.crt"
    authorities.write_text(trusted)
    strict = create_urllib3_context(verify_flags=ssl.VERIFY_X509_STRICT)
    with urllib3.PoolManager(ca_certs=str(authorities), ssl_context=strict) as pool:
        port = url.rpartition(":")[2]
        return pool.request("GET", f"https://localhost:{port}/healthz", retries=False).status


def test_who_trusts_the_authority_trusts_the_certificate_before_and_after_a_renewal(
    tmp_path: Path,
) -> None:
    secured, first = tls.context(), new_certificate(NAMES, NOW)
    tls.take(secured, first)
    server = HttpServer(webhook_app({}), "127.0.0.1", 0, tls=secured)
    server.start()
    try:
        assert asked(server.url, first.trusted, tmp_path) == 200
        second = new_certificate(NAMES, NOW, first.trusted)
        assert asked(server.url, second.trusted, tmp_path) == 200, "one replica is not there yet"
        tls.take(secured, second)
        assert asked(server.url, second.trusted, tmp_path) == 200
        with pytest.raises(urllib3.exceptions.SSLError):
            asked(server.url, first.trusted, tmp_path)
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("later", "names", "due"),
    [
        (timedelta(0), NAMES, False),
        (VALID - RENEWED_BEFORE_END - timedelta(minutes=1), NAMES, False),
        (VALID - RENEWED_BEFORE_END + timedelta(minutes=1), NAMES, True),
        (timedelta(0), (*NAMES, "other"), True),
    ],
    ids=["fresh", "lasts", "ends soon", "another name"],
)
def test_when_it_is_made_anew(later: timedelta, names: tuple[str, ...], due: bool) -> None:
    assert is_due(new_certificate(NAMES, NOW).chain, names, NOW + later) is due


def test_one_that_a_later_clock_has_dated_is_made_anew() -> None:
    """Until then whoever calls would refuse it: it is not valid yet."""
    assert is_due(new_certificate(NAMES, NOW + timedelta(hours=1)).chain, NAMES, NOW)


def test_what_is_no_certificate_is_made_anew() -> None:
    assert is_due("", NAMES, NOW)
    assert is_due("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", NAMES, NOW)


def test_authorities_that_have_ended_are_trusted_no_more() -> None:
    trusted = new_certificate(NAMES, NOW).trusted
    for _ in range(5):
        trusted = new_certificate(NAMES, NOW, trusted).trusted
    assert trusted.count("BEGIN CERTIFICATE") == 3
    later = new_certificate(NAMES, NOW + 2 * VALID, trusted).trusted
    assert later.count("BEGIN CERTIFICATE") == 1


def test_no_key_is_shown() -> None:
    assert repr(new_certificate(NAMES, NOW)) == "Certificate(…)"


def test_a_directory_without_a_certificate_is_named(tmp_path: Path) -> None:
    with pytest.raises(tls.NoCertificate, match=r"tls\.crt and tls\.key cannot be used"):
        tls.take_from(tls.context(), tmp_path)
    made, other = new_certificate(NAMES, NOW), new_certificate(NAMES, NOW)
    (tmp_path / "tls.crt").write_text(made.chain)
    (tmp_path / "tls.key").write_text(other.key)
    with pytest.raises(tls.NoCertificate):
        tls.take_from(tls.context(), tmp_path)
    (tmp_path / "tls.key").write_text(made.key)
    secured = tls.context()
    tls.take_from(secured, tmp_path)
    assert secured.minimum_version == ssl.TLSVersion.TLSv1_2
