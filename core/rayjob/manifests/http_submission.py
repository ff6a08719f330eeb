"""Builds the HTTP request that submits an entrypoint in HTTPMode.

Source: KubeRay's ConvertRayJobToReq: numbers pass through 32-bit floats, the entrypoint is not
trimmed.
"""

from jobledger.core.ports.ray_jobs import Submission
from jobledger.core.rayjob.manifests.submit_command import entrypoint_amount
from jobledger.core.rayjob.spec.entrypoint_resources import resource_amounts
from jobledger.core.rayjob.spec.go_values import texts
from jobledger.core.values.documents import Manifest, child, text


def build_submission(job: Manifest, job_id: str, runtime_env: Manifest | None) -> Submission:
    """Return what the head is asked to run under `job_id`."""
    spec = child(job, "spec")
    return Submission(
        entrypoint=text(spec, "entrypoint"),
        submission_id=job_id,
        metadata=texts(child(spec, "metadata")),
        runtime_env=runtime_env or {},
        num_cpus=entrypoint_amount(spec, "entrypointNumCpus"),
        num_gpus=entrypoint_amount(spec, "entrypointNumGpus"),
        resources=resource_amounts(text(spec, "entrypointResources")) or {},
    )
