"""Predicts whether a queue (Kueue) counts a RayJob as holding no resources, from its status.

Kueue frees the quota of a job that it has suspended as soon as that is so. Source: kueue's
rayjob_controller.go, IsActive.
"""

from jobledger.core.jobs.queue import QUEUE_LABEL
from jobledger.core.rayjob.phases import Phase
from jobledger.core.values.documents import Manifest, text


def looks_stopped(shown: str, manifest: Manifest) -> bool:
    """Return whether a queue would take the job for stopped.

    A status that shows nothing yet counts for jobs of Kueue's queues alone: it reads it so.

    Args:
        shown: `status.jobDeploymentStatus` as the object has it.
        manifest: the object.
    """
    if shown:
        return shown == Phase.SUSPENDED.value
    return bool(text(manifest, "metadata", "labels", QUEUE_LABEL))
