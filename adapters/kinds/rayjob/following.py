"""Follows RayJobs: their heads are polled, their Pods looked at where a retry depends on them."""

from collections.abc import Collection

from jobledger.adapters.kinds.rayjob.acting.pod_looks import PodLooks
from jobledger.adapters.service.effects.carrying_out import EffectContext
from jobledger.adapters.service.heads.polls import Polls
from jobledger.adapters.service.work.workers import Task
from jobledger.core.kinds import JobState
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.ids import StreamId


class RayJobFollower:
    """Follows RayJobs. Called by the turn's thread."""

    def __init__(self, context: EffectContext, polls: Polls) -> None:
        self._polls, self._pod_looks = polls, PodLooks(context)

    def follow(self, stream: StreamId, state: JobState) -> Task | None:
        """Poll as the state calls for; return a task that looks at Pods, if one is due."""
        assert isinstance(state, RayJobState), "a stream is one job, of one kind"
        self._polls.update(stream, state)
        return self._pod_looks.offer(stream, state)

    def forget(self, stream: StreamId) -> None:
        """Ask no more about a job."""
        self._polls.forget(stream)
        self._pod_looks.forget(stream)

    def streams(self) -> Collection[StreamId]:
        """Return the jobs whose heads are polled or whose Pods are looked at."""
        return {*self._polls.streams(), *self._pod_looks.under_way}
