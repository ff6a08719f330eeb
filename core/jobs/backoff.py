"""The pause before the next try: doubling, capped."""

from datetime import timedelta

EFFECT_RETRY_MAX = timedelta(minutes=5)
"""Longest pause before a refused effect is tried again."""

_DOUBLINGS_MAX = 30


def doubled(first: timedelta, times: int, longest: timedelta) -> timedelta:
    """Return `first` after `times` doublings, at most `longest`."""
    factor = 1 << min(times, _DOUBLINGS_MAX)
    return min(first * factor, longest)
