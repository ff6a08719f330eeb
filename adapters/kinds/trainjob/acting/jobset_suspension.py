"""Suspends or resumes an existing JobSet by `spec.suspend` alone, without building.

For a job that is being deleted and held by somebody's finalizer, of which nothing is to be made
anew; and for a job whose objects cannot be built or applied: what runs can always be stopped.
"""

from jobledger.adapters.kinds.trainjob.acting.apply import Work
from jobledger.adapters.service.effects.context import Done, SupersededEffect, exactly
from jobledger.core.ports.cluster import JOBSETS
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.values.documents import Json, Manifest, child, number, text


def suspend_or_resume(work: Work) -> Done:
    """Bring spec.suspend of the job's JobSet to what the TrainJob wants.

    Raises:
        SupersededEffect: there is no JobSet of the job, or it is being deleted.
        ApplyFailed: the JobSet cannot be asked for.
        ClusterError: the API server refuses the change.
    """
    wanted = child(work.manifest, "spec").get("suspend") is True
    name = work.job.identity.name
    found = work.get(JOBSETS, name, building=False)
    if found is None or not work.is_own(found) or text(found, "metadata", "deletionTimestamp"):
        raise SupersededEffect("the JobSet is gone, or goes")
    already = is_suspended(found) is wanted
    if not already:
        patch: dict[str, Json] = {**exactly(found), "spec": {"suspend": wanted}}
        found = work.world.cluster.merge_patch(JOBSETS, work.job.identity.namespace, name, patch)
    outcome = ApplyOutcome(
        runtime=work.runtime,
        jobset_uid=text(found, "metadata", "uid"),
        jobset_generation=number(found, "metadata", "generation") or 0,
        jobset_suspend=is_suspended(found),
        names=() if already else (f"{JOBSETS.kind}/{name}",),
    )
    return Done(uid=outcome.jobset_uid, details=write_outcome(outcome), already=already)


def is_suspended(jobset: Manifest) -> bool:
    """Return spec.suspend of a JobSet."""
    return child(jobset, "spec").get("suspend") is True
