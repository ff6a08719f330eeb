"""What events say of the details of an apply, under names of their own."""

from collections.abc import Sequence

from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.events import JobsBuildFailed, JobsCreationFailed, ObjectsApplied
from jobledger.core.values.documents import Manifest


def details_told(told: Sequence[object]) -> Manifest:
    """Return the details that the events of a turn say; empty if they tell of no apply.

    The log does not repeat them in the observation, if they are the same there.
    """
    for event in told:
        if isinstance(event, ObjectsApplied):
            return write_outcome(
                ApplyOutcome(
                    runtime=event.runtime,
                    jobset_uid=event.jobset_uid,
                    jobset_generation=event.jobset_generation,
                    jobset_suspend=event.jobset_suspend,
                    names=event.names,
                    snapshot=event.snapshot,
                )
            )
        if isinstance(event, JobsBuildFailed | JobsCreationFailed):
            failed_building = isinstance(event, JobsBuildFailed)
            return write_outcome(
                ApplyOutcome(
                    runtime=event.runtime,
                    failed_building=failed_building,
                    may_pass=event.may_pass,
                    builder=event.builder if isinstance(event, JobsBuildFailed) else "",
                )
            )
    return {}
