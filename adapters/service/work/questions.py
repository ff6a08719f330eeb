"""Required reads from the API server, one at a time per subject.

While it does not answer, or may not be asked, they must not pile up.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from jobledger.adapters.service.work.workers import Workers
from jobledger.core.values.ids import StreamId, shard_of

PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 1.0, 30.0
"""Pauses after a question that the API server did not answer: they double."""

_Key: TypeAlias = "tuple[StreamId, str]"


@dataclass(frozen=True, slots=True)
class Questions:
    """What the API server is being asked about jobs: about one thing one question at a time.

    A question is asked again until it is answered, or nobody wants to know any more, or the shard
    of the job was lost: whoever gains that begins anew.
    """

    workers: Workers
    epoch: Callable[[int], int | None]
    """Returns the epoch under which a shard is held, or None."""
    passed_over: Callable[[StreamId], None] = lambda _: None
    """Is told of a job of which nothing was asked, as its shard is not held now.

    It may be held under the same epoch again before anybody looks, and nobody would begin anew.
    """
    under_way: dict[_Key, "_Asking"] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(
        self,
        stream: StreamId,
        about: str,
        question: Callable[[], bool],
        is_wanted: Callable[[], bool],
    ) -> None:
        """Have a question asked, unless one about the same is under way.

        `question` is called by the workers and returns whether it was answered.
        """
        with self.lock:
            epoch = self.epoch(shard_of(stream))
            asking = _Asking(self, (stream, about), epoch, question, is_wanted)
            before = self.under_way.get(asking.key)
            if before is not None and before.epoch == asking.epoch:
                return
            self.under_way[asking.key] = asking
        self.workers.submit(stream, asking)

    def over(self, asking: "_Asking") -> None:
        """Take note that a question has ended."""
        with self.lock:
            if self.under_way.get(asking.key) is asking:
                del self.under_way[asking.key]


@dataclass(slots=True, eq=False)
class _Asking:
    """A question under way. Calling it is a task for the workers."""

    questions: Questions
    key: _Key
    epoch: int | None
    question: Callable[[], bool]
    is_wanted: Callable[[], bool]
    pause: float = PAUSE_FIRST_SECONDS

    def __call__(self) -> float | None:
        """Ask once; return the pause before the next time, or None if it is over."""
        is_over = True
        try:
            is_over = self._is_lost() or self.question() or not self.is_wanted()
        finally:  # also after a bug: it may be asked anew
            if is_over:
                self.questions.over(self)
        if is_over:
            return None
        pause, self.pause = self.pause, min(self.pause * 2, PAUSE_MAX_SECONDS)
        return pause

    def _is_lost(self) -> bool:
        stream, questions = self.key[0], self.questions
        epoch = questions.epoch(shard_of(stream))
        if epoch is None:
            questions.passed_over(stream)
        return epoch is None or epoch != self.epoch
