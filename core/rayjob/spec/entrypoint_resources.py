"""Parses `spec.entrypointResources`: JSON text with custom resources and amounts."""

import json
from collections.abc import Mapping

from jobledger.core.values.float32 import FLOAT32_MAX, float32


def resource_amounts(text: str) -> Mapping[str, float] | None:
    """Return name to amount, as upstream's 32-bit floats hold them; None if `text` is none such.

    `null` is nothing, as it is to Go.
    """
    try:
        parsed: object = json.loads(text, parse_int=float, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        return None
    amounts: dict[str, float] = {}
    for name, given in parsed.items():
        amount = 0.0 if given is None else given
        if not isinstance(amount, float) or not abs(amount) <= FLOAT32_MAX:
            return None
        amounts[str(name)] = float32(amount)
    return amounts


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")
