"""Releases jobs where another controller was found; they are only recorded from then on.

What is kept of a job that is controlled says nothing of its status, which was this controller's
own; so each is asked for once more.
"""

from dataclasses import dataclass

from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.resync.lookout import Lookout
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.adapters.service.work.workers import Workers
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.control.controller_fields import ENDED

PAUSE_SECONDS = 5.0
"""Pause after a question that the API server did not answer."""


@dataclass(frozen=True, slots=True)
class StatusLook:
    """A look at one job as it is now. Calling it is a task for the workers."""

    lookout: Lookout
    job: CachedJob

    def __call__(self) -> float | None:
        """Ask for the job and tell it; return the pause before the next try."""
        lookout, identity = self.lookout, self.job.identity
        resource = lookout.around.kinds[self.job.kind].resource
        try:
            found = lookout.cluster.get(resource, identity.namespace, identity.name)
        except ClusterError as error:
            lookout.no_answer(identity.name, error)
            return PAUSE_SECONDS
        if found is not None:  # if it is gone, its watch tells
            JobListener(lookout.around, self.job.kind).seen(found, lookout.clock.now())
        return None


def let_go_of_refused(lookout: Lookout, workers: Workers) -> None:
    """Have every job looked at where another controller was met since the last call."""
    around = lookout.around
    for refusal in around.mapper.control_policy.take_new():
        for job in around.live.jobs():
            here = (job.kind, job.identity.namespace) == (refusal.kind, refusal.namespace)
            if here and not job.recorded:
                workers.submit(job.identity.stream_id, StatusLook(lookout, job))


def where_met(control_policy: ControlPolicy) -> list[str]:
    """Return of which jobs another controller was met, each place with what showed it."""
    return [
        f"another controller is at work, so {one.kind}s in {one.namespace} are only recorded: "
        f"{one.words}"
        for one in control_policy.refusals()
    ]


def is_met_everywhere(control_policy: ControlPolicy, live: ObjectCache) -> bool:
    """Return whether another controller was met, and no job that goes on is controlled here."""
    if not control_policy.refusals():
        return False
    return all(
        job.recorded or control_policy.is_refused(job.kind, job.identity.namespace)
        for job in live.jobs()
        if job.phase not in ENDED
    )
