"""Validates a RayJob and returns the first problem.

Upstream's rules come first, in its order of evaluation and with its texts byte for byte: clients
and runbooks match on them. Ours come after: what upstream meets as an error without end (or as a
crash) is named here with the field, the value and what to do.

Whatever is of a wrong type counts as absent for upstream's rules and is named by ours, so any JSON
at all may come in.

Source: KubeRay's validation.go (ValidateRayJobMetadata, ValidateRayJobSpec, ValidateRayJobStatus),
with the feature gate RayJobDeletionPolicy on and the other optional ones off.
"""

import re
from collections.abc import Iterator

from jobledger.core.rayjob.observations.observations import INVALID_STATUS, Problem
from jobledger.core.rayjob.spec.entrypoint_resources import resource_amounts
from jobledger.core.rayjob.spec.go_values import is_given
from jobledger.core.rayjob.spec.ray_versions import metadata_version_problem
from jobledger.core.rayjob.spec.spec import SubmissionMode, submission_mode_of
from jobledger.core.rayjob.validation.kubernetes_names import (
    dns_1035_label_errors,
    label_value_errors,
    subdomain_errors,
)
from jobledger.core.rayjob.validation.spec import spec_problems
from jobledger.core.rayjob.validation.types import SHOWN_MAX, type_problems
from jobledger.core.values.documents import Manifest, child, items, text

NAME_LENGTH_MAX = 47
"""Leaves room for what is appended: a RayCluster's name and what KubeRay derives from that."""

METADATA = "The RayJob metadata is invalid: "
STATUS = "The RayJob status is invalid: "


def validate(manifest: Manifest, runtime_env_problem: str = "") -> Problem | None:
    """Return the first thing that is wrong with a RayJob, or None if it is valid.

    `runtime_env_problem` is what the YAML parser says of `spec.runtimeEnvYAML` (empty: fine).
    """
    spec = child(manifest, "spec")
    annotations = child(manifest, "metadata", "annotations")
    rules = (
        ("InvalidRayJobMetadata", _metadata_problems(text(manifest, "metadata", "name"))),
        ("InvalidRayJobSpec", spec_problems(spec, annotations, runtime_env_problem)),
        (INVALID_STATUS, _status_problems(manifest)),
        ("InvalidRayJobSpec", type_problems(spec)),
        ("InvalidRayJobSpec", content_problems(spec)),
    )
    for kind, problems in rules:
        for message in problems:
            return Problem(kind=kind, message=message)
    return None


def _metadata_problems(name: str) -> Iterator[str]:
    if len(name.encode(errors="surrogatepass")) > NAME_LENGTH_MAX:
        yield f"{METADATA}RayJob name should be no more than {NAME_LENGTH_MAX} characters"
    if errors := dns_1035_label_errors(name):
        listed = " ".join(errors)
        yield f"{METADATA}RayJob name should be a valid DNS1035 label: [{listed}]"


def _status_problems(manifest: Manifest) -> Iterator[str]:
    waiting = text(manifest, "status", "jobDeploymentStatus") == "Waiting"
    if waiting and text(manifest, "spec", "submissionMode") != "InteractiveMode":
        yield (
            f"{STATUS}JobDeploymentStatus cannot be `Waiting` "
            "when SubmissionMode is not InteractiveMode"
        )


SPEC = "The RayJob spec is invalid: "

_NOT_IN_A_URL = re.compile(r"[/?#%\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""The submission id is a part of the Ray job API's addresses, and upstream does not escape it."""

_JOB_ID_MAX = 253
"""Longest submission id that is taken; those that are derived are far shorter."""

_RUNS_RAY_CLI = frozenset({SubmissionMode.K8S_JOB, SubmissionMode.SIDECAR})


def content_problems(spec: Manifest) -> Iterator[str]:
    """Yield what is wrong with a specification whose fields are all of the right type."""
    job_id = text(spec, "jobId")
    if _NOT_IN_A_URL.search(job_id) or job_id in (".", ".."):
        yield (
            f"{SPEC}spec.jobId is {job_id[:SHOWN_MAX]!a}; it becomes part of a URL of the Ray job "
            "API: leave out '/', '?', '#', '%', spaces and control characters"
        )
    if len(job_id) > _JOB_ID_MAX:
        yield f"{SPEC}spec.jobId has {len(job_id)} characters; write {_JOB_ID_MAX} at most"
    selected = text(spec, "clusterSelector", "ray.io/cluster")
    if selected and (errors := subdomain_errors(selected)):
        yield (
            f"{SPEC}spec.clusterSelector['ray.io/cluster'] is {selected[:SHOWN_MAX]!a}, which is "
            f"the name of no RayCluster: {errors[0]}"
        )
    mode = text(spec, "submissionMode")
    if label_value_errors(mode):
        yield (
            f"{SPEC}spec.submissionMode is {mode[:SHOWN_MAX]!a}, which cannot be a label of the "
            "RayCluster; write K8sJobMode, HTTPMode, InteractiveMode or SidecarMode"
        )
    yield from _submission_problems(spec, submission_mode_of(spec))


def _submission_problems(spec: Manifest, mode: SubmissionMode) -> Iterator[str]:
    template = child(spec, "submitterPodTemplate")
    containers = items(template, "spec", "containers")
    is_k8s_job = mode is SubmissionMode.K8S_JOB
    if is_k8s_job and is_given(spec, "submitterPodTemplate") and not containers:
        yield (
            f"{SPEC}spec.submitterPodTemplate.spec.containers is empty; add the container that "
            "submits the job, or leave out spec.submitterPodTemplate"
        )
    own_command = is_k8s_job and len(containers) > 0 and len(items(containers[0], "command")) > 0
    hands_in = mode is SubmissionMode.HTTP or (mode in _RUNS_RAY_CLI and not own_command)
    written = text(spec, "entrypointResources")
    if written and hands_in and resource_amounts(written) is None:
        yield (
            f"{SPEC}spec.entrypointResources is {written[:SHOWN_MAX]!a}; write a JSON object of "
            'names and numbers, such as {"accelerator": 1}'
        )
    version = text(spec, "rayClusterSpec", "rayVersion")
    problem = metadata_version_problem(version) if child(spec, "metadata") else ""
    if problem and mode in _RUNS_RAY_CLI:
        yield (
            f"{SPEC}{problem}; spec.rayClusterSpec.rayVersion is {version[:SHOWN_MAX]!a}: "
            "correct it, or leave out spec.metadata"
        )
