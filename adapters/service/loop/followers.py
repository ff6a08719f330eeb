"""What asks about running jobs of one kind, again and again, as their states call for it."""

from collections.abc import Collection
from typing import Protocol

from jobledger.adapters.service.work.workers import Task
from jobledger.core.kinds import JobState
from jobledger.core.values.ids import StreamId


class Follower(Protocol):
    """Follows the jobs of one kind. Called by the turn's thread."""

    def follow(self, stream: StreamId, state: JobState) -> Task | None:
        """Ask from now on what the state calls for; return a task for the workers that asks."""
        ...

    def forget(self, stream: StreamId) -> None:
        """Ask no more about a job."""
        ...

    def streams(self) -> Collection[StreamId]:
        """Return the jobs that are asked about."""
        ...
