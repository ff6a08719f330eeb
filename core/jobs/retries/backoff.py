"""The pause before the next try: constant or exponential, capped, with deterministic jitter."""

import hashlib
from datetime import timedelta

EFFECT_RETRY_MAX = timedelta(minutes=5)
"""Longest pause before a refused effect is tried again."""

_DOUBLINGS_MAX = 30


def constant(pause: timedelta, longest: timedelta) -> timedelta:
    """Return `pause`, at most `longest`."""
    return min(pause, longest)


def doubled(first: timedelta, times: int, longest: timedelta) -> timedelta:
    """Return `first` after `times` doublings, at most `longest`."""
    if not first:
        return first
    factor = min(1 << min(times, _DOUBLINGS_MAX), longest // first + 1)  # more would overflow
    return min(first * factor, longest)


def shortened(pause: timedelta, percent: int, seed: str) -> timedelta:
    """Return `pause` shortened by a share of up to `percent` of it, in whole milliseconds.

    The share follows from `seed` alone and is spread evenly over seeds.
    """
    if percent <= 0:
        return pause
    share = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4]) / (1 << 32)
    milliseconds = pause / timedelta(milliseconds=1) * (1 - share * percent / 100)
    return timedelta(milliseconds=round(milliseconds))
