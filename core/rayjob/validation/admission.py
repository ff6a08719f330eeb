"""The admission of a RayJob: allowed or refused, and warnings to its author.

Upstream's webhook refuses a wrong name only; what else is wrong its controller writes into the
status. So here: the rest is a warning, unless the operator wants it refused.
Source: KubeRay's rayjob_webhook.go (validateRayJob).
"""

from jobledger.core.jobs.admission import Verdict, leaves_spec, refused, warned
from jobledger.core.rayjob.observations.observations import Problem
from jobledger.core.rayjob.spec.retry_annotations import read_retry_options
from jobledger.core.rayjob.validation.validate import METADATA, validate
from jobledger.core.values.documents import Manifest, text


def admission_of(
    new: Manifest, old: Manifest | None, runtime_env_problem: str = "", *, strict: bool = False
) -> Verdict:
    """Return the verdict on a RayJob that is created, or changed from `old`.

    Args:
        new: The RayJob as it would be.
        old: The RayJob as it is; None where it is created.
        runtime_env_problem: What the YAML parser says of `spec.runtimeEnvYAML` (empty: fine).
        strict: Refuse all that would be refused by the status too.
    """
    if leaves_spec(new, old) and not (old is not None and _annotations_differ(new, old)):
        return warned(())
    problem = validate(new, runtime_env_problem)
    if problem is not None and (strict or problem.message.startswith(METADATA)):
        return refused(_words(new, problem))
    problems = [problem.message] if problem is not None else []
    return warned([*problems, *read_retry_options(new).problems])


def _annotations_differ(new: Manifest, old: Manifest) -> bool:
    before, after = (read_retry_options(job) for job in (old, new))
    return before != after and not text(new, "metadata", "deletionTimestamp")


def _words(job: Manifest, problem: Problem) -> str:
    """Return upstream's sentence for a wrong name, and for all else what the status would say."""
    name = text(job, "metadata", "name")
    if not problem.message.startswith(METADATA):
        return f'RayJob.ray.io "{name}" is invalid: {problem.message}'
    what = problem.message.removeprefix(METADATA)
    return f'RayJob.ray.io "{name}" is invalid: metadata.name: Invalid value: "{name}": {what}'
