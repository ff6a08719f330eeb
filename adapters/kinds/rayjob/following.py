"""Follows RayJobs: their heads are polled, their Pods looked at where a retry depends on them."""

from collections.abc import Callable, Collection

from jobledger.adapters.kinds.rayjob.acting.pod_looks import PodLooks
from jobledger.adapters.kinds.rayjob.heads.polls import PollParts, Polls
from jobledger.adapters.service.followers import FollowerParts
from jobledger.adapters.service.objects.head_tokens import Tokens
from jobledger.adapters.service.work.workers import Task
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.ids import StreamId


class RayJobFollower:
    """Follows RayJobs. Called by the turn's thread."""

    def __init__(self, parts: FollowerParts) -> None:
        context, world = parts.context, parts.context.world
        self._pod_looks = PodLooks(context)
        self.polls = Polls(
            PollParts(
                ray=world.ray,
                live=world.live,
                inbox=context.inbox,
                confirmations=parts.confirmations,
                clock=context.clock,
                metrics=context.metrics,
                interval_seconds=parts.interval_seconds,
                threads=parts.threads,
                token=Tokens(world.cluster, world.live, context.clock).token,
                ends=parts.ends,
                dice=context.dice,
            )
        )

    def start(self) -> None:
        """Start the threads that poll, once; nobody is asked before `open_gate`."""
        self.polls.start()

    def open_gate(self) -> None:
        """Begin to ask."""
        self.polls.open_gate()

    def stop(self) -> None:
        """End; answers under way are still recorded."""
        self.polls.stop()

    def look(self, stream: StreamId, afterwards: Callable[[], None]) -> bool:
        """Ask the head at once, as `Polls.look` does."""
        return self.polls.look(stream, afterwards)

    def tell_with_answer(self, stream: StreamId, end: JobObservation) -> bool:
        """Tell of an end along with the head's answer, as `Polls.tell_with_answer` does."""
        return self.polls.tell_with_answer(stream, end)

    def follow(self, stream: StreamId, state: JobState) -> Task | None:
        """Poll as the state calls for; return a task that looks at Pods, if one is due."""
        assert isinstance(state, RayJobState), "a stream is one job, of one kind"
        self.polls.update(stream, state)
        return self._pod_looks.offer(stream, state)

    def forget(self, stream: StreamId) -> None:
        """Ask no more about a job."""
        self.polls.forget(stream)
        self._pod_looks.forget(stream)

    def streams(self) -> Collection[StreamId]:
        """Return the jobs whose heads are polled or whose Pods are looked at."""
        return {*self.polls.streams(), *self._pod_looks.under_way}
