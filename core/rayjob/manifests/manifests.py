"""Builds the objects of an attempt: its RayCluster and its submitter (a batch Job).

They are upstream's, field by field, and one annotation of ours: `jobledger.dev/attempt`. What is
taken from the RayJob is passed on as it is (documents are read-only, so nothing is copied).

Source: KubeRay's constructRayClusterForRayJob and createNewK8sJob.
"""

from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS
from jobledger.core.rayjob.manifests.gang_scheduling import (
    SUBMITTER_GROUP,
    GangMetadata,
    gang_metadata,
)
from jobledger.core.rayjob.manifests.owner_references import owner_reference
from jobledger.core.rayjob.manifests.submit_command import sidecar_command, submit_command
from jobledger.core.rayjob.manifests.submitter_container import (
    TOKEN_VOLUME,
    ContainerContext,
    configured,
    default_container,
    takes_service_account_tokens,
)
from jobledger.core.rayjob.names import (
    ATTEMPT_ANNOTATION,
    ATTEMPT_LABEL,
    CREATED_BY,
    LABEL_CREATED_BY,
    LABEL_ORIGIN_KIND,
    LABEL_ORIGIN_NAME,
    LABEL_SUBMISSION_MODE,
    NO_HEAD_RESTART_ANNOTATION,
    submitter_name,
)
from jobledger.core.rayjob.spec.go_values import texts
from jobledger.core.rayjob.spec.installation import UPSTREAMS, Installation
from jobledger.core.rayjob.spec.retry_annotations import read_retry_options
from jobledger.core.values.documents import Json, Manifest, child, items, number, text

SUBMITTER_BACKOFF_LIMIT = 2
"""Retries of the submitter itself where `spec.submitterConfig` says nothing."""


def build_cluster(
    job: Manifest,
    name: str,
    attempt: int,
    *,
    job_id: str = "",
    runtime_env: Manifest | None = None,
    installation: Installation = UPSTREAMS,
) -> Manifest:
    """Return the RayCluster of an attempt.

    In SidecarMode it carries the submitter, which needs `job_id` and the parsed
    `spec.runtimeEnvYAML`.
    """
    spec = child(job, "spec")
    given_mode = spec.get("submissionMode")
    mode = given_mode if isinstance(given_mode, str) else "K8sJobMode"
    cluster_spec = child(spec, "rayClusterSpec")
    annotations = dict(texts(child(job, "metadata", "annotations")))
    annotations[ATTEMPT_ANNOTATION] = str(attempt)
    labels = _attempt_labels(job, attempt)
    if mode == "SidecarMode":
        annotations[NO_HEAD_RESTART_ANNOTATION] = "true"
        around = ContainerContext(
            address="",
            job_id=job_id,
            cluster_name=name,
            cluster_spec=cluster_spec,
            login_shell=installation.login_shell,
        )
        restarts = installation.sidecar_restarts
        command = sidecar_command(job, job_id=job_id, runtime_env=runtime_env, restarts=restarts)
        submitter = configured(default_container(cluster_spec), command, around)
        submitter = {**submitter, "restartPolicy": "OnFailure"} if restarts else submitter
        cluster_spec = _beside_the_head(cluster_spec, submitter)
    gang = gang_metadata(job, installation.batch_scheduler if mode == "K8sJobMode" else "")
    return {
        "apiVersion": RAYCLUSTERS.api_version,
        "kind": RAYCLUSTERS.kind,
        "metadata": {
            "name": name,
            "namespace": text(job, "metadata", "namespace"),
            "labels": {
                **texts(child(job, "metadata", "labels")),
                **_origin(job),
                LABEL_SUBMISSION_MODE: mode,
                **gang.labels,
                **labels,
            },
            "annotations": {**annotations, **gang.annotations},
            "ownerReferences": [owner_reference(job)],
        },
        "spec": _with_pod_labels(cluster_spec, labels),
    }


def _origin(job: Manifest) -> dict[str, str]:
    return {LABEL_ORIGIN_NAME: text(job, "metadata", "name"), LABEL_ORIGIN_KIND: RAYJOBS.kind}


def _beside_the_head(cluster_spec: Manifest, submitter: Manifest) -> Manifest:
    """Return the specification with the submitter as the last container of the head's Pod."""
    head = child(cluster_spec, "headGroupSpec")
    template = child(head, "template")
    pod: Manifest = {
        **child(template, "spec"),
        "containers": [*items(template, "spec", "containers"), submitter],
        "restartPolicy": "Never",
    }
    return {**cluster_spec, "headGroupSpec": {**head, "template": {**template, "spec": pod}}}


