"""What asks about running jobs of one kind, again and again, as their states call for it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from jobledger.adapters.service.effects.carrying_out import EffectContext
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.work.workers import Task
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.ports.job_ends import JobEnds
from jobledger.core.values.ids import StreamId


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerParts:
    """What asking about running jobs needs."""

    context: EffectContext
    confirmations: Confirmations
    interval_seconds: float
    """How often a job is asked about that runs."""
    threads: int
    ends: JobEnds | None = None
    """Early hints that jobs have ended; None: they are only asked about."""


class Follower(Protocol):
    """Follows the jobs of one kind. Called by the turn's thread."""

    def start(self) -> None:
        """Start the threads, once; nobody is asked before `open_gate`."""

    def open_gate(self) -> None:
        """Begin to ask."""

    def stop(self) -> None:
        """End; answers under way are still recorded."""

    def follow(self, stream: StreamId, state: JobState) -> Task | None:
        """Ask from now on what the state calls for; return a task for the workers that asks."""

    def forget(self, stream: StreamId) -> None:
        """Ask no more about a job."""

    def look(self, stream: StreamId, afterwards: Callable[[], None]) -> bool:
        """Ask about a job at once and call `afterwards` when the answer has been recorded.

        Return whether there is anything to ask; if not, `afterwards` is never called.
        """

    def tell_with_answer(self, stream: StreamId, end: JobObservation) -> bool:
        """Tell of what ends an attempt along with an answer about the job, asked for at once.

        Return whether there is anything to ask; if not, nothing was told. Called from any thread.
        """

    def streams(self) -> Collection[StreamId]:
        """Return the jobs that are asked about."""
