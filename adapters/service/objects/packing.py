"""The form in which watched objects are kept: a parsed one takes ten times the memory."""

import zlib
from typing import Any

import msgspec

from jobledger.core.values.documents import Manifest

_PACKING_LEVEL = 1

SMALL_BYTES = 2_048
"""What is smaller is kept as it is.

It would become half as large. But zlib lets go of the interpreter meanwhile, and beside a busy
thread it takes up to the switch interval (half a millisecond) to get it back.
"""

_ZLIB = b"x"
"""How what was compressed begins; no JSON does."""


def pack(value: object) -> bytes:
    """Return an object, or a part of one, in the form in which it is kept."""
    encoded = msgspec.json.encode(value)
    return encoded if len(encoded) < SMALL_BYTES else zlib.compress(encoded, _PACKING_LEVEL)


def unpack(packed: bytes) -> Manifest:
    """Return an object that is kept."""
    unpacked: Manifest = unpack_any(packed)
    return unpacked


def unpack_any(packed: bytes) -> Any:  # noqa: ANN401 any JSON
    """Return what is kept and is no object."""
    return msgspec.json.decode(zlib.decompress(packed) if packed[:1] == _ZLIB else packed)
