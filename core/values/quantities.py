"""Kubernetes quantities: parsing, arithmetic, canonical form.

Source: k8s.io/apimachinery/pkg/api/resource. The sum keeps the form of its first term.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from jobledger.core.values.documents import Json

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?"
)
_EXPONENT_MAX = 64
"""Beyond it no amount is meant that a machine could have."""
_EXPONENT_MIN = -128
"""Below it every amount of at most `_LENGTH_MAX` characters is held as a nano."""
_BINARY_MAX = Fraction(2**63 - 1)
_NANOS = 10**9

_LENGTH_MAX = 64
"""Characters; longer texts are no quantity."""

_KEPT = 1024
"""Quantities that are kept as they were read: most jobs ask for the same few."""

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_WHOLE = _DECIMAL.index("")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount and whether it is written with binary suffixes."""

    amount: Fraction
    is_binary: bool = False

    def __add__(self, other: "Quantity") -> "Quantity":
        is_binary = self.is_binary if self.amount else other.is_binary
        return Quantity(self.amount + other.amount, is_binary)

    def __mul__(self, times: int) -> "Quantity":
        return Quantity(self.amount * times, self.is_binary)

    def __str__(self) -> str:
        if self.is_binary and self.amount.denominator == 1 and abs(self.amount) >= 1024:  # noqa: PLR2004 Ki
            return _scaled(int(self.amount), 1024, _BINARY)
        for index, suffix in enumerate(_DECIMAL[: _WHOLE + 1]):
            scaled = self.amount * 1000 ** (_WHOLE - index)
            if scaled.denominator == 1 or suffix == "n":
                return _scaled(int(scaled), 1000, _DECIMAL[index:])
        raise AssertionError("the nano form takes everything")


def _scaled(amount: int, base: int, suffixes: tuple[str, ...]) -> str:
    index = 0
    while amount and amount % base == 0 and index + 1 < len(suffixes):
        amount, index = amount // base, index + 1
    return f"{amount}{suffixes[index]}" if amount else "0"


def parse_quantity(value: Json) -> Quantity | None:
    """Return the quantity that a JSON value writes, or None if it writes none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    written = str(value) if not isinstance(value, int) or abs(value) < 2**63 else ""
    return _parsed(written) if len(written) <= _LENGTH_MAX else None


@lru_cache(_KEPT)
def _parsed(written: str) -> Quantity | None:
    found = _QUANTITY.fullmatch(written)
    if found is None:
        return None
    number, suffix = Fraction(found[1]), found[2] or ""
    if suffix in _BINARY and suffix:
        return _held(number * 1024 ** _BINARY.index(suffix), is_binary=True)
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        exponent = max(int(suffix[1:]), _EXPONENT_MIN)
        return None if exponent > _EXPONENT_MAX else _held(number * Fraction(10) ** exponent)
    return _held(number * Fraction(1000) ** (_DECIMAL.index(suffix) - _WHOLE))


def _held(amount: Fraction, *, is_binary: bool = False) -> Quantity:
    """Return an amount as Kubernetes holds what it has read.

    It has whole nanos, rounded away from nought; binary suffixes go to 2^63-1, and not below 1.
    """
    size = Fraction(math.ceil(abs(amount) * _NANOS), _NANOS)
    if is_binary:
        size = min(size, _BINARY_MAX)
    return Quantity(size if amount >= 0 else -size, is_binary and not 0 < size < 1)


def whole(quantity: Quantity) -> int:
    """Return the amount, rounded up."""
    return -(-quantity.amount.numerator // quantity.amount.denominator)


Amounts = Mapping[str, Quantity]
"""Name of a resource -> how much of it."""


def amounts(document: Json) -> Amounts:
    """Return the readable quantities of a map of resources."""
    if not isinstance(document, Mapping):
        return {}
    read = {name: parse_quantity(value) for name, value in document.items()}
    return {name: found for name, found in read.items() if found is not None}


def total(parts: Iterable[Amounts]) -> Amounts:
    """Return the sum, resource by resource."""
    added: dict[str, Quantity] = {}
    for part in parts:
        for name, quantity in part.items():
            added[name] = added[name] + quantity if name in added else quantity
    return added


def times(each: Amounts, number: int) -> Amounts:
    """Return the amounts of so many that are alike; nothing for none."""
    return {name: quantity * number for name, quantity in each.items()} if number > 0 else {}


def greatest(one: Amounts, other: Amounts) -> Amounts:
    """Return the greater amount of each resource."""
    found = dict(one)
    for name, quantity in other.items():
        if name not in found or quantity.amount > found[name].amount:
            found[name] = quantity
    return found
