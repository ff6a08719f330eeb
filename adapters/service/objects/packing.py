"""The form in which watched objects are kept: a parsed one takes ten times the memory."""

import zlib
from typing import Any

import msgspec

from jobledger.core.values.documents import Manifest

_PACKING_LEVEL = 1


def pack(value: object) -> bytes:
    """Return an object, or a part of one, in the form in which it is kept."""
    return zlib.compress(msgspec.json.encode(value), _PACKING_LEVEL)


def unpack(packed: bytes) -> Manifest:
    """Return an object that is kept."""
    unpacked: Manifest = msgspec.json.decode(zlib.decompress(packed))
    return unpacked


def unpack_any(packed: bytes) -> Any:  # noqa: ANN401 any JSON
    """Return what is kept and is no object."""
    return msgspec.json.decode(zlib.decompress(packed))
