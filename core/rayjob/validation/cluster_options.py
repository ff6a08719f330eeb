"""Upstream's validation of RayCluster options: fault tolerance, autoscaler, authentication.

Source: KubeRay's ValidateRayClusterSpec; the feature gates GCSFaultToleranceEmbeddedStorage,
RayClusterHistoryServer, RayClusterNetworkPolicy and RayClusterMTLS are off.
"""

from collections.abc import Iterator

from jobledger.core.rayjob.spec.go_values import env_value, int32, is_given, is_never, ray_container
from jobledger.core.rayjob.spec.ray_versions import generic_version, is_older
from jobledger.core.values.documents import Json, Manifest, child, items, text

AUTOSCALER_V2_VARIABLE = "RAY_enable_autoscaler_v2"
FT_ANNOTATION = "ray.io/ft-enabled"
STORAGE_NAMESPACE_ANNOTATION = "ray.io/external-storage-namespace"
AUTH_SINCE = (2, 52, 0)
"""First Ray version that checks tokens."""

_OURS = "it is managed by KubeRay and injected automatically into the autoscaler container"


def wants_autoscaler_v2(cluster: Manifest) -> bool:
    """Return whether the specification asks for the second autoscaler by name."""
    return text(cluster, "autoscalerOptions", "version") == "v2"


def fault_tolerance_problems(cluster: Manifest, annotations: Manifest) -> Iterator[str]:
    """Yield what is wrong with how the head's state is kept."""
    options_given = is_given(cluster, "gcsFaultToleranceOptions")
    annotated = text(annotations, FT_ANNOTATION)
    if annotated and options_given:
        yield (
            f"{FT_ANNOTATION} annotation and GcsFaultToleranceOptions are both set. "
            "Please use only GcsFaultToleranceOptions to configure GCS fault tolerance"
        )
    head = cluster.get("headGroupSpec")
    container = ray_container(head)
    enabled = options_given or annotated.lower() == "true"
    if not enabled and env_value(container, "RAY_REDIS_ADDRESS") is not None:
        yield (
            "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, "
            "but GcsFaultToleranceOptions is not set. "
            "Please set GcsFaultToleranceOptions to enable GCS fault tolerance"
        )
    if options_given:
        yield from _redis_problems(head, annotations)
        yield from _backend_problems(child(cluster, "gcsFaultToleranceOptions"))
    by_variable = env_value(container, "REDIS_USERNAME") is not None
    if text(head, "rayStartParams", "redis-username") or by_variable:
        yield (
            "cannot set redis username in rayStartParams or environment variables"
            " - use GcsFaultToleranceOptions.RedisUsername instead"
        )


def _redis_problems(head: Json, annotations: Manifest) -> Iterator[str]:
    container = ray_container(head)
    places = (
        (
            "`redis-password` in rayStartParams",
            text(head, "rayStartParams", "redis-password") != "",
            "RedisPassword",
        ),
        (
            "`REDIS_PASSWORD` env var in head Pod",
            env_value(container, "REDIS_PASSWORD") is not None,
            "RedisPassword",
        ),
        (
            "`RAY_REDIS_ADDRESS` env var in head Pod",
            env_value(container, "RAY_REDIS_ADDRESS") is not None,
            "RedisAddress",
        ),
        (
            f"`{STORAGE_NAMESPACE_ANNOTATION}` annotation",
            text(annotations, STORAGE_NAMESPACE_ANNOTATION) != "",
            "ExternalStorageNamespace",
        ),
    )
    for place, is_set, option in places:
        if is_set:
            yield (
                f"cannot set {place} when GcsFaultToleranceOptions is enabled"
                f" - use GcsFaultToleranceOptions.{option} instead"
            )


def _backend_problems(options: Manifest) -> Iterator[str]:
    if text(options, "backend") == "rocksdb":
        yield (
            "the embedded RocksDB GCS fault tolerance backend "
            "(GcsFaultToleranceOptions.Backend: 'rocksdb') requires the "
            "GCSFaultToleranceEmbeddedStorage feature gate to be enabled"
        )
    elif is_given(options, "storage"):
        yield (
            "cannot set GcsFaultToleranceOptions.Storage when backend is 'redis'"
            " - it only applies to the 'rocksdb' backend"
        )


def option_problems(cluster: Manifest) -> Iterator[str]:
    """Yield what is wrong with the autoscaler, authentication, and what is behind feature gates."""
    if cluster.get("enableInTreeAutoscaling") is True:
        yield from _autoscaling_problems(cluster)
    else:
        value = env_value(ray_container(cluster.get("headGroupSpec")), AUTOSCALER_V2_VARIABLE)
        if value in ("1", "true"):
            yield (
                f"environment variable {AUTOSCALER_V2_VARIABLE} cannot be set to '{value}' "
                "when enableInTreeAutoscaling is false. Please set enableInTreeAutoscaling: true "
                "to use autoscaler v2"
            )
    options = child(cluster, "autoscalerOptions")
    idle = int32(options, "idleTimeoutSeconds")
    if idle is not None and idle < 0:
        yield f"autoscalerOptions.idleTimeoutSeconds must be non-negative, got {idle}"
    if env_value(options, "KUBERAY_GEN_AUTOSCALER_START_CMD") is not None:
        yield f"autoscalerOptions.env must not contain KUBERAY_GEN_AUTOSCALER_START_CMD: {_OURS}"
    if is_given(cluster, "historyServerOptions"):
        yield "RayClusterHistoryServer feature gate is not enabled"
    if text(cluster, "authOptions", "mode") == "token":
        yield from _auth_problems(text(cluster, "rayVersion"))
    if is_given(cluster, "networkPolicy"):
        yield "spec.networkPolicy requires the RayClusterNetworkPolicy feature gate to be enabled"
    if is_given(cluster, "tlsOptions"):
        yield "spec.tlsOptions requires the RayClusterMTLS feature gate to be enabled"


def _autoscaling_problems(cluster: Manifest) -> Iterator[str]:
    head, groups = cluster.get("headGroupSpec"), items(cluster, "workerGroupSpecs")
    for group in groups:
        if child(group).get("suspend") is True:
            name = text(group, "groupName")
            yield f"worker group {name} cannot be suspended with Autoscaler enabled"
    by_variable = env_value(ray_container(head), AUTOSCALER_V2_VARIABLE) is not None
    if is_given(child(cluster, "autoscalerOptions"), "version") and by_variable:
        yield (
            "both .spec.autoscalerOptions.version and head Pod env var "
            f"{AUTOSCALER_V2_VARIABLE} are set, please only use the former"
        )
    if not wants_autoscaler_v2(cluster):
        return
    if not is_never(child(head, "template", "spec")):
        yield "restartPolicy for head Pod should be Never or unset when using autoscaler V2"
    for group in groups:
        if not is_never(child(group, "template", "spec")):
            yield (
                f"restartPolicy for worker group {text(group, 'groupName')} "
                "should be Never or unset when using autoscaler V2"
            )


def _auth_problems(written: str) -> Iterator[str]:
    but = "authOptions.mode is 'token' but"
    version = generic_version(written)
    if not written:
        yield f"{but} RayVersion was not specified. Ray version 2.52.0 or later is required"
    if isinstance(version, str):
        yield f"{but} RayVersion format is invalid: {written}, {version}"
    elif is_older(version, AUTH_SINCE):
        yield f"{but} minimum Ray version is 2.52.0, got {written}"
