"""The fields of a RayJob's specification that the controller acts on, with upstream's defaults.

Everything else (the RayCluster's specification, pod templates, the entrypoint) is read from the
live object when something is built. Source: KubeRay's rayjob_types.go; the defaults are those
of the CRD.
"""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from jobledger.core.jobs.control.control_policy import MANAGED_BY_JOBLEDGER
from jobledger.core.log.storable import word
from jobledger.core.rayjob.names import RAY_SUCCESS_WINS_ANNOTATION, RECOVER_LOST_HEAD_ANNOTATION
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.durations import SECONDS_MAX, delay_seconds


class SubmissionMode(StrEnum):
    """How the entrypoint gets to the head."""

    K8S_JOB = "K8sJobMode"
    HTTP = "HTTPMode"
    INTERACTIVE = "InteractiveMode"
    SIDECAR = "SidecarMode"
    UNKNOWN = "unknown"
    """Any other text: upstream submits nothing then, and so do we."""


_MODES = {mode.value: mode for mode in SubmissionMode}

OURS = frozenset({"", "ray.io/kuberay-operator", MANAGED_BY_JOBLEDGER})
"""Values of spec.managedBy that leave the job to this controller."""


class DeletionPolicy(StrEnum):
    """What is deleted after the end; by and by more of it."""

    WORKERS = "DeleteWorkers"
    CLUSTER = "DeleteCluster"
    SELF = "DeleteSelf"
    NONE = "DeleteNone"


_POLICIES = {policy.value: policy for policy in DeletionPolicy}


class DeletionRule(Struct, frozen=True, kw_only=True):
    """One rule of `spec.deletionStrategy`."""

    policy: DeletionPolicy
    job_status: str = ""
    """It holds for a job of which Ray says this."""
    phase: str = ""
    """Or for a job in this phase."""
    ttl_seconds: int = 0
    """Counted from the end of the job."""
    source: str = ""
    """Where in the manifest it stands: `deletionRules[0]`, `onSuccess`."""


class RayJobSpec(Struct, frozen=True, kw_only=True, gc=False):
    """What decides about the life of the job."""

    submission_mode: SubmissionMode = SubmissionMode.K8S_JOB
    backoff_limit: int = 0
    """How many failed attempts are followed by another."""
    active_deadline_seconds: int | None = None
    pre_running_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int = 0
    shutdown_after_job_finishes: bool = False
    suspend: bool = False
    job_id: str = ""
    """Submission id that the user chose; empty: one is derived per attempt."""
    cluster_selector: str = ""
    """Name of an existing RayCluster to run on; empty: one is created per attempt."""
    managed_by: str = ""
    ray_success_wins: bool = False
    """A Ray job that succeeded is a success, even if its submitter ended Failed. Ours."""
    recovers_lost_heads: bool = False
    """A Ray job that was lost with its head runs again on the next one, uncounted. Ours."""
    deletion_rules: tuple[DeletionRule, ...] = ()
    """What deletionStrategy has done after the end; the two old policies are rules as well."""
    has_deletion_strategy: bool = False

    @property
    def is_ours(self) -> bool:
        """Return whether the job is left to this controller."""
        return self.managed_by in OURS


FIRST_GENERATION = 1
"""Of an object whose specification was never changed."""


def waits_since_creation(spec: RayJobSpec, generation: int) -> bool:
    """Return whether a job was created suspended and has not been resumed since.

    Then it never had a RayCluster, whatever its status shows: KubeRay reserves names for it in
    Initializing and gives them up again. Later generations do not tell: an edit may have resumed
    it, another have suspended it.
    """
    return spec.suspend and generation == FIRST_GENERATION


def submission_mode_of(spec: Manifest) -> SubmissionMode:
    """Return how a specification has its entrypoint submitted; a K8sJob if it does not say."""
    value = spec.get("submissionMode")
    if not isinstance(value, str):
        return SubmissionMode.K8S_JOB
    return _MODES.get(value, SubmissionMode.UNKNOWN)


def read_spec(manifest: Manifest) -> RayJobSpec:
    """Return the specification of a RayJob object.

    What is absent or of a wrong type counts as absent.

    Wrong types cannot come from an API server with the CRD; `core.rayjob.validation.validate` names
    them.
    """
    spec = child(manifest, "spec")
    return RayJobSpec(
        submission_mode=submission_mode_of(spec),
        backoff_limit=number(spec, "backoffLimit") or 0,
        active_deadline_seconds=_deadline(spec, "activeDeadlineSeconds"),
        pre_running_deadline_seconds=_deadline(spec, "preRunningDeadlineSeconds"),
        ttl_seconds_after_finished=delay_seconds(spec, "ttlSecondsAfterFinished"),
        shutdown_after_job_finishes=spec.get("shutdownAfterJobFinishes") is True,
        suspend=spec.get("suspend") is True,
        job_id=word(spec, "jobId"),
        cluster_selector=word(spec, "clusterSelector", "ray.io/cluster"),
        managed_by=word(spec, "managedBy"),
        ray_success_wins=_is_asked(manifest, RAY_SUCCESS_WINS_ANNOTATION),
        recovers_lost_heads=_is_asked(manifest, RECOVER_LOST_HEAD_ANNOTATION),
        deletion_rules=tuple(_deletion_rules(spec)),
        has_deletion_strategy=len(child(spec, "deletionStrategy")) > 0,
    )


def _is_asked(manifest: Manifest, annotation: str) -> bool:
    return text(manifest, "metadata", "annotations", annotation) == "true"


def _deadline(spec: Manifest, field: str) -> int | None:
    """Return so many seconds; None for what is no deadline, which is a fault of the manifest."""
    found = number(spec, field)
    return found if found is not None and 0 < found <= SECONDS_MAX else None


def _deletion_rules(spec: Manifest) -> Iterator[DeletionRule]:
    """Yield the rules of deletionStrategy; the old policies count from the job's own delay."""
    strategy, ttl = child(spec, "deletionStrategy"), delay_seconds(spec, "ttlSecondsAfterFinished")
    for index, rule in enumerate(items(strategy, "deletionRules")):
        policy = _POLICIES.get(text(rule, "policy"))
        if policy is not None:
            yield DeletionRule(
                policy=policy,
                job_status=word(rule, "condition", "jobStatus"),
                phase=word(rule, "condition", "jobDeploymentStatus"),
                ttl_seconds=delay_seconds(rule, "condition", "ttlSeconds"),
                source=f"deletionRules[{index}]",
            )
    for field, job_status in (("onSuccess", "SUCCEEDED"), ("onFailure", "FAILED")):
        policy = _POLICIES.get(text(strategy, field, "policy"))
        if policy is not None:
            yield DeletionRule(policy=policy, job_status=job_status, ttl_seconds=ttl, source=field)
