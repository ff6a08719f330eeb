"""Splits a text into the long words that a token, a digest or an encoded value can be part of.

Most of a log are short words. Whoever looks for many things that are long and without blanks looks
through these, a tenth of the text, and not through all of it.
"""

from functools import lru_cache

SHORTEST = 14
"""Characters of the shortest token that an issuer made recognisable."""

CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:+=~"
"""Whatever a recognisable token is made of."""

_OTHERS_TO_BLANKS = bytes(one if one in CHARACTERS else ord(" ") for one in range(256))
_KEPT = 2
"""Texts of which the runs are kept: one text is looked through for several kinds of things."""


@lru_cache(maxsize=_KEPT)
def long_runs(text: str) -> str:
    """Return the runs of `CHARACTERS` in a text that are long enough, with blanks in between."""
    words = text.encode(errors="replace").translate(_OTHERS_TO_BLANKS).split()
    return b" ".join([word for word in words if len(word) >= SHORTEST]).decode("ascii")


def is_run(text: str) -> bool:
    """Tell whether a text stands in a long run wherever it stands."""
    return len(text) >= SHORTEST and text.isascii() and not text.encode().strip(CHARACTERS)
