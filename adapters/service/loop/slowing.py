"""Slows jobs with too many events: their observations wait, and the newest replaces older ones.

A job that is edited all the time, or whose children somebody rewrites, would fill the log and keep
the others waiting. Nothing of it is dropped but looks at things that were looked at again since.
Of a job to which somebody gives ever more objects so many looks are kept, at those first of which
its state knows; what was left out is told anew, as it is by then, at the job's turn.
What a job has used is read with it from the log, so that a restart gives none of it back.
"""

import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from jobledger.adapters.service.work.inbox import Arrival
from jobledger.adapters.service.work.slots import job_name
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.jobs.budget import (
    EDITS_PER_MINUTE,
    Budget,
    budget_after,
    whole_budget,
    whole_budget_of_edits,
)
from jobledger.core.kinds import JobObservation, JobState, known_marks, marks_of, subject
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.clock import Clock
from jobledger.core.projections.snapshot import Folded
from jobledger.core.values.ids import StreamId

log = get_logger(__name__)

FORGET_ABOVE = 10_000
"""Above so many budgets those that are whole again are forgotten, and jobs that were told of."""


Edited: TypeAlias = tuple[StreamId, str]
"""A job, and the part of it that is edited; empty: its own object."""

Key = TypeVar("Key", StreamId, Edited)

LOOKS_MAX = 200
"""So many looks at objects of a slowed job wait."""


