"""Reads a TrainJob's JobSet afresh before its deadline is judged.

After a pause of the controller the world has moved on, and a watch may lag: a job whose JobSet has
completed has completed.
"""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.adapters.kinds.trainjob.watching.listeners import DependentListener
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import JOBSETS, Cluster


@dataclass(frozen=True, slots=True)
class JobSetLook:
    """Asks for the JobSet, tells it, then goes on. Calling it is a question."""

    cluster: Cluster
    around: EventHandlers
    clock: Clock
    no_answer: Callable[[str, ClusterError], bool]
    """Is told of a look that had none; returns that there was none."""
    identity: JobIdentity
    then: Callable[[], None]

    def __call__(self) -> bool:
        """Look once; return whether there was an answer.

        Where there is none, nothing could be deleted either.
        """
        identity = self.identity
        try:
            found = self.cluster.get(JOBSETS, identity.namespace, identity.name)
        except ClusterError as error:
            return self.no_answer(identity.name, error)
        if found is not None:  # told as the watch would, so that it is not undone by older news
            DependentListener(self.around, JOBSETS.kind).seen(found, self.clock.now())
        self.then()
        return True
