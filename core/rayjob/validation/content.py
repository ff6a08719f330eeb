"""Jobledger's validation of field contents that would otherwise fail later, on every attempt.

Upstream meets these as errors without end (no status, no Kubernetes Event), or as a crash.
"""

import re
from collections.abc import Iterator

from jobledger.core.rayjob.spec.entrypoint_resources import resource_amounts
from jobledger.core.rayjob.spec.go_values import is_given
from jobledger.core.rayjob.spec.ray_versions import metadata_version_problem
from jobledger.core.rayjob.spec.spec import SubmissionMode, submission_mode_of
from jobledger.core.rayjob.validation.kubernetes_names import label_value_errors, subdomain_errors
from jobledger.core.rayjob.validation.types import SHOWN_MAX
from jobledger.core.values.documents import Manifest, child, items, text

SPEC = "The RayJob spec is invalid: "

_NOT_IN_A_URL = re.compile(r"[/?#%\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""The submission id is a part of the Ray job API's addresses, and upstream does not escape it."""

JOB_ID_MAX = 253
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
    if len(job_id) > JOB_ID_MAX:
        yield f"{SPEC}spec.jobId has {len(job_id)} characters; write {JOB_ID_MAX} at most"
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
