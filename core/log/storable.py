"""Makes texts, numbers and documents storable in jsonb, so that they are read back unchanged."""

import math
import re
from collections.abc import Mapping

from jobledger.core.values.documents import Json, text

DEEPEST = 100
"""Levels of nesting that are looked at; no Kubernetes schema comes near."""

TOO_DEEP = "nested too deeply to be kept"
"""Stands in place of whatever lies deeper."""

_LARGEST_BITS = 13_000
"""Whole numbers beyond are described, not kept: Python refuses to print them."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What jsonb and UTF-8 cannot hold."""


def storable_text(written: str) -> str:
    """Return a text with U+FFFD in place of U+0000 and of lone surrogates."""
    fits = written.isascii() and "\x00" not in written
    return written if fits else _UNSTORABLE.sub("\ufffd", written)


WORD_CHARACTERS_MAX = 1_000
"""Of a longer name, id or address only so much is kept; it is none that anything accepts."""


def word(document: Json, *path: str) -> str:
    """Return the name, id or other short text found at `path`, as the log can hold it.

    Empty where it is absent or no string. Redaction does not see it: what decides about a job
    must not change with the secrets that are known.
    """
    return storable_text(text(document, *path)[:WORD_CHARACTERS_MAX])


def storable_number(value: float) -> int | float | str:
    """Return a number as it comes back from jsonb, or a text where it could not be kept there.

    A whole number is an int, however it was written.
    """
    if isinstance(value, int):
        bits = value.bit_length()
        return f"a number of {bits} bits" if bits > _LARGEST_BITS else value
    if not math.isfinite(value):
        return str(value)
    return int(value) if value.is_integer() else value


def storable(document: Json, depth: int = 0) -> Json:
    """Return a document as it comes back from jsonb, cut off below `DEEPEST` levels."""
    if isinstance(document, str):
        return storable_text(document)
    if document is None or isinstance(document, bool):
        return document
    if isinstance(document, int | float):
        return storable_number(document)
    if depth >= DEEPEST:
        return TOO_DEEP
    if isinstance(document, Mapping):
        return {storable_text(key): storable(item, depth + 1) for key, item in document.items()}
    return [storable(item, depth + 1) for item in document]
