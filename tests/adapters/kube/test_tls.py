"""Whom we trust, and how we show who we are, over TLS."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.errors import ClusterUnreachable
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.kube.samples import QUICK, rayjob
from tests.contracts.cluster_listener import RecordingListener
from tests.support.canned_server import Answer, CannedServer, End, Stream, list_of, watch_line

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs openssl on the path to make certificates"
)

JOB = rayjob("a", 1)

Key = ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate for 127.0.0.1 and its key."""

    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("tls")
    made = Certificate(folder / "ca.crt", folder / "key.pem")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=jobledger -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(
        [*command.split(), "-keyout", made.key, "-out", made.certificate],
        check=True,
        capture_output=True,
    )
    return made


@pytest.fixture
def server(ours: Certificate) -> Iterator[CannedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ours.certificate, ours.key)
    with CannedServer(tls=context) as running:
        yield running


def test_the_given_authority_is_trusted(server: CannedServer, ours: Certificate) -> None:
    server.add(Answer(body=JOB))
    settings = ConnectionSettings(host=server.url, ca_file=ours.certificate)
    assert KubernetesCluster(connect(settings, {})).get(RAYJOBS, "team", "a") == JOB


def signed(name: str, key: Key, issuer: str, by: Key, extension: x509.ExtensionType) -> bytes:
    """Return a certificate with the one extension, in PEM."""
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(extension, critical=True)
        .sign(by, hashes.SHA256())
    )
    return made.public_bytes(Encoding.PEM)


def test_the_end_of_a_chain_is_what_is_trusted_and_no_extension_is_necessary(
    tmp_path: Path,
) -> None:
    """As with kubectl: authorities of EKS have no key identifiers, and no root may be known."""
    root, between, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    authority = x509.BasicConstraints(ca=True, path_length=None)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    trusted, shown = tmp_path / "ca.crt", tmp_path / "tls.pem"
    trusted.write_bytes(signed("between", between, "root", root, authority))
    shown.write_bytes(signed("server", key, "between", between, address) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown)
    with CannedServer(Answer(body=JOB), tls=context) as server:
        settings = ConnectionSettings(host=server.url, ca_file=trusted)
        assert KubernetesCluster(connect(settings, {})).get(RAYJOBS, "team", "a") == JOB


def test_a_server_of_no_known_authority_is_not_talked_to(server: CannedServer) -> None:
    settings = ConnectionSettings(host=server.url, token="secret")
    with pytest.raises(ClusterUnreachable, match=r"CERTIFICATE_VERIFY_FAILED|SSL"):
        KubernetesCluster(connect(settings, {})).get(RAYJOBS, "team", "a")
    assert server.received == []


def test_a_client_certificate_is_shown(ours: Certificate) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ours.certificate, ours.key)
    context.load_verify_locations(ours.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    with CannedServer(Answer(body=JOB), tls=context) as server:
        settings = ConnectionSettings(
            host=server.url,
            ca_file=ours.certificate,
            client_certificate=(ours.certificate, ours.key),
        )
        assert KubernetesCluster(connect(settings, {})).get(RAYJOBS, "team", "a") == JOB


def test_a_watch_over_tls_can_be_stopped_while_it_reads(
    server: CannedServer, ours: Certificate
) -> None:
    server.add(list_of(), Stream((watch_line("ADDED", JOB),), End.SILENCE))
    listener = RecordingListener()
    settings = ConnectionSettings(host=server.url, ca_file=ours.certificate)
    watches = KubernetesWatches(connect(settings, {}), pace=QUICK)
    reflector = watches.watch(RAYJOBS, listener)
    listener.wait_for("synced", "seen a")
    reflector.stop()
    assert not reflector.alive


def test_in_a_pod_the_service_account_is_used_and_its_token_read_anew(
    server: CannedServer, ours: Certificate
) -> None:
    """Tokens of service accounts are replaced on disk every hour or so."""
    server.add(*[Answer(body=JOB)] * 2)
    account = ours.certificate.parent
    token = account / "token"
    token.write_text("first")
    host, port = server.url.removeprefix("https://").split(":")
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    settings = ConnectionSettings(service_account=account, credentials_seconds=0)
    cluster = KubernetesCluster(connect(settings, environment))
    cluster.get(RAYJOBS, "team", "a")
    token.write_text("second")
    cluster.get(RAYJOBS, "team", "a")
    assert [asked.headers["authorization"] for asked in server.received] == [
        "Bearer first",
        "Bearer second",
    ]