class Slowing:
    """Knows what is left of each job's budget, and what waits.

    For the turn's thread, but for `has_to_wait` and `looked_through`.
    """

    def __init__(
        self,
        clock: Clock,
        metrics: Metrics,
        events_per_hour: int,
        state_of: Callable[[StreamId], JobState | None] = lambda _: None,
    ) -> None:
        self._clock, self._metrics, self._per_hour = clock, metrics, events_per_hour
        self._state_of = state_of
        self.tell_anew: Callable[[StreamId], None] = lambda _: None
        """Has a job told what is there of it, after looks at its objects were left out."""
        self._left_out: set[StreamId] = set()
        self._budgets: dict[StreamId, Budget] = {}
        self._edits: dict[Edited, Budget] = {}
        """Of bytes of edits to look through. `_lock` is held."""
        self._held: dict[StreamId, list[JobObservation]] = {}
        self._put_off: dict[Edited, Callable[[], None]] = {}
        """What is called once a slowed job has its turn."""
        self._lock = threading.Lock()
        """Held while `_put_off` is looked at or changed."""
        self._told: set[StreamId] = set()

    def admit(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Return what may be taken in now: of slowed jobs what has waited long enough."""
        if not self._held and not self._budgets and not self._put_off:
            return list(arrivals)
        admitted = []
        for stream, observation in arrivals:
            if stream in self._held or self._is_used_up(stream):
                self._hold(stream, observation)
            else:
                admitted.append((stream, observation))
        for stream in [stream for stream in self._held if not self._is_used_up(stream)]:
            admitted += [(stream, observation) for observation in self._held.pop(stream)]
            if stream in self._left_out:
                self._left_out.remove(stream)
                self.tell_anew(stream)
        self._take_up()
        put_off = {stream for stream, _ in list(self._put_off)}  # watches add to it meanwhile
        self._metrics.jobs_slowed.set(len(self._held.keys() | put_off))
        return admitted

    def holds(self, stream: StreamId) -> bool:
        """Return whether observations of a job wait. May be called from any thread."""
        return stream in self._held

    def has_to_wait(
        self, stream: StreamId, later: Callable[[], None], *, is_edit: bool, part: str = ""
    ) -> bool:
        """Return whether a sighting of a job has to wait: the job is slowed, or was edited a lot.

        With a `part` of the job, named in any way, it is one of that, which has a budget of bytes
        of its own: others may edit it. `later`, the last of its job or part, is called at its turn.
        May be called from any thread.
        """
        with self._lock:
            is_slowed = not part and (stream in self._held or self._is_used_up(stream))
            if not is_slowed and not (is_edit and self._is_looked_through((stream, part))):
                return False
            self._put_off[stream, part] = later
        return True

    def looked_through(self, stream: StreamId, size: int, part: str = "") -> None:
        """Take note that so many bytes of an edit are looked through. From any thread."""
        now = self._clock.monotonic()
        with self._lock:
            before = self._edits.get((stream, part), whole_budget_of_edits(now))
            self._edits[stream, part] = before.now(now).without(size)
            if len(self._edits) > FORGET_ABOVE:
                self._edits = _without_whole(self._edits, now)

    def _is_looked_through(self, edited: Edited) -> bool:
        """Return whether as much was looked through of the edits of it as may be for now."""
        budget = self._edits.get(edited)
        return budget is not None and budget.now(self._clock.monotonic()).is_used_up

    def _take_up(self) -> None:
        with self._lock:
            due = [
                (stream, part)
                for stream, part in self._put_off
                if (part or not self._is_used_up(stream))
                and not self._is_looked_through((stream, part))
            ]
            looks = [self._put_off.pop(edited) for edited in due]
            for stream, _ in self._put_off:
                self._tell(stream)
        for look in looks:
            look()

    def read(
        self, stream: StreamId, stored: Sequence[StoredEvent], known: Folded | None = None
    ) -> None:
        """Take note of what the log says that a job has used; what is known here is not undone.

        Of the events that are not read again it is known what they had used.
        """
        now, today = self._clock.monotonic(), self._clock.now()
        ages = ((today - item.record.recorded_at).total_seconds() for item in stored)
        before = None if known is None else (known.spent, (today - known.at).total_seconds())
        found = budget_after(self._per_hour, now, ages, before)
        here = self._budgets.get(stream)
        if found.is_whole or (here is not None and here.now(now).left <= found.left):
            return
        self._budgets[stream] = found

    def used_up(self, stream: StreamId) -> float:
        """Return how much of its budget a job has used up. May be called from any thread."""
        budget = self._budgets.get(stream)
        if budget is None:
            return 0.0
        now = budget.now(self._clock.monotonic())
        return now.at_once - now.left

    def spent(self, stream: StreamId, events: int) -> None:
        """Take note that so many events of a job were appended."""
        now = self._clock.monotonic()
        before = self._budgets.get(stream, whole_budget(self._per_hour, now))
        self._budgets[stream] = before.now(now).without(events)
        if len(self._budgets) > FORGET_ABOVE:
            self._budgets = _without_whole(self._budgets, now)

    def _is_used_up(self, stream: StreamId) -> bool:
        budget = self._budgets.get(stream)
        return budget is not None and budget.now(self._clock.monotonic()).is_used_up

    def _tell(self, stream: StreamId) -> None:
        if stream not in self._told:
            if len(self._told) > FORGET_ABOVE:
                self._told = {told for told in self._told if self._is_used_up(told)}
            self._told.add(stream)
            limits = {"events_per_hour": self._per_hour, "edit_bytes_per_minute": EDITS_PER_MINUTE}
            job = job_name(self._state_of(stream))
            log.warning("job_slowed", job=job, stream=str(stream), **limits)

    def _hold(self, stream: StreamId, observation: JobObservation) -> None:
        self._tell(stream)
        waiting = self._held.setdefault(stream, [])
        looked_at = subject(observation)
        if looked_at is not None:
            waiting[:] = [item for item in waiting if subject(item) != looked_at]
        waiting.append(observation)
        if len(waiting) > LOOKS_MAX:
            self._leave_out(stream, waiting)

    def _leave_out(self, stream: StreamId, waiting: list[JobObservation]) -> None:
        """Leave out the first look at an object of which the job does not know, if it is due."""
        looks = [number for number, item in enumerate(waiting) if marks_of(item)]
        if len(looks) <= LOOKS_MAX:
            return
        state = self._state_of(stream)
        known = known_marks(state) if state is not None else frozenset()
        strange = (number for number in looks if not marks_of(waiting[number]) & known)
        del waiting[next(strange, looks[0])]
        self._left_out.add(stream)


def _without_whole(budgets: dict[Key, Budget], now: float) -> dict[Key, Budget]:
    """Return the budgets of which something is used."""
    return {key: item for key, item in budgets.items() if not item.now(now).is_whole}
