"""The form in which watched objects are kept: a parsed one takes ten times the memory."""

import threading
from collections.abc import Sequence
from typing import Any

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor

from jobledger.core.values.documents import Json, Manifest, child, items

_PACKING_LEVEL = 1

SMALL_BYTES = 2_048
"""What is smaller is kept as it is.

It would become half as large. But zstandard lets go of the interpreter meanwhile, and beside a busy
thread it takes up to the switch interval (half a millisecond) to get it back.
"""

_ZSTANDARD = b"("
"""How what was compressed begins; no JSON does. Source: RFC 8878, section 3.1.1."""


class _OfThread(threading.local):
    """What compresses for one thread: two at once it must not serve."""

    def __init__(self) -> None:
        self.compress = ZstdCompressor(level=_PACKING_LEVEL).compress
        self.decompress = ZstdDecompressor().decompress


_here = _OfThread()


def pack(value: object) -> bytes:
    """Return an object, or a part of one, in the form in which it is kept."""
    encoded = msgspec.json.encode(value)
    return encoded if len(encoded) < SMALL_BYTES else _here.compress(encoded)


def unpack(packed: bytes) -> Manifest:
    """Return an object that is kept."""
    unpacked: Manifest = unpack_any(packed)
    return unpacked


def unpack_any(packed: bytes) -> Any:  # noqa: ANN401 any JSON
    """Return what is kept and is no object."""
    return msgspec.json.decode(_here.decompress(packed) if packed[:1] == _ZSTANDARD else packed)


def pack_status(manifest: Manifest) -> bytes:
    """Return the status of an object, and who wrote what, in the form in which they are kept."""
    return pack(status_of(manifest))


def status_of(manifest: Manifest) -> tuple[Manifest, Sequence[Json]]:
    """Return the part of a status that is kept, and who wrote what."""
    managed = items(manifest, "metadata", "managedFields")  # of the status alone, as decoded
    kept = {
        name: value
        for name, value in child(manifest, "status").items()
        if name != "rayClusterStatus"
    }
    return kept, managed
