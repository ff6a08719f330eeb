"""Makes the certificate of the webhooks where no cert-manager provides one.

Each renewal makes an authority of its own that signs one certificate and is forgotten: its key is
kept nowhere, so nothing else can ever be signed by it. What the API server trusts is the new
authority and the one before, until the latter has ended, so replicas may change over one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from jobledger.core.values.instants import Instant

_Party: TypeAlias = tuple[x509.Name, ec.EllipticCurvePrivateKey]

VALID = timedelta(days=90)
RENEWED_BEFORE_END = timedelta(days=30)
BACKDATED = timedelta(minutes=10)
"""Clocks differ."""

END_SHARE = 0.1
"""Whoever keeps a certificate renews it before so little of its time is left."""

TRUSTED_MAX = 3
"""So many authorities are trusted at once; more are never needed."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate, its key, and the authorities that it may be checked by. All PEM."""

    chain: str
    key: str
    trusted: str

    def __repr__(self) -> str:
        """Return no key."""
        return "Certificate(…)"


def new_certificate(
    names: Sequence[str], now: Instant, before: str = "", valid: timedelta = VALID
) -> Certificate:
    """Return a certificate for DNS names.

    Args:
        names: The DNS names; the first is the subject's.
        now: It is valid from about then.
        before: Authorities that were trusted until now (PEM); those that last are trusted on.
        valid: For how long.
    """
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    # A name of its own: of two authorities of one name OpenSSL would try one only.
    authority_name = _name(f"jobledger webhooks authority {x509.random_serial_number():x}")
    span = now - BACKDATED, now + valid
    authority = (
        _builder((authority_name, authority_key), (authority_name, authority_key), span)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_may_sign(), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _builder((_name(names[0]), key), (authority_name, authority_key), span)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_known_as(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    trusted = [authority, *_lasting(before, now)][:TRUSTED_MAX]
    return Certificate(
        chain=_pem(certificate),
        key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        trusted="".join(_pem(one) for one in trusted),
    )


def is_due(chain: str, names: Sequence[str], now: Instant) -> bool:
    """Return whether a certificate has to be made anew.

    It ends soon, or has not begun (a clock was ahead when it was made), or is none for the names.
    """
    try:
        certificate = x509.load_pem_x509_certificate(chain.encode())
        of = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        known = of.value.get_values_for_type(x509.DNSName)
    except (ValueError, x509.ExtensionNotFound):
        return True
    has_begun = certificate.not_valid_before_utc <= now
    lasts = has_begun and certificate.not_valid_after_utc - now > RENEWED_BEFORE_END
    return not lasts or not set(names) <= set(known)


def belong_together(chain: str, key: str) -> bool:
    """Return whether a key is that of a certificate (both PEM)."""
    try:
        certificate = x509.load_pem_x509_certificate(chain.encode())
        public = load_pem_private_key(key.encode(), password=None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return bool(public == certificate.public_key())


def end_of(chain: str, now: Instant) -> tuple[Instant, bool]:
    """Return until when a certificate is valid, and whether nearly all of that time is over.

    Raises:
        ValueError: it is none.
    """
    certificate = x509.load_pem_x509_certificate(chain.encode())
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return ends, (ends - now) < (ends - begins) * END_SHARE


def names_of(chain: str) -> Sequence[str]:
    """Return the hosts that a certificate is for; the subject counts for none, as for its callers.

    Raises:
        ValueError: it is none.
    """
    certificate = x509.load_pem_x509_certificate(chain.encode())
    try:
        of = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    addresses = map(str, of.value.get_values_for_type(x509.IPAddress))
    return (*of.value.get_values_for_type(x509.DNSName), *addresses)


def is_for(names: Sequence[str], host: str) -> bool:
    """Return whether one of these names, which may begin with `*.`, is that of a host."""
    wanted = host.lower()
    domain = wanted.partition(".")[2]
    return any(name.lower() in (wanted, f"*.{domain}") for name in names)


def _lasting(trusted: str, now: Instant) -> list[x509.Certificate]:
    try:
        found = x509.load_pem_x509_certificates(trusted.encode()) if trusted else []
    except ValueError:
        return []
    return [one for one in found if one.not_valid_after_utc > now]


def _builder(
    subject: _Party, issuer: _Party, span: tuple[Instant, Instant]
) -> x509.CertificateBuilder:
    """Return what is said in any certificate; without the keys' names Python 3.13 takes none."""
    (name, key), (issuer_name, issuer_key) = subject, issuer
    named, by = key.public_key(), issuer_key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer_name)
        .public_key(named)
        .serial_number(x509.random_serial_number())
        .not_valid_before(span[0])
        .not_valid_after(span[1])
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(named), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by), critical=False)
    )


def _known_as(names: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([x509.DNSName(one) for one in names])


def _may_sign() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
