"""The rule by which a soak judges whether something has stayed flat. It can fail.

The first fifth of a run is warm-up. What is left is cut into three parts of equal length, and the
medians of the first and the last are compared: the last may be larger by a share of the first and
by a fixed amount, and no more. A leak that would show within a day of such a load shows so within
an hour; what only breathes does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

WARM_UP = 0.2
PARTS = 3
SAMPLES_MIN = 9
"""Fewer samples after the warm-up prove nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much something may be larger at the end."""

    share: float
    """As a part of what it was at first."""
    amount: float
    """Besides, in its own unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one series."""

    name: str
    first: float
    last: float
    allowed: float
    is_known: bool = True
    """Whether there were enough samples."""

    @property
    def is_flat(self) -> bool:
        """Return whether it was shown to have stayed flat."""
        return self.is_known and self.last <= self.allowed


def judge(name: str, values: Sequence[float], limit: Limit) -> Verdict:
    """Return the verdict on a series of samples taken at equal intervals."""
    kept = values[int(len(values) * WARM_UP) :]
    if len(kept) < SAMPLES_MIN:
        return Verdict(name=name, first=0, last=0, allowed=0, is_known=False)
    part = len(kept) // PARTS
    first, last = median(kept[:part]), median(kept[-part:])
    allowed = first * (1 + limit.share) + limit.amount
    return Verdict(name=name, first=first, last=last, allowed=allowed)


_BARS = " ▁▂▃▄▅▆▇█"


def plot(values: Sequence[float], columns: int = 60) -> str:
    """Return a series after its warm-up as one line of bars, from nought to its highest."""
    values = values[int(len(values) * WARM_UP) :]
    if not values:
        return ""
    step = max(1, -(-len(values) // columns))
    heights = [max(values[at : at + step]) for at in range(0, len(values), step)]
    top = max(heights) or 1.0
    return "".join(_BARS[round(height / top * (len(_BARS) - 1))] for height in heights)
