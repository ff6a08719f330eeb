"""Validates a TrainJob by upstream's rules, with upstream's messages.

Where the webhooks of Trainer are installed they refuse such objects; where they are not, the job
says what is wrong as a failed build. Source: Trainer v2.3, pkg/webhooks and the JobSet plugin.
"""

import re
from collections.abc import Iterator, Mapping

from jobledger.core.trainjob.building.framework import Info
from jobledger.core.trainjob.building.strategic_merge import as_typed
from jobledger.core.trainjob.names import DATASET, MODEL, NODE
from jobledger.core.values.documents import Json, Manifest, child, items, number, text

NAME_MAX = 63
ONLY_WHEN_SUSPENDED = (
    "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
)
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DOMAIN_PATH = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    r"/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
)
"""Source: IsDomainPrefixedPath of k8s.io/apimachinery."""
_INITIALIZER_VOLUME = "initializer"


def job_problems(job: Manifest) -> list[str]:
    """Return what is wrong with a TrainJob whatever its runtime."""
    name = text(job, "metadata", "name")
    found = []
    if _NAME.fullmatch(name) is None:
        found.append("metadata.name must match RFC 1035 DNS label format")
    if len(name) > NAME_MAX:
        found.append("metadata.name must be no more than 63 characters")
    processes = number(job, "spec", "trainer", "numProcPerNode")
    if processes is not None and processes < 1:
        found.append(f"spec.trainer.numProcPerNode is {processes}, must be 1 or more")
    nodes = number(job, "spec", "trainer", "numNodes")
    if nodes is not None and nodes < 0:
        found.append(f"spec.trainer.numNodes is {nodes}, must not be negative")
    for index, patch in enumerate(items(job, "spec", "runtimePatches")):
        manager = text(patch, "manager")
        if _DOMAIN_PATH.fullmatch(manager) is None:
            found.append(
                f"spec.runtimePatches[{index}].manager: {manager!r} must be a domain-prefixed path "
                '(such as "acme.io/foo")'
            )
    return found


def jobset_problems(info: Info) -> Iterator[str]:
    """Yield initializers and patches for which the runtime has no place."""
    jobs = {text(item, "name"): child(item) for item in _runtime_jobs(info)}
    for field, name in (("dataset", DATASET), ("model", MODEL)):
        if isinstance(child(info.job, "spec", "initializer").get(field), Mapping):
            yield from _initializer_problems(field, name, jobs.get(name))
    for patch in items(info.job, "spec", "runtimePatches"):
        spec = child(patch, "trainingRuntimeSpec", "template", "spec")
        for item in items(spec, "replicatedJobs"):
            name = text(item, "name")
            if name not in jobs:
                yield f"must not have targetJob that doesn't exist in the runtime: {name}"
            else:
                yield from _patch_problems(item, jobs[name])


def _runtime_jobs(info: Info) -> list[Json]:
    """Return the replicatedJobs as patched: upstream looks at what is to be built."""
    return list(items(info.template, "replicatedJobs"))


def _pod(job: Json) -> Manifest:
    return child(job, "template", "spec", "template", "spec")


def _initializer_problems(field: str, name: str, job: Manifest | None) -> Iterator[str]:
    where = f"spec.initializer.{field}"
    if job is None:
        yield f"{where}: must have {name} job when trainJob is configured with input {field}"
        return
    container = next(
        (one for one in items(_pod(job), "containers") if text(one, "name") == name), None
    )
    if container is None:
        yield f"{where}: must have container with name - {name} in the {name} job"
    elif not any(
        text(one, "name") == _INITIALIZER_VOLUME for one in items(container, "volumeMounts")
    ):
        yield f"{where}: must have volumeMount with name - {_INITIALIZER_VOLUME}"


def _patch_problems(item: Json, job: Manifest) -> Iterator[str]:
    pod, patched = _pod(job), _pod(item)
    known = {
        text(one, "name") for kind in ("containers", "initContainers") for one in items(pod, kind)
    }
    for kind in ("containers", "initContainers"):
        for one in items(patched, kind):
            name = text(one, "name")
            if name not in known:
                yield f"must not have {kind} that doesn't exist in the runtime job: {name}"
            elif kind == "containers" and name in (DATASET, MODEL, NODE) and items(one, "env"):
                yield f"must not have envs for the {DATASET}, {MODEL}, {NODE} containers: {name}"


def update_problems(before: Manifest, after: Manifest, active: Mapping[str, int]) -> list[str]:
    """Return what is wrong with a change of a TrainJob.

    Args:
        before: The TrainJob before the change.
        after: The TrainJob after it.
        active: Name of each replicatedJob of the JobSet -> how many Jobs are active.
    """
    if patches_of(before) == patches_of(after):
        return []
    suspended = any(child(job, "spec").get("suspend") is True for job in (before, after))
    if not suspended:
        return [ONLY_WHEN_SUSPENDED]
    return [
        f"RuntimePatches cannot be modified when the JobSet's ReplicatedJob {name} is still active"
        for name, count in active.items()
        if count > 0
    ]


def patches_of(job: Manifest) -> list[Manifest]:
    """Return the patches without their times, which the API server's side writes."""
    return [without_time(one) for one in items(job, "spec", "runtimePatches")]


def without_time(patch: Json) -> Manifest:
    """Return what a patch asks for, in the one form that all who ask for the same have."""
    typed = child(as_typed(patch))
    return {key: value for key, value in typed.items() if key != "time"}
