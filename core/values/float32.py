"""Rounds numbers to 32-bit floats, which upstream keeps some of them in."""

import struct

FLOAT32_MAX = 3.4028235677973362e38
"""Greatest number that is rounded to a finite 32-bit float, and not to infinity."""


def float32(value: float) -> float:
    """Return the number that is left of `value` in a 32-bit float, in its shortest decimal form.

    Upstream keeps the entrypoint's resources in such floats: 0.1 stays 0.1, 16777217 becomes
    16777216. `value` is finite and not beyond `FLOAT32_MAX`.
    """
    kept = as_float32(value)
    for digits in range(1, 9):
        shorter = float(f"{kept:.{digits}g}")
        if abs(shorter) <= FLOAT32_MAX and as_float32(shorter) == kept:
            return shorter
    return float(f"{kept:.9g}")


def as_float32(value: float) -> float:
    """Return the 32-bit float that is next to `value`, with all its decimals."""
    unpacked: tuple[float] = struct.unpack("<f", struct.pack("<f", value))
    return unpacked[0]
