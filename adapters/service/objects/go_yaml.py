"""Resolves YAML scalars as Go does, so that runtime environments equal upstream's.

`16:9` and `0o9` are texts, `1e3` and `08` are numbers, `010` is eight, `y` is true.

Source: go.yaml.in/yaml/v2 (resolve.go, decode.go) and sigs.k8s.io/yaml, which KubeRay uses.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from decimal import Decimal
from math import inf, isfinite, nan

from jobledger.core.values.float32 import FLOAT32_MAX, float32

Scalar = str | int | float | bool | None

_TAG = "tag:yaml.org,2002:"
STR, BINARY, MERGE = f"{_TAG}str", f"{_TAG}binary", f"{_TAG}merge"
_KINDS = {"bool": f"{_TAG}bool", "int": f"{_TAG}int", "float": f"{_TAG}float"}
_NULL, _TIMESTAMP = f"{_TAG}null", f"{_TAG}timestamp"
_RESOLVED = frozenset({"", STR, _NULL, _TIMESTAMP, *_KINDS.values()})

_WORDS: Mapping[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -inf),
}
_WHOLE = re.compile(
    r"(?P<sign>[-+]?)(?:0[bB](?P<two>[01]+)|0[oO]?(?P<eight>[0-7]+)|0[xX](?P<sixteen>[0-9a-fA-F]+)"
    r"|(?P<ten>0|[1-9][0-9]*))"
)
_BASES = {"two": 2, "eight": 8, "ten": 10, "sixteen": 16}
_SIGNED_TWO = re.compile(r"(-?)0b([-+]?)([01]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DOTTED = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?", re.DOTALL)

_PLAIN_FROM, _PLAIN_TO = -4, 6
"""Between these powers of ten FormatFloat writes the key of a map without an exponent."""
_INT64_MAX, _UINT64_MAX = 2**63 - 1, 2**64 - 1
_DIGITS_MAX = 64
"""In base two; a whole number with more is beyond 64 bits."""


class Unreadable(ValueError):
    """It is YAML, and means nothing that is taken; the message holds nothing of the content."""


def scalar(tag: str, written: str) -> Scalar:
    """Return what a scalar means; `tag` is the one it has, empty for one written plainly.

    Raises:
        Unreadable: it is not what its tag says.
    """
    if tag == BINARY:
        return _decoded(written)
    if tag not in _RESOLVED or tag == STR:
        return written
    kind, value = _resolved(written)
    if tag in ("", kind):
        return value
    if tag == _TIMESTAMP and _DATE.fullmatch(written):
        return written
    if tag == _KINDS["float"] and kind == _KINDS["int"] and isinstance(value, int):
        return float(value)
    raise Unreadable("a value that is not what its tag says")


def _decoded(written: str) -> str:
    try:
        return base64.b64decode(written.translate({10: None, 13: None}), validate=True).decode(
            errors="replace"
        )
    except binascii.Error:
        raise Unreadable("a value that is no base64") from None


def _resolved(written: str) -> tuple[str, Scalar]:
    if written in _WORDS:
        value = _WORDS[written]
        if value is None:
            return _NULL, None
        return _KINDS["bool" if isinstance(value, bool) else "float"], value
    first = written[:1]
    if first == ".":
        return _float(written) if _DOTTED.fullmatch(written) else (STR, written)
    if first not in tuple("0123456789+-"):
        return STR, written
    return _number(written, written.replace("_", ""))


def _number(written: str, plain: str) -> tuple[str, Scalar]:
    """Return a number, or the text as it is written if it is none."""
    whole = _whole(plain)
    if whole is not None:
        return _KINDS["int"], whole
    if _FLOAT.fullmatch(plain):
        kind, value = _float(plain)
        return (kind, value) if kind != STR else (STR, written)
    return STR, written


def _whole(plain: str) -> int | None:
    """Return a whole number of 64 bits; of those above the signed ones, only without a sign."""
    if found := _WHOLE.fullmatch(plain):
        base, digits = next((_BASES[name], found[name]) for name in _BASES if found[name])
        sign = found["sign"]
    elif (found := _SIGNED_TWO.fullmatch(plain)) and not (found[1] and found[2]):
        base, digits, sign = 2, found[3], found[1] or found[2]
    else:
        return None
    if len(digits.lstrip("0")) > _DIGITS_MAX:
        return None
    value = int(digits, base)
    if sign == "-":
        return -value if value <= _INT64_MAX + 1 else None
    return value if value <= (_INT64_MAX if sign else _UINT64_MAX) else None


def _float(plain: str) -> tuple[str, Scalar]:
    value = float(plain.replace("_", ""))
    return (_KINDS["float"], value) if isfinite(value) else (STR, plain)


def key_text(key: Scalar) -> str:
    """Return the key of a map as JSON has it.

    Raises:
        Unreadable: it is nothing, or a whole number beyond 63 bits.
    """
    if key is None or (isinstance(key, int) and key > _INT64_MAX):
        raise Unreadable("a key that JSON cannot have")
    if isinstance(key, bool):
        return "true" if key else "false"
    return _float_text(key) if isinstance(key, float) else str(key)


def _float_text(value: float) -> str:
    """Return a number as Go's FormatFloat(value, 'g', -1, 32) writes it."""
    if value != value:  # noqa: PLR0124 only of NaN
        return ".nan"
    if abs(value) > FLOAT32_MAX:
        return ".inf" if value > 0 else "-.inf"
    sign, digits, _ = (short := Decimal(repr(float32(value))).normalize()).as_tuple()
    return _formatted("-" if sign else "", "".join(map(str, digits)), short.adjusted())


def _formatted(sign: str, digits: str, exponent: int) -> str:
    if not _PLAIN_FROM <= exponent < _PLAIN_TO:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, part = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}{'.' + part if part else ''}"
