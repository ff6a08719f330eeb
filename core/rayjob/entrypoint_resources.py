"""Which custom resources `spec.entrypointResources` asks for: JSON text, name to amount."""

import json
from collections.abc import Mapping

from core.rayjob.go_text import FLOAT32_MAX, float32


def resource_amounts(text: str) -> Mapping[str, float] | None:
    """Return name to amount, as upstream's 32-bit floats hold them; None if `text` is none such."""
    try:
        parsed: object = json.loads(text, parse_int=float, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    amounts: dict[str, float] = {}
    for name, amount in parsed.items():
        if not isinstance(amount, float) or not abs(amount) <= FLOAT32_MAX:
            return None
        amounts[str(name)] = float32(amount)
    return amounts


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")
