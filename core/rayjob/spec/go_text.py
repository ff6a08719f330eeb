"""Formats texts, JSON and 32-bit numbers as Go does, so that commands equal upstream's.

Source: Go's strconv.Quote, encoding/json (Go 1.22 and later) and fmt's `%f`.
"""

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite

from jobledger.core.values.documents import Json
from jobledger.core.values.float32 import as_float32

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What Go's strings.TrimSpace takes away (Python's strip takes four more)."""

_QUOTED = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    '"': r"\"",
    "\\": r"\\",
}
_JSON = {
    '"': r"\"",
    "\\": r"\\",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "<": r"\u003c",
    ">": r"\u003e",
    "&": r"\u0026",
    "\u2028": r"\u2028",
    "\u2029": r"\u2029",
}
_NOT_QUOTED_AS_IT_IS = re.compile(r"[^ !#-\[\]-~]")
_NOT_JSON_AS_IT_IS = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_FIXED_FROM, _FIXED_TO = 1e-6, 1e21
"""Between these encoding/json writes a number without an exponent."""


def quote(text: str) -> str:
    """Return `text` as strconv.Quote writes it.

    Which characters outside ASCII are printable follows this Python's Unicode tables, which may
    differ from Go's for characters of the last few years.
    """
    return '"' + _NOT_QUOTED_AS_IT_IS.sub(_quoted, text) + '"'


def _quoted(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character in _QUOTED:
        return _QUOTED[character]
    if 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004 surrogates, no character of their own
        return "\ufffd"
    if character == " " or unicodedata.category(character)[0] in "LMNPS":
        return character
    if code < 0x20 or code == 0x7F:  # noqa: PLR2004 the control characters of ASCII
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 the first plane


def go_json(value: Json) -> str:
    """Return `value` as json.Marshal writes it: compact, keys sorted, `<`, `>` and `&` escaped.

    Raises:
        ValueError: for infinity and NaN, which JSON cannot hold.

    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return '"' + _NOT_JSON_AS_IT_IS.sub(_escaped, value) + '"'
    if isinstance(value, Mapping):
        return (
            "{" + ",".join(f"{go_json(key)}:{go_json(value[key])}" for key in sorted(value)) + "}"
        )
    return "[" + ",".join(map(go_json, value)) + "]"


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character in _JSON:
        return _JSON[character]
    if "\ud800" <= character <= "\udfff":  # surrogates, no character of their own
        return r"\ufffd"
    return f"\\u{ord(character):04x}"


def _number(value: float) -> str:
    if not isfinite(value):
        raise ValueError(f"{value} is no JSON number")
    if value == 0 or _FIXED_FROM <= abs(value) < _FIXED_TO:
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return repr(value).replace("e-0", "e-")


def six_decimals(value: float) -> str:
    """Return a 32-bit float as `%f` prints it: `0.5` is `0.500000`."""
    return f"{as_float32(value):f}"
