"""The admission of TrainJobs and training runtimes, with the defaults of a TrainJob.

Refused is what could not be built, with the words that its condition would have otherwise.
Source: Trainer v2.3, pkg/webhooks (TrainJobDefaulter, TrainJobValidator, the runtimes' validators).
"""

from collections.abc import Mapping, Sequence

from jobledger.core.jobs.admission import ADMITTED, Verdict, leaves_spec, refused, warned
from jobledger.core.jobs.retries.job_deadline import read_job_deadline
from jobledger.core.trainjob.building.build import build
from jobledger.core.trainjob.building.framework import BuildFailed, Plugin
from jobledger.core.trainjob.building.runtime_validation import runtime_problems
from jobledger.core.trainjob.building.runtimes import not_found
from jobledger.core.trainjob.building.validation import (
    job_problems,
    patches_of,
    update_problems,
    without_time,
)
from jobledger.core.trainjob.spec import read_runtime_ref
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.instants import Instant, rfc3339

DEPRECATED_LABEL, DEPRECATED = "trainer.kubeflow.org/support", "deprecated"
"""A label of a runtime that will be removed, and its value."""


def is_built_anew(new: Manifest, old: Manifest | None) -> bool:
    """Return whether a request decides what is built: a new job, or other runtimePatches."""
    return old is None or not (leaves_spec(new, old) or patches_of(new) == patches_of(old))


def admission_of(plugins: Sequence[Plugin], new: Manifest, runtime: Manifest | None) -> Verdict:
    """Return the verdict on a TrainJob whose objects are to be built (anew).

    Args:
        plugins: What builds.
        new: The TrainJob as it would be.
        runtime: What its runtimeRef names; None if there is no such thing.
    """
    ref = read_runtime_ref(new)
    if not ref.is_supported:
        return refused(f"unsupported runtime: {ref.key}")
    if problems := job_problems(new):
        return refused("; ".join(problems))
    if runtime is None:
        return refused(f"spec.runtimeRef: {not_found(ref)}; create it before the TrainJob")
    try:
        build(plugins, new, runtime)
    except BuildFailed as error:
        return refused(str(error))
    labels = child(runtime, "metadata", "labels")
    warnings = list(read_job_deadline(new).problems)
    if ref.is_cluster_wide and text(labels, DEPRECATED_LABEL) == DEPRECATED:
        told = (
            f'ClusterTrainingRuntime "{ref.name}" is deprecated and will be removed: take another'
        )
        warnings.append(told)
    return warned(warnings) if warnings else ADMITTED


def admission_of_annotations(new: Manifest, old: Manifest) -> Verdict:
    """Return what the author of a change to a TrainJob's annotations is warned of."""
    problems = read_job_deadline(new).problems
    return warned(problems) if problems != read_job_deadline(old).problems else ADMITTED


def admission_of_change(new: Manifest, old: Manifest, jobset: Manifest | None) -> Verdict:
    """Return the verdict on what a change does to a job whose JobSet is there already."""
    if text(new, "metadata", "deletionTimestamp"):
        return ADMITTED
    problems = update_problems(old, new, _active(jobset))
    return refused("; ".join(problems)) if problems else ADMITTED


def _active(jobset: Manifest | None) -> Mapping[str, int]:
    """Return how many Jobs of each replicatedJob are active, as the JobSet says."""
    found = items(jobset or {}, "status", "replicatedJobsStatus")
    return {text(one, "name"): number(one, "active") or 0 for one in found}


def admission_of_runtime(new: Manifest, old: Manifest | None) -> Verdict:
    """Return the verdict on a runtime. Changes are let in, as upstream does."""
    if old is not None:
        return ADMITTED
    problems = runtime_problems(new)
    return refused("; ".join(problems)) if problems else ADMITTED


def times_of_patches(new: Manifest, old: Manifest | None, now: Instant) -> list[tuple[int, str]]:
    """Return which runtimePatches get which time: their index, and an RFC 3339 text.

    A new patch gets the time of the request unless it brings one; one that its manager has
    changed gets it in any case; one that is as it was keeps its time, whatever the request says.
    """
    at = rfc3339(now)
    before = {
        text(one, "manager"): child(one) for one in items(old or {}, "spec", "runtimePatches")
    }
    given = []
    for index, patch in enumerate(items(new, "spec", "runtimePatches")):
        known = before.get(text(patch, "manager"))
        time = text(patch, "time")
        if known is not None:
            wanted = text(known, "time") if without_time(known) == without_time(patch) else at
        else:
            wanted = time or at
        if wanted and wanted != time:
            given.append((index, wanted))
    return given
