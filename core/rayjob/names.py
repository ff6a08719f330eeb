"""Names of the objects of a RayJob.

Upstream's shape, with the drawn characters derived.

The five characters follow from the job's UID and the number of the attempt, so whoever creates
twice meets
AlreadyExists. Source: KubeRay's utils.GenerateRayClusterName and GenerateRayJobId.
"""

from jobledger.core.ports.cluster import RAYCLUSTERS
from jobledger.core.values.ids import name_suffix
from jobledger.core.values.our_prefix import OUR_PREFIX

FINALIZER = "ray.io/rayjob-finalizer"
SUBMITTER_CONTAINER = "ray-job-submitter"

LABEL_ORIGIN_NAME = "ray.io/originated-from-cr-name"
LABEL_ORIGIN_KIND = "ray.io/originated-from-crd"
LABEL_SUBMISSION_MODE = "ray.io/job-submission-mode"
LABEL_CREATED_BY = "app.kubernetes.io/created-by"
CREATED_BY = "kuberay-operator"
"""Kept from upstream, whose cache sees only submitters with this label: it may have to take over.
"""

ATTEMPT_ANNOTATION = f"{OUR_PREFIX}attempt"
"""Number of the attempt that a RayCluster or submitter was made for."""
ATTEMPT_LABEL = f"{OUR_PREFIX}attempt"
"""The same as a label, where the job asks for it: on everything that is made, Pods included."""
NO_HEAD_RESTART_ANNOTATION = "ray.io/disable-provisioned-head-restart"
"""SidecarMode: KubeRay must not replace a lost head, whose submitter has gone with it."""

RAY_SUCCESS_WINS_ANNOTATION = f"{OUR_PREFIX}ray-success-wins"
"""`"true"`: a Ray job that succeeded is a success, even if its submitter ended Failed; ours."""

RECOVER_LOST_HEAD_ANNOTATION = f"{OUR_PREFIX}recover-lost-head"
"""`"true"`: a Ray job that was lost with its head is handed in again on the next one; ours."""

LABEL_CLUSTER = RAYCLUSTERS.pod_label
LABEL_NODE_TYPE = "ray.io/node-type"
LABEL_IDENTIFIER = "ray.io/identifier"
LABEL_APPLICATION = "app.kubernetes.io/name"
APPLICATION = "kuberay"
HEAD = "head"
"""Value of `ray.io/node-type` for the Pod of a head."""

DASHBOARD_PORT_NAME = "dashboard"
DASHBOARD_PORT = 8265
"""Port of the Ray job API where a RayCluster's specification names none."""

LEADS_TO = "leads to"
"""Key of what is told of the Service of a job's head: the RayCluster that it leads to."""


def cluster_name(job_name: str, uid: str, attempt: int) -> str:
    """Return the name of an attempt's RayCluster: `<rayjob>-<5 characters>`."""
    return f"{job_name}-{name_suffix(uid, 'cluster', str(attempt))}"


def submission_id(job_name: str, uid: str, attempt: int) -> str:
    """Return Ray's submission id of an attempt: `<rayjob>-<5 characters>`."""
    return f"{job_name}-{name_suffix(uid, 'submission', str(attempt))}"


def submitter_name(job_name: str) -> str:
    """Return the name of the submitter: that of the RayJob."""
    return job_name


def head_service_name(cluster: str) -> str:
    """Return the name of a RayCluster's head Service, where its specification names none."""
    return f"{cluster}-head-svc"


def no_cluster(target: str) -> str:
    """Return upstream's words for a selected RayCluster that is not there; `namespace/name`."""
    return f"clusterSelector mode is enabled, but RayCluster {target} is not found"