def build_submitter(  # noqa: PLR0913 what upstream's operator knows of an attempt
    job: Manifest,
    *,
    cluster: Manifest | None,
    cluster_name: str,
    address: str,
    job_id: str,
    runtime_env: Manifest | None,
    attempt: int,
    installation: Installation = UPSTREAMS,
) -> Manifest:
    """Return the batch Job that hands in the entrypoint (K8sJobMode).

    `cluster` is the live RayCluster: its head's image and its authentication decide. Without it
    the RayJob's own specification does; a job with a clusterSelector has none, so there it is
    needed. `cluster_name` is its name by the state: the status may not show it yet. `address` is
    the head's `host:port`.
    """
    spec = child(job, "spec")
    around = ContainerContext(
        address=address,
        job_id=job_id,
        cluster_name=cluster_name,
        cluster_spec=child(spec, "rayClusterSpec") if cluster is None else child(cluster, "spec"),
        login_shell=installation.login_shell,
    )
    command = submit_command(job, address=address, job_id=job_id, runtime_env=runtime_env)
    limit = number(spec, "submitterConfig", "backoffLimit")
    labels = {
        **_origin(job),
        LABEL_CREATED_BY: CREATED_BY,
        **_attempt_labels(job, attempt),
    }
    return {
        "apiVersion": BATCH_JOBS.api_version,
        "kind": BATCH_JOBS.kind,
        "metadata": {
            "name": submitter_name(text(job, "metadata", "name")),
            "namespace": text(job, "metadata", "namespace"),
            "labels": labels,
            "annotations": {ATTEMPT_ANNOTATION: str(attempt)},
            "ownerReferences": [owner_reference(job)],
        },
        "spec": {
            "backoffLimit": SUBMITTER_BACKOFF_LIMIT if limit is None else limit,
            "template": _in_gang(
                _pod_template(spec, labels, command, around),
                gang_metadata(job, installation.batch_scheduler, SUBMITTER_GROUP),
            ),
        },
    }


def _in_gang(template: Manifest, gang: GangMetadata) -> Manifest:
    """Return a Pod template with what the batch scheduler needs, if there is one."""
    if not gang.scheduler:
        return template
    metadata = child(template, "metadata")
    return {
        **template,
        "metadata": {
            **metadata,
            "labels": {**texts(child(metadata, "labels")), **gang.labels},
            "annotations": {**texts(child(metadata, "annotations")), **gang.annotations},
        },
        "spec": {**child(template, "spec"), "schedulerName": gang.scheduler},
    }


def _pod_template(
    spec: Manifest, labels: dict[str, str], command: str, around: ContainerContext
) -> Manifest:
    """Return the user's Pod template, or the default one, with its first container configured."""
    default: Manifest = {
        "spec": {
            "containers": [default_container(around.cluster_spec)],
            "restartPolicy": "Never",
        }
    }
    given = spec.get("submitterPodTemplate")
    template = default if given is None else child(given)
    first, *others = items(template, "spec", "containers") or ({},)
    pod: dict[str, Json] = {
        **child(template, "spec"),
        "containers": [configured(child(first), command, around), *others],
    }
    volumes = items(pod, "volumes")
    mounted = any(text(volume, "name") == TOKEN_VOLUME for volume in volumes)
    if takes_service_account_tokens(around.cluster_spec) and not mounted:
        sources: Json = [{"serviceAccountToken": {"path": "token"}}]
        pod["volumes"] = [*volumes, {"name": TOKEN_VOLUME, "projected": {"sources": sources}}]
    metadata = child(template, "metadata")
    return {
        **template,
        "metadata": {**metadata, "labels": {**texts(child(metadata, "labels")), **labels}},
        "spec": pod,
    }


def _attempt_labels(job: Manifest, attempt: int) -> dict[str, str]:
    """Return the labels of everything that is made for an attempt: none, unless the job asks.

    Pods find its number in their metadata (and, by the downward API, in their environment), so what
    they write can be told apart by attempt. Asked for in kuberay#5211.
    """
    asked = read_retry_options(job).options.label_attempts
    return {ATTEMPT_LABEL: str(attempt)} if asked else {}


def _with_pod_labels(cluster_spec: Manifest, labels: dict[str, str]) -> Manifest:
    """Return the specification of a RayCluster whose Pods all carry the labels."""
    if not labels:
        return cluster_spec
    changed: dict[str, Json] = {**cluster_spec}
    if "headGroupSpec" in cluster_spec:
        changed["headGroupSpec"] = _with_labels(child(cluster_spec, "headGroupSpec"), labels)
    if "workerGroupSpecs" in cluster_spec:
        groups = items(cluster_spec, "workerGroupSpecs")
        changed["workerGroupSpecs"] = [_with_labels(child(group), labels) for group in groups]
    return changed


def _with_labels(group: Manifest, labels: dict[str, str]) -> Manifest:
    template = child(group, "template")
    metadata = child(template, "metadata")
    labelled: Manifest = {**metadata, "labels": {**texts(child(metadata, "labels")), **labels}}
    return {**group, "template": {**template, "metadata": labelled}}
