"""Markers: what stands in the place of a secret."""

import re
from functools import lru_cache
from typing import Final

from jobledger.core.log.keyed_digests import hmac_hex
from jobledger.core.log.storable import storable_text

MARKER_WORD: Final = "redacted:"
"""Begins a marker."""

_MARKER_HEX = 12
MARKER: Final = re.compile(rf"{MARKER_WORD}[0-9a-f]{{{_MARKER_HEX}}}")
MARKER_LENGTH: Final = len(MARKER_WORD) + _MARKER_HEX

_MARKERS_KEPT = 4_096
"""So many markers are kept: the values of a job stand in each of its objects."""

_KEPT_LENGTH_MAX = 200
"""Characters of a secret whose marker is kept."""


def marker_of(key: bytes, secret: str) -> str:
    """Return what stands in place of `secret`: `redacted:` and a digest under the key."""
    return (_kept_marker if len(secret) <= _KEPT_LENGTH_MAX else _marker)(key, secret)


def _marker(key: bytes, secret: str) -> str:
    return MARKER_WORD + hmac_hex(key, storable_text(secret).encode())[:_MARKER_HEX]


_kept_marker = lru_cache(maxsize=_MARKERS_KEPT)(_marker)
