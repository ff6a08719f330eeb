"""Chance for all that spreads work over time; of its own, so that nobody else's is disturbed."""

import random

_SOURCE = random.Random()  # noqa: S311 it spreads, and keeps no secret


def dice() -> float:
    """Return a number from 0 to below 1. Safe to call from any thread."""
    return _SOURCE.random()
