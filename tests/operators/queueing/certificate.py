"""The certificate of Kueue's webhooks: valid for its Service, and for this machine's address.

Kueue makes and renews its certificate by itself, for its Service alone. Here it finds one in its
Secret that is its own authority, valid for 127.0.0.1 too, and hands it to the API server.
"""

import base64
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.support.api import Api

NAMESPACE = "kueue-system"
SECRET = "kueue-webhook-server-cert"  # its name
AUTHORITY = "kueue-ca"
SERVICE = f"kueue-webhook-service.{NAMESPACE}.svc"
VALID = timedelta(days=3650)


def make_certificate(api: Api, folder: Path) -> bytes:
    """Put a new certificate into Kueue's Secret and its folder; return it in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    certificate = _self_signed(key).public_bytes(Encoding.PEM)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(secret)
    files = {"ca.crt": certificate, "ca.key": secret, "tls.crt": certificate, "tls.key": secret}
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    made = api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    assert made.code in (201, 409), made.message  # Created, Conflict
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    api.request("DELETE", f"{path}/{SECRET}")
    put = api.request("POST", path, {"metadata": {"name": SECRET}, "data": data})
    assert put.code == 201, put.message  # Created
    return certificate


def _self_signed(key: rsa.RSAPrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY)])
    names = [
        x509.DNSName(AUTHORITY),
        x509.DNSName(SERVICE),
        x509.IPAddress(ip_address("127.0.0.1")),
    ]
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
