"""What KubeRay and we make of one RayJob, in one form, and where the two differ."""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.core.ports.ray_jobs import Submission
from jobledger.core.rayjob.manifests.gang_scheduling import TASK_GROUPS, VOLCANO, build_pod_group
from jobledger.core.rayjob.manifests.head_service import build_head_service
from jobledger.core.rayjob.manifests.http_submission import build_submission
from jobledger.core.rayjob.manifests.manifests import build_cluster, build_submitter
from jobledger.core.rayjob.spec.installation import Installation
from jobledger.core.rayjob.spec.spec import SubmissionMode, read_spec
from jobledger.core.rayjob.validation.validate import validate
from jobledger.core.values.documents import child
from jobledger.core.values.our_prefix import OUR_PREFIX
from tests.upstream.comparing import differences, plain
from tests.upstream.rayjob_cases import ADDRESS, Case

Answer = Mapping[str, Any]
ATTEMPT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What becomes of a job: why it is refused, or what is made for it."""

    type: str = ""
    """What kind of thing is wrong: InvalidRayJobSpec and the like."""
    message: str = ""
    failed: str = ""
    """An error that comes again and again; nothing more is compared then."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """`Kind/name` -> the object, in the form in which it is compared; `Submission` -> the same."""


def question(case: Case) -> dict[str, Any]:
    """Return a case as the oracle reads it."""
    return {
        "id": case.id,
        "rayJob": case.job,
        "objects": list(case.objects),
        "address": ADDRESS,
        "scheduler": case.scheduler,
        "environment": dict(case.environment),
    }


def theirs(answer: Answer) -> Built:
    """Return what KubeRay made of a case."""
    if answer.get("unreadable") or answer.get("type"):
        kind = answer.get("type") or "unreadable"
        return Built(type=kind, message=answer.get("invalid") or answer["unreadable"])
    made = by_name(answer.get("objects") or ())
    for name in ("podGroupEnded", "podGroupGone"):
        if name in answer:
            made[name] = size(answer[name])
    if "submission" in answer:
        made["Submission"] = plain(answer["submission"])
    failed = answer.get("failed") or answer.get("submissionFailed") or ""
    return Built(failed=failed, made=made)


def ours(case: Case) -> Built:
    """Return what we make of a case."""
    job, spec = case.job, read_spec(case.job)
    written = job["spec"].get("runtimeEnvYAML", "")
    runtime_env, problem = parse_runtime_env(written)
    invalid = validate(job, problem) if spec.is_ours else None
    if invalid is not None:
        return Built(type=invalid.kind, message=invalid.message)
    if spec.suspend or not spec.is_ours:
        return Built()
    made: list[Any] = []
    installation = Installation(
        batch_scheduler=case.scheduler,
        login_shell=case.environment.get("ENABLE_LOGIN_SHELL") == "true",
        head_cluster_ip=case.environment.get("ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE") == "true",
    )
    name, job_id = job["status"]["rayClusterName"], job["status"]["jobId"]
    mode = spec.submission_mode
    if not spec.cluster_selector:
        made.append(
            build_cluster(
                job,
                name,
                ATTEMPT,
                job_id=job_id,
                runtime_env=runtime_env,
                installation=installation,
            )
        )
        if mode is not SubmissionMode.INTERACTIVE or spec.job_id:
            made.append(build_head_service(job, name, installation))
    if mode is SubmissionMode.K8S_JOB:
        made.append(
            build_submitter(
                job,
                cluster=case.objects[0] if case.objects else None,
                cluster_name=name,
                address=ADDRESS,
                job_id=job_id,
                runtime_env=runtime_env,
                attempt=ATTEMPT,
                installation=installation,
            )
        )
    further = {}
    if case.scheduler == VOLCANO and not spec.cluster_selector:
        made.append(build_pod_group(job))
        (left,) = made[:1]
        ended = build_pod_group(job, is_over=True, left=left)
        gone = build_pod_group(job, is_over=True)
        further["podGroupEnded"] = size(child(ended, "spec"))
        further["podGroupGone"] = size(child(gone, "spec"))
    if mode is SubmissionMode.HTTP:
        further["Submission"] = _sent(build_submission(job, job_id, runtime_env))
    return Built(made={**by_name(made), **further})


def _sent(submission: Submission) -> Any:  # noqa: ANN401 any JSON
    """Return what HTTPMode sends to the head."""
    return plain(
        {
            "entrypoint": submission.entrypoint,
            "submission_id": submission.submission_id,
            "metadata": dict(submission.metadata),
            "runtime_env": submission.runtime_env,
            "entrypoint_num_cpus": submission.num_cpus or None,
            "entrypoint_num_gpus": submission.num_gpus or None,
            "entrypoint_resources": dict(submission.resources),
        }
    )


def size(spec: Mapping[str, Any]) -> Any:  # noqa: ANN401 any JSON
    """Return how much a PodGroup asks for."""
    given = plain({"minResources": spec.get("minResources")})
    return {"minMember": spec.get("minMember") or 0, **given}


def by_name(objects: Sequence[Any]) -> dict[str, Any]:
    """Return objects by kind and name, in the form in which they are compared."""
    found = {}
    for item in objects:
        kept = copy.deepcopy(dict(item))
        kept.pop("status", None)
        for name in ("labels", "annotations"):
            given = kept["metadata"].get(name) or {}
            own = {key: value for key, value in given.items() if not key.startswith(OUR_PREFIX)}
            kept["metadata"] = {**kept["metadata"], name: own}
        found[f"{kept['kind']}/{kept['metadata']['name']}"] = plain(_ordered(kept))
    return found


def _ordered(document: Any) -> Any:  # noqa: ANN401 any JSON
    """Return an object with the ports of Services in one order, and with JSON for texts of it.

    Upstream takes ports from a map, so each Service has another order.
    """
    if isinstance(document, list):
        return [_ordered(item) for item in document]
    if not isinstance(document, dict):
        return document
    read = {
        key: json.loads(item) if key == TASK_GROUPS and item else _ordered(item)
        for key, item in document.items()
    }
    if document.get("kind") == "Service":
        read["spec"]["ports"].sort(key=lambda port: (port.get("name", ""), port["port"]))
    return read


def between(one: Built, other: Built) -> list[str]:
    """Return where what upstream makes of a job differs from what we make of it."""
    if (one.type, one.message, one.failed) != (other.type, other.message, other.failed):
        return [f"upstream {_verdict(one)}, here {_verdict(other)}"]
    return list(differences(one.made, other.made))


def _verdict(built: Built) -> str:
    if built.type:
        return f"{built.type}: {built.message}"
    return f"fails for ever: {built.failed}" if built.failed else "builds it"
