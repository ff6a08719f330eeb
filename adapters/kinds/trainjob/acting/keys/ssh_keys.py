"""Generates the SSH key pair of an MPI job when its Secret is applied; keeps no copy.

ECDSA on the curve P-521, in the encodings of upstream's controller, byte for byte.
Source: pkg/runtime/framework/plugins/mpi/mpi.go of Trainer 2.3.0, `buildSSHAuthSecret`.
"""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


@dataclass(frozen=True, slots=True)
class SshKeys:
    """A pair of keys. The private one is never shown, not even by accident."""

    private: str
    """PEM, `EC PRIVATE KEY` (SEC 1, RFC 5915)."""
    public: str
    """A line for `authorized_keys` (RFC 5656), without a comment."""

    def __repr__(self) -> str:
        """Return no key."""
        return "SshKeys(…)"


def new_ssh_keys() -> SshKeys:
    """Return a new pair."""
    return encoded(ec.generate_private_key(ec.SECP521R1()))


def encoded(key: ec.EllipticCurvePrivateKey) -> SshKeys:
    """Return a pair as a Secret holds it."""
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return SshKeys(private.decode(), f"{public.decode()}\n")
