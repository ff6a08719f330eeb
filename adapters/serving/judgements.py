"""What was judged of tokens: no token is kept, only a hash of it under a key of this process."""

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

REMEMBERED_SECONDS = 60.0
"""How long a judgement holds."""

Verdict = TypeVar("Verdict")


@dataclass(frozen=True, slots=True)
class Judgement(Generic[Verdict]):
    """What was judged of one token."""

    verdict: Verdict
    good: bool
    """Whether its bearer was let in: whoever was is asked about again, however many others are."""
    until: float
    """By the clock of `Judgements`."""


class Judgements(Generic[Verdict]):
    """Remembers judgements. Safe from any thread.

    Who was refused pushes nobody out who was let in: each sort has a limit of its own.
    """

    def __init__(self, monotonic: Callable[[], float], most: int) -> None:
        """Take a clock in seconds, and how many of each sort are kept."""
        self._monotonic, self._most = monotonic, most
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._good: OrderedDict[bytes, Judgement[Verdict]] = OrderedDict()
        self._refused: OrderedDict[bytes, Judgement[Verdict]] = OrderedDict()

    def key(self, *words: str) -> bytes:
        """Return what a token, and what it is sent for, is found by."""
        return hmac.digest(self._key, "\n".join(words).encode(), "sha256")

    def known(self, key: bytes) -> Judgement[Verdict] | None:
        """Return what was judged last, also if it holds no more; None: nothing is known."""
        with self._lock:
            return self._good.get(key) or self._refused.get(key)

    def holds(self, judged: Judgement[Verdict]) -> bool:
        """Return whether a judgement need not be made again yet."""
        return judged.until > self._monotonic()

    def remember(self, key: bytes, verdict: Verdict, *, good: bool) -> None:
        """Keep a judgement in place of any before it."""
        judged = Judgement(verdict, good, self._monotonic() + REMEMBERED_SECONDS)
        with self._lock:
            self._good.pop(key, None)
            self._refused.pop(key, None)
            kept = self._good if good else self._refused
            kept[key] = judged
            if len(kept) > self._most:
                kept.popitem(last=False)
