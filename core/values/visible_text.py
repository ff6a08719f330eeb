"""Escapes terminal control characters in foreign text, so that they are shown and not obeyed.

A log, a name or a message may hold sequences that colour, move the cursor, set the title, fill the
clipboard, or turn the order of characters around. Whoever reads it shall see them.
"""

import re
from collections.abc import Iterator

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff]"
)
"""Controls of C0 (but tab and line feed) and C1, line and paragraph separators, what changes the
direction of writing, what is not seen at all, and what cannot be written. The joiners U+200C and
U+200D stay, which words of some languages need, and U+FE00 to U+FE0F, which pictures do. Source:
ECMA-48; Unicode, annex 9, general category Cf, property Default_Ignorable_Code_Point."""


COLOURS = re.compile(
    r"\x1b(?:\[[0-9;:?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?)"
)
"""Sequences of a terminal: CSI and OSC. Source: ECMA-48, sections 5.4 and 5.6."""


def without_colours(text: str) -> str:
    """Return a text without the sequences of a terminal: a log's colours say nothing."""
    return COLOURS.sub("", text) if "\x1b" in text else text


def visible(text: str) -> str:
    r"""Return a text with escapes such as `\x1b` in place of what a terminal would obey."""
    if text.isascii() and text.isprintable():  # most are, and looking for more takes time
        return text
    return _OBEYED.sub(_written_out, text)


def visible_json(document: str) -> str:
    r"""Return JSON of the same meaning with `\u009b` in place of what a terminal would obey."""
    return _OBEYED.sub(lambda found: "".join(map(_unit, _utf_16(found[0]))), document)


_CALCULATED = ("=", "+", "-", "@", "\t", "\r", "\N{FULLWIDTH EQUALS SIGN}")
"""What a text begins with that a spreadsheet takes for a formula, and runs. Source: OWASP, CSV
Injection."""


def not_calculated(text: str) -> str:
    """Return a visible text; one that a spreadsheet would calculate begins with an apostrophe."""
    return f"'{visible(text)}" if text.startswith(_CALCULATED) else visible(text)


def one_line(text: str) -> str:
    """Return a visible text without line ends: each, and the blanks around it, is one blank."""
    lines = text.splitlines()
    if len(lines) > 1:
        lines = [" ".join(line for part in lines if (line := part.strip()))]
    return visible("".join(lines))


def _utf_16(character: str) -> Iterator[int]:
    """Return the one or two units in which JSON escapes a character."""
    encoded = character.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2))


def _unit(code: int) -> str:
    return f"\\u{code:04x}"


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:  # noqa: PLR2004  # four digits
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004  # two digits
