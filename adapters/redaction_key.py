"""The key of the digests that replace secrets.

It comes from the settings, or from a file that is made once.
"""

import os
import secrets
from pathlib import Path

from jobledger.adapters.files.regular import open_regular
from jobledger.adapters.settings import Settings
from jobledger.core.errors import LedgerMisconfigured

FILE_NAME = "redaction.key"
KEY_BYTES = 32
KEY_BYTES_MIN = 16


def redaction_key(settings: Settings) -> bytes:
    """Return the key; make the file (readable for the owner only) if there is none.

    Raises:
        LedgerMisconfigured: the file cannot be read or made.
    """
    given = settings.redaction_key.get_secret_value()
    if given and not given.strip():
        raise LedgerMisconfigured("JOBLEDGER_REDACTION_KEY holds nothing but blanks")
    if given:
        return given.encode()
    path = settings.data_dir / FILE_NAME
    try:
        return _read_or_make(path)
    except ValueError as error:  # no text, or not hexadecimal
        raise LedgerMisconfigured(_no_key(path, "it holds no hexadecimal number")) from error
    except OSError as error:
        message = (
            f"the redaction key {path} cannot be used ({error.strerror}); "
            "set JOBLEDGER_REDACTION_KEY or JOBLEDGER_DATA_DIR"
        )
        raise LedgerMisconfigured(message) from error


def _read_or_make(path: Path) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        with open_regular(path) as kept:
            return _checked(path, bytes.fromhex(kept.read().decode().strip()))
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(KEY_BYTES))
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        path.unlink()  # an empty file would be refused for ever
        raise
    return bytes.fromhex(path.read_text().strip())


def _checked(path: Path, key: bytes) -> bytes:
    """Return the key of a file; an empty one would let anybody try values against digests."""
    if len(key) < KEY_BYTES_MIN:
        raise LedgerMisconfigured(_no_key(path, f"it holds {len(key)} bytes"))
    return key


def _no_key(path: Path, found: str) -> str:
    return (
        f"the redaction key {path} cannot be used: {found}, and {KEY_BYTES_MIN} are needed, "
        "in hexadecimal; put the key back from where it is kept, or remove the file to have a new "
        "one made (older digests cannot be compared with newer ones then)"
    )
