"""Upstream's validation of the RayCluster specification: head and worker groups.

Messages come without the prefix `The RayJob spec is invalid: `. Where upstream walks a map in
random order, keys are taken sorted.

Source: KubeRay's ValidateRayClusterSpec.
"""

from collections.abc import Iterator, Mapping

from jobledger.core.rayjob.spec.go_values import (
    containers,
    env_value,
    int32,
    is_given,
    ray_container,
    texts,
)
from jobledger.core.rayjob.spec.ray_versions import generic_version, is_older
from jobledger.core.rayjob.validation.cluster_options import (
    AUTOSCALER_V2_VARIABLE,
    fault_tolerance_problems,
    option_problems,
    wants_autoscaler_v2,
)
from jobledger.core.rayjob.validation.kubernetes_names import label_key_errors, label_value_errors
from jobledger.core.values.documents import Json, Manifest, child, items, text

PRIORITY_SINCE = (2, 56, 0)
"""First Ray version whose autoscaler knows priorities of worker groups."""


def cluster_problems(cluster: Json, annotations: Manifest) -> Iterator[str]:
    """Yield what is wrong with a RayCluster's specification; `annotations` are the RayJob's."""
    if not isinstance(cluster, Mapping):
        return
    head = cluster.get("headGroupSpec")
    if not containers(head):
        yield "headGroupSpec should have at least one container"
    yield from _group_problems("Head", head)
    for group in items(cluster, "workerGroupSpecs"):
        if not containers(group):
            yield "workerGroupSpec should have at least one container"
        name = text(group, "groupName")
        yield from _replica_problems(name, group, cluster)
        yield from _group_problems(name, group)
        yield from _idle_problems(name, group, cluster)
        yield from _priority_problems(name, group, cluster)
    yield from fault_tolerance_problems(cluster, annotations)
    yield from option_problems(cluster)


def _group_problems(name: str, group: Json) -> Iterator[str]:
    start = texts(child(group, "rayStartParams"))
    sizes = (start.get(key) for key in ("num-cpus", "num-gpus", "memory", "resources"))
    if any(sizes) and child(group, "resources"):
        yield (
            "resource fields should not be set in both rayStartParams and Resources "
            f"for {name} group; please use only one"
        )
    if "labels" in child(group, "rayStartParams"):
        yield (
            f"rayStartParams['labels'] is not supported for {name} group; "
            "please use the top-level Labels field instead"
        )
    if broken := (*_label_problems(name, texts(child(group, "labels"))),):
        yield "; ".join(broken)


def _label_problems(name: str, labels: Mapping[str, str]) -> Iterator[str]:
    for key, value in sorted(labels.items()):
        for error in label_key_errors(key):
            yield f"invalid label key for {name} group: '{key}', error: {error}"
        for error in label_value_errors(value):
            yield (
                f"invalid label value for key '{key}' in {name} group: '{value}', error: {error}"
            )


def _replica_problems(name: str, group: Json, cluster: Manifest) -> Iterator[str]:
    least, most = int32(group, "minReplicas"), int32(group, "maxReplicas")
    limits_given = all(is_given(child(group), key) for key in ("minReplicas", "maxReplicas"))
    if cluster.get("enableInTreeAutoscaling") is not True and not limits_given:
        yield (
            f"worker group {name} must set both minReplicas and maxReplicas "
            "when autoscaling is disabled"
        )
    if least is not None and least < 0:
        yield f"worker group {name} has negative minReplicas {least}"
    if most is not None and most < 0:
        yield f"worker group {name} has negative maxReplicas {most}"
    if least is not None and most is not None and least > most:
        yield f"worker group {name} has minReplicas {least} greater than maxReplicas {most}"


def _idle_problems(name: str, group: Json, cluster: Manifest) -> Iterator[str]:
    seconds = int32(group, "idleTimeoutSeconds")
    if seconds is None:
        return
    if seconds < 0:
        yield f"worker group {name}: idleTimeoutSeconds must be non-negative, got {seconds}"
    if not _has_autoscaler_v2(cluster):
        yield (
            f"worker group {name}: idleTimeoutSeconds is set, but autoscaler v2 is not enabled. "
            "Please set .spec.autoscalerOptions.version to 'v2' (or set "
            f"{AUTOSCALER_V2_VARIABLE} environment variable to 'true' in the head pod "
            "if using KubeRay < 1.4.0)"
        )


def _priority_problems(name: str, group: Json, cluster: Manifest) -> Iterator[str]:
    priority = int32(group, "priority")
    if not priority:
        return
    written = text(cluster, "rayVersion")
    set_but = f"worker group {name}: priority is set, but"
    version = generic_version(written)
    if not written:
        yield f"{set_but} RayVersion was not specified. Ray version 2.56.0 or later is required"
    if isinstance(version, str):
        yield f"{set_but} RayVersion format is invalid: {written}, {version}"
    elif is_older(version, PRIORITY_SINCE):
        yield f"{set_but} minimum Ray version is 2.56.0, got {written}"
    if not _has_autoscaler_v2(cluster):
        yield (
            f"worker group {name}: priority is set to {priority}, but autoscaler v2 is not "
            "enabled. Priority is only supported with autoscaler v2 enabled"
        )


def _has_autoscaler_v2(cluster: Manifest) -> bool:
    by_variable = env_value(ray_container(cluster.get("headGroupSpec")), AUTOSCALER_V2_VARIABLE)
    return wants_autoscaler_v2(cluster) or by_variable in ("1", "true")
