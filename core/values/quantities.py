"""Kubernetes quantities: parsing, arithmetic, canonical form.

Source: k8s.io/apimachinery/pkg/api/resource. The sum keeps the form of its first term.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from jobledger.core.values.documents import Json

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?"
)
_EXPONENT_MAX = 18
"""Beyond it no amount is meant that a machine could have. Source: Quantity's largest is 2^63-1."""

_LENGTH_MAX = 64
"""Characters; longer texts are no quantity."""

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
                exact = -(-scaled.numerator // scaled.denominator)  # rounded up, as upstream does
                return _scaled(exact, 1000, _DECIMAL[index:])
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
    found = _QUANTITY.fullmatch(written) if len(written) <= _LENGTH_MAX else None
    if found is None:
        return None
    number, suffix = Fraction(found[1]), found[2] or ""
    if suffix in _BINARY and suffix:
        return Quantity(number * 1024 ** _BINARY.index(suffix), is_binary=True)
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        exponent = int(suffix[1:])
        if abs(exponent) > _EXPONENT_MAX:
            return None
        return Quantity(number * Fraction(10) ** exponent)
    return Quantity(number * Fraction(1000) ** (_DECIMAL.index(suffix) - _WHOLE))


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
