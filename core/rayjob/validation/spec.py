"""Upstream's validation of a RayJob's specification, in upstream's order.

Each rule yields the whole message; whoever asks takes the first.
"""

from collections.abc import Iterator

from jobledger.core.rayjob.spec.go_values import int32, is_given, is_never
from jobledger.core.rayjob.validation.cluster import cluster_problems
from jobledger.core.rayjob.validation.deletion import deletion_problems
from jobledger.core.values.documents import Manifest, child, text

SPEC = "The RayJob spec is invalid: "

YAML_NOT_SHOWN = "failed to unmarshal RuntimeEnvYAML: (not shown): "
"""So begins what repeats nothing of the job.

Upstream repeats the YAML here; it may hold secrets, and this text goes into the status, into a
Kubernetes Event and into the log.
"""


def spec_problems(
    spec: Manifest, annotations: Manifest, runtime_env_problem: str = ""
) -> Iterator[str]:
    """Yield what upstream finds wrong with `.spec`."""
    yield from _suspension_problems(spec)
    yield from deletion_problems(spec)
    yield from _where_to_run_problems(spec)
    yield from _mode_problems(spec)
    yield from _cluster_problems(spec, annotations)
    if runtime_env_problem:
        yield f"{YAML_NOT_SHOWN}{runtime_env_problem}"
    yield from _number_problems(spec)


def _suspension_problems(spec: Manifest) -> Iterator[str]:
    if spec.get("suspend") is True and spec.get("shutdownAfterJobFinishes") is not True:
        yield (
            f"{SPEC}a RayJob with shutdownAfterJobFinishes set to false "
            "is not allowed to be suspended"
        )
    if (int32(spec, "ttlSecondsAfterFinished") or 0) < 0:
        yield f"{SPEC}TTLSecondsAfterFinished must be a non-negative integer"


def _where_to_run_problems(spec: Manifest) -> Iterator[str]:
    selects = len(child(spec, "clusterSelector")) > 0
    if spec.get("suspend") is True and selects:
        yield f"{SPEC}the ClusterSelector mode doesn't support the suspend operation"
    selector_is_odd = is_given(spec, "clusterSelector") and spec["clusterSelector"] != {}
    if not is_given(spec, "rayClusterSpec") and not selector_is_odd:
        yield f"{SPEC}one of RayClusterSpec or ClusterSelector must be set"
    if not selects:
        return
    if not text(spec, "clusterSelector", "ray.io/cluster"):
        yield "cluster name in ClusterSelector should not be empty"
    if spec.get("submissionMode") == "SidecarMode":
        yield "ClusterSelector is not supported in SidecarMode"
    if (int32(spec, "backoffLimit") or 0) > 0:
        yield f"{SPEC}BackoffLimit is incompatible with ClusterSelector mode"


def _mode_problems(spec: Manifest) -> Iterator[str]:
    mode = spec.get("submissionMode")
    if mode == "InteractiveMode" and (int32(spec, "backoffLimit") or 0) > 0:
        yield f"{SPEC}BackoffLimit is incompatible with InteractiveMode"
    if mode != "SidecarMode":
        return
    if is_given(spec, "submitterPodTemplate"):
        yield "Currently, SidecarMode doesn't support SubmitterPodTemplate"
    if is_given(spec, "submitterConfig"):
        yield "Currently, SidecarMode doesn't support SubmitterConfig"
    if not is_never(child(spec, "rayClusterSpec", "headGroupSpec", "template", "spec")):
        yield "restartPolicy for head Pod should be Never or unset when using SidecarMode"


def _cluster_problems(spec: Manifest, annotations: Manifest) -> Iterator[str]:
    cluster = spec.get("rayClusterSpec")
    if child(cluster, "authOptions").get("enableK8sTokenAuth") is True:
        yield f"{SPEC}K8s token auth mode is currently not supported for RayJob"
    for problem in cluster_problems(cluster, annotations):
        yield f"{SPEC}{problem}"


def _number_problems(spec: Manifest) -> Iterator[str]:
    active = int32(spec, "activeDeadlineSeconds")
    if active is not None and active <= 0:
        yield f"{SPEC}activeDeadlineSeconds must be a positive integer"
    pre_running = int32(spec, "preRunningDeadlineSeconds")
    if pre_running is not None and pre_running <= 0:
        yield f"{SPEC}preRunningDeadlineSeconds must be a positive integer"
    if (int32(spec, "backoffLimit") or 0) < 0:
        yield f"{SPEC}backoffLimit must be a positive integer"
