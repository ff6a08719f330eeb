"""Makes texts, numbers and documents storable in jsonb, so that they are read back unchanged."""

import math
import re
from collections.abc import Mapping
from itertools import chain
from typing import Final

from jobledger.core.log.chain import sorted_encoder
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


_PLAIN: Final = frozenset((dict, list, str, int, bool, type(None)))
"""Types of values that are stored as they are, but for some texts and very large numbers."""


def storable_json(document: Json) -> bytes | None:
    """Return the canonical JSON of a document that `storable` leaves as it is.

    None where it might change something, or canonical JSON might be another; so it is of few
    objects of a cluster. It takes a tenth of the time of changing what is not storable.
    """
    if not _is_plain(document):
        return None
    try:
        written = sorted_encoder.encode(document)
    except (TypeError, ValueError, OverflowError):  # half a surrogate pair, a number without end
        return None
    return None if b"\\u0000" in written else written


def _is_plain(document: Json) -> bool:
    """Return whether there are only plain values, level by level, and not too many levels."""
    values: list[Json] = [document]
    for _ in range(DEEPEST + 1):
        if not _PLAIN.issuperset(map(type, values)):
            return False
        dicts = [value for value in values if type(value) is dict]
        lists = [value for value in values if type(value) is list]
        if not dicts and not lists:
            return True
        values = [*chain.from_iterable(map(dict.values, dicts)), *chain.from_iterable(lists)]
    return False
