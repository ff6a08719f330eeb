"""Validates a RayJob and returns the first problem.

Upstream's rules come first, in its order of evaluation and with its texts byte for byte: clients
and runbooks match on them. Ours come after: what upstream meets as an error without end (or as a
crash) is named here with the field, the value and what to do.

Whatever is of a wrong type counts as absent for upstream's rules and is named by ours, so any JSON
at all may come in.

Source: KubeRay's validation.go (ValidateRayJobMetadata, ValidateRayJobSpec, ValidateRayJobStatus),
with the feature gate RayJobDeletionPolicy on and the other optional ones off.
"""

from collections.abc import Iterator

from jobledger.core.rayjob.observations.observations import INVALID_STATUS, Problem
from jobledger.core.rayjob.validation.content import content_problems
from jobledger.core.rayjob.validation.kubernetes_names import dns_1035_label_errors
from jobledger.core.rayjob.validation.spec import spec_problems
from jobledger.core.rayjob.validation.types import type_problems
from jobledger.core.values.documents import Manifest, child, text

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
