"""Signs seals with Ed25519; keys are PEM files that OpenSSL reads and writes too."""

import hashlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from jobledger.adapters.forensics.foreign_files import content_of
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.forensics.seals.seals import Signature

ALGORITHM = "ed25519"
KEY_DIGITS = 16
PUBLIC_SUFFIX = ".pub"
KEY_BYTES_MAX = 1 << 16


class SealSigner:
    """Signs with a private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.name = fingerprint(key.public_key())

    def sign(self, digest: bytes) -> Signature:
        """See `core.forensics.seals.sealing.Signer.sign`."""
        return Signature(algorithm=ALGORITHM, key=self.name, value=self._key.sign(digest))


class SealJudge:
    """Judges by a public key."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key
        self.name = fingerprint(key)

    def vouches(self, digest: bytes, signature: Signature) -> bool:
        """See `core.forensics.seals.sealing.Judge.vouches`."""
        if signature.algorithm != ALGORITHM or signature.key != self.name:
            return False
        try:
            self._key.verify(signature.value, digest)
        except InvalidSignature:
            return False
        return True


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the name of a key: the first digits of the SHA-256 of its 32 bytes."""
    raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:KEY_DIGITS]


def make_keys(path: Path) -> str:
    """Write a new private key (readable for its owner only) and `PATH.pub`; return its name.

    Raises:
        LedgerMisconfigured: the files cannot be written, or one is there already.
    """
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    made: list[Path] = []
    file = path
    try:
        for file, content, mode in ((path, private, 0o600), (public_path(path), public, 0o644)):
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            made.append(file)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
    except OSError as error:
        for half in made:  # one without the other is no pair, and would be in the way
            half.unlink(missing_ok=True)
        raise LedgerMisconfigured(f"{file} cannot be made: {error.strerror}") from error
    return fingerprint(key.public_key())


def public_path(path: Path) -> Path:
    """Return where the public key of a private key is kept."""
    return Path(f"{path}{PUBLIC_SUFFIX}")


def signer(path: Path) -> SealSigner:
    """Return the private key of a file; raise `LedgerMisconfigured` if it holds none."""
    try:
        key = load_pem_private_key(_content(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise LedgerMisconfigured(f"{path} holds no private key in PEM form") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise LedgerMisconfigured(f"{path} holds a key that is not of Ed25519")
    return SealSigner(key)


def judge(path: Path) -> SealJudge:
    """Return the public key of a file; raise `LedgerMisconfigured` if it holds none."""
    try:
        key = load_pem_public_key(_content(path))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise LedgerMisconfigured(f"{path} holds no public key in PEM form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise LedgerMisconfigured(f"{path} holds a key that is not of Ed25519")
    return SealJudge(key)


def _content(path: Path) -> bytes:
    return content_of(path, KEY_BYTES_MAX)
