"""Escapes terminal control characters in foreign text, so that they are shown and not obeyed.

A log, a name or a message may hold sequences that colour, move the cursor, set the title, fill the
clipboard, or turn the order of characters around. Whoever reads it shall see them.
"""

import re

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""Controls of C0 (but tab and line feed) and C1, line and paragraph separators, and what changes
the direction of writing. Source: ECMA-48; Unicode, annex 9."""


def visible(text: str) -> str:
    r"""Return a text with escapes such as `\x1b` in place of what a terminal would obey."""
    return _OBEYED.sub(_written_out, text)


def visible_json(document: str) -> str:
    r"""Return JSON of the same meaning with `\u009b` in place of what a terminal would obey."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004  # two digits
