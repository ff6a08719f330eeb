"""Reads a TrainJob's JobSet afresh before its deadline is judged.

After a pause of the controller the world has moved on, and a watch may lag: a job whose JobSet has
completed has completed.
"""

from dataclasses import dataclass

from jobledger.adapters.kinds.trainjob.watching.listeners import DependentListener
from jobledger.adapters.service.resync.lookout import FreshLook, Lookout
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.ports.cluster import JOBSETS


@dataclass(frozen=True, slots=True)
class JobSetLook:
    """Asks for the JobSet, tells it, then goes on. Calling it is a question."""

    lookout: Lookout
    identity: JobIdentity
    look: FreshLook

    def __call__(self) -> bool:
        """Look once; return whether there was an answer.

        Where there is none, nothing could be deleted either.
        """
        lookout, identity = self.lookout, self.identity
        try:
            found = lookout.cluster.get(JOBSETS, identity.namespace, identity.name)
        except ClusterError as error:
            return lookout.no_answer(identity.name, error)
        if found is not None:  # told as the watch would, so that it is not undone by older news
            DependentListener(lookout.around, JOBSETS.kind).seen(found, lookout.clock.now())
        self.look.then()
        return True
