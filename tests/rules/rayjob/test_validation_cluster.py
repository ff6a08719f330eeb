"""What a RayCluster's specification may say, and how upstream refuses the rest (rules 11.x)."""

from typing import Any, NamedTuple

import pytest

from jobledger.core.rayjob.validation.validate import validate
from tests.rules.rayjob.jobs import HEAD, HEAD_ENV, HEAD_POD, WORKERS, Change, rayjob

CLUSTER = "spec.rayClusterSpec"
V2 = "RAY_enable_autoscaler_v2"
LABEL_KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def env(name: str, value: str = "x") -> list[dict[str, Any]]:
    return [{"name": name, "value": value}]


AUTOSCALING: Change = {f"{CLUSTER}.enableInTreeAutoscaling": True}
V2_ON: Change = {**AUTOSCALING, f"{CLUSTER}.autoscalerOptions": {"version": "v2"}}
FAULT_TOLERANT: Change = {f"{CLUSTER}.gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
TOKEN: Change = {f"{CLUSTER}.authOptions": {"mode": "token"}}


class Row(NamedTuple):
    rule: str
    change: Change
    message: str = ""


GROUPS = (
    Row(
        "a head has a container",
        {f"{HEAD_POD}.containers": []},
        "headGroupSpec should have at least one container",
    ),
    Row("a head must be there", {HEAD: None}, "headGroupSpec should have at least one container"),
    Row(
        "a head's resources are given in one place",
        {f"{HEAD}.rayStartParams": {"num-cpus": "1"}, f"{HEAD}.resources": {"cpu": "1"}},
        "resource fields should not be set in both rayStartParams and Resources for Head group; "
        "please use only one",
    ),
    Row(
        "labels are no start parameter",
        {f"{HEAD}.rayStartParams": {"labels": ""}},
        "rayStartParams['labels'] is not supported for Head group; "
        "please use the top-level Labels field instead",
    ),
    Row(
        "a label's key and value are checked, all problems are told",
        {f"{HEAD}.labels": {"a b": "ok", "b": "-x", "x/y/z": "1", "/k": "1", "Ex/k": "1"}},
        "invalid label key for Head group: '/k', error: prefix part must be non-empty; "
        "invalid label key for Head group: 'Ex/k', error: prefix part a lowercase RFC 1123 "
        "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); "
        f"invalid label key for Head group: 'a b', error: name part {LABEL_KEY}; "
        f"invalid label value for key 'b' in Head group: '-x', error: {LABEL_VALUE}; "
        f"invalid label key for Head group: 'x/y/z', error: a valid label key {LABEL_KEY} "
        "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ),
    Row(
        "a label has at most 63 bytes",
        {f"{HEAD}.labels": {"k" * 64: "v" * 64}},
        f"invalid label key for Head group: '{'k' * 64}', error: name part must be no more than "
        f"63 bytes; invalid label value for key '{'k' * 64}' in Head group: '{'v' * 64}', "
        "error: must be no more than 63 bytes",
    ),
    Row(
        "a label's key is not empty",
        {f"{HEAD}.labels": {"example.com/": "v"}},
        "invalid label key for Head group: 'example.com/', error: name part must be non-empty; "
        f"invalid label key for Head group: 'example.com/', error: name part {LABEL_KEY}",
    ),
    Row(
        "a worker has a container",
        {f"{WORKERS}.template": {}},
        "workerGroupSpec should have at least one container",
    ),
    Row(
        "without autoscaling both limits are set",
        {f"{WORKERS}.minReplicas": None},
        "worker group workers must set both minReplicas and maxReplicas "
        "when autoscaling is disabled",
    ),
    Row("with autoscaling limits may be unset", {**AUTOSCALING, f"{WORKERS}.minReplicas": None}),
    Row(
        "minReplicas is not negative",
        {f"{WORKERS}.minReplicas": -1},
        "worker group workers has negative minReplicas -1",
    ),
    Row(
        "maxReplicas is not negative",
        {f"{WORKERS}.maxReplicas": -2},
        "worker group workers has negative maxReplicas -2",
    ),
    Row(
        "minReplicas is not above maxReplicas",
        {f"{WORKERS}.minReplicas": 6},
        "worker group workers has minReplicas 6 greater than maxReplicas 5",
    ),
    Row(
        "a worker's resources are given in one place",
        {f"{WORKERS}.rayStartParams": {"memory": "1"}, f"{WORKERS}.resources": {"cpu": "1"}},
        "resource fields should not be set in both rayStartParams and Resources for workers group; "
        "please use only one",
    ),
    Row(
        "an idle time-out is not negative",
        {**V2_ON, f"{WORKERS}.idleTimeoutSeconds": -1},
        "worker group workers: idleTimeoutSeconds must be non-negative, got -1",
    ),
    Row(
        "an idle time-out needs autoscaler v2",
        {**AUTOSCALING, f"{WORKERS}.idleTimeoutSeconds": 1},
        "worker group workers: idleTimeoutSeconds is set, but autoscaler v2 is not enabled. Please "
        f"set .spec.autoscalerOptions.version to 'v2' (or set {V2} environment variable to 'true' "
        "in the head pod if using KubeRay < 1.4.0)",
    ),
    Row("an idle time-out of 0 with v2 is fine", {**V2_ON, f"{WORKERS}.idleTimeoutSeconds": 0}),
    Row(
        "autoscaler v2 may be asked for by variable",
        {**AUTOSCALING, f"{WORKERS}.idleTimeoutSeconds": 1, HEAD_ENV: env(V2, "1")},
    ),
    Row("a priority of 0 is none", {f"{WORKERS}.priority": 0}),
    Row(
        "a priority needs a Ray version",
        {f"{WORKERS}.priority": 1, f"{CLUSTER}.rayVersion": None},
        "worker group workers: priority is set, but RayVersion was not specified. "
        "Ray version 2.56.0 or later is required",
    ),
    Row(
        "a priority needs a Ray version that can be read",
        {f"{WORKERS}.priority": 1, f"{CLUSTER}.rayVersion": "nightly"},
        "worker group workers: priority is set, but RayVersion format is invalid: nightly, "
        'could not parse "nightly" as version',
    ),
    Row(
        "a priority needs Ray 2.56.0",
        {f"{WORKERS}.priority": 1, f"{CLUSTER}.rayVersion": "2.55.9"},
        "worker group workers: priority is set, but minimum Ray version is 2.56.0, got 2.55.9",
    ),
    Row(
        "a priority needs autoscaler v2",
        {f"{WORKERS}.priority": 7, f"{CLUSTER}.rayVersion": "2.56"},
        "worker group workers: priority is set to 7, but autoscaler v2 is not enabled. "
        "Priority is only supported with autoscaler v2 enabled",
    ),
    Row(
        "a priority with v2 is fine, on a development version too",
        {**V2_ON, f"{WORKERS}.priority": 7, f"{CLUSTER}.rayVersion": "v3.0.0.dev0"},
    ),
)

OPTIONS = (
    Row(
        "fault tolerance is asked for in one way",
        {**FAULT_TOLERANT, "metadata|annotations|ray.io/ft-enabled": "false"},
        "ray.io/ft-enabled annotation and GcsFaultToleranceOptions are both set. "
        "Please use only GcsFaultToleranceOptions to configure GCS fault tolerance",
    ),
    Row(
        "fault tolerance is not asked for in passing",
        {HEAD_ENV: env("RAY_REDIS_ADDRESS")},
        "RAY_REDIS_ADDRESS is set which implicitly enables GCS fault tolerance, but "
        "GcsFaultToleranceOptions is not set. Please set GcsFaultToleranceOptions to enable GCS "
        "fault tolerance",
    ),
    Row("fault tolerance with Redis is fine", FAULT_TOLERANT),
    Row(
        "fault tolerance by annotation may use the variable",
        {
            HEAD_ENV: env("RAY_REDIS_ADDRESS"),
            "metadata.annotations": {"ray.io/ft-enabled": "True"},
        },
    ),
    Row(
        "the Redis password is no start parameter",
        {**FAULT_TOLERANT, f"{HEAD}.rayStartParams": {"redis-password": "x"}},
        "cannot set `redis-password` in rayStartParams when GcsFaultToleranceOptions is enabled - "
        "use GcsFaultToleranceOptions.RedisPassword instead",
    ),
    Row(
        "the Redis password is no variable",
        {**FAULT_TOLERANT, HEAD_ENV: env("REDIS_PASSWORD")},
        "cannot set `REDIS_PASSWORD` env var in head Pod when GcsFaultToleranceOptions is enabled "
        "- use GcsFaultToleranceOptions.RedisPassword instead",
    ),
    Row(
        "the Redis address is no variable",
        {**FAULT_TOLERANT, HEAD_ENV: env("RAY_REDIS_ADDRESS")},
        "cannot set `RAY_REDIS_ADDRESS` env var in head Pod when GcsFaultToleranceOptions is "
        "enabled - use GcsFaultToleranceOptions.RedisAddress instead",
    ),
    Row(
        "the storage namespace is no annotation",
        {**FAULT_TOLERANT, "metadata|annotations|ray.io/external-storage-namespace": "n"},
        "cannot set `ray.io/external-storage-namespace` annotation when GcsFaultToleranceOptions "
        "is enabled - use GcsFaultToleranceOptions.ExternalStorageNamespace instead",
    ),
    Row(
        "embedded storage is behind a gate",
        {f"{CLUSTER}.gcsFaultToleranceOptions": {"backend": "rocksdb"}},
        "the embedded RocksDB GCS fault tolerance backend (GcsFaultToleranceOptions.Backend: "
        "'rocksdb') requires the GCSFaultToleranceEmbeddedStorage feature gate to be enabled",
    ),
    Row(
        "Redis has no storage",
        {f"{CLUSTER}.gcsFaultToleranceOptions": {"storage": {}}},
        "cannot set GcsFaultToleranceOptions.Storage when backend is 'redis' - it only applies to "
        "the 'rocksdb' backend",
    ),
    Row(
        "the Redis user is an option",
        {f"{HEAD}.rayStartParams": {"redis-username": "u"}},
        "cannot set redis username in rayStartParams or environment variables - "
        "use GcsFaultToleranceOptions.RedisUsername instead",
    ),
    Row("a worker group may be suspended", {f"{WORKERS}.suspend": True}),
    Row(
        "autoscaler v2 without autoscaling",
        {HEAD_ENV: env(V2, "true")},
        f"environment variable {V2} cannot be set to 'true' when enableInTreeAutoscaling is false. "
        "Please set enableInTreeAutoscaling: true to use autoscaler v2",
    ),
    Row("autoscaler v2 may be ruled out", {HEAD_ENV: env(V2, "false")}),
    Row(
        "a group that scales itself is not suspended",
        {**AUTOSCALING, f"{WORKERS}.suspend": True},
        "worker group workers cannot be suspended with Autoscaler enabled",
    ),
    Row(
        "the autoscaler's version is named once",
        {**V2_ON, HEAD_ENV: env(V2, "1")},
        f"both .spec.autoscalerOptions.version and head Pod env var {V2} are set, "
        "please only use the former",
    ),
    Row(
        "autoscaler v2 replaces the head's Pod",
        {**V2_ON, f"{HEAD_POD}.restartPolicy": "Always"},
        "restartPolicy for head Pod should be Never or unset when using autoscaler V2",
    ),
    Row(
        "autoscaler v2 replaces a worker's Pod",
        {**V2_ON, f"{WORKERS}.template.spec.restartPolicy": "OnFailure"},
        "restartPolicy for worker group workers should be Never or unset when using autoscaler V2",
    ),
    Row(
        "the first autoscaler restarts Pods", {**AUTOSCALING, f"{HEAD_POD}.restartPolicy": "Always"}
    ),
    Row(
        "the idle time-out of all is not negative",
        {f"{CLUSTER}.autoscalerOptions": {"idleTimeoutSeconds": -3}},
        "autoscalerOptions.idleTimeoutSeconds must be non-negative, got -3",
    ),
    Row(
        "the autoscaler's command is KubeRay's",
        {f"{CLUSTER}.autoscalerOptions": {"env": env("KUBERAY_GEN_AUTOSCALER_START_CMD")}},
        "autoscalerOptions.env must not contain KUBERAY_GEN_AUTOSCALER_START_CMD: it is managed by "
        "KubeRay and injected automatically into the autoscaler container",
    ),
    Row(
        "the history server is behind a gate",
        {f"{CLUSTER}.historyServerOptions": {}},
        "RayClusterHistoryServer feature gate is not enabled",
    ),
    Row(
        "tokens of ServiceAccounts are not for RayJobs",
        {f"{CLUSTER}.authOptions": {"enableK8sTokenAuth": True}, HEAD: None},
        "K8s token auth mode is currently not supported for RayJob",
    ),
    Row("tokens are fine since Ray 2.52.0", TOKEN),
    Row(
        "tokens need a Ray version",
        {**TOKEN, f"{CLUSTER}.rayVersion": None},
        "authOptions.mode is 'token' but RayVersion was not specified. "
        "Ray version 2.52.0 or later is required",
    ),
    Row(
        "tokens need a Ray version of two numbers",
        {**TOKEN, f"{CLUSTER}.rayVersion": "3"},
        "authOptions.mode is 'token' but RayVersion format is invalid: 3, "
        'illegal version string "3"',
    ),
    Row(
        "tokens need a Ray version without leading zeros",
        {**TOKEN, f"{CLUSTER}.rayVersion": "02.53"},
        "authOptions.mode is 'token' but RayVersion format is invalid: 02.53, "
        'illegal zero-prefixed version component "02" in "02.53"',
    ),
    Row(
        "tokens need a Ray version of numbers that fit",
        {**TOKEN, f"{CLUSTER}.rayVersion": "2.18446744073709551616"},
        "authOptions.mode is 'token' but RayVersion format is invalid: 2.18446744073709551616, "
        'illegal non-numeric version component "18446744073709551616" in '
        '"2.18446744073709551616": strconv.ParseUint: parsing "18446744073709551616": '
        "value out of range",
    ),
    Row(
        "tokens need Ray 2.52.0",
        {**TOKEN, f"{CLUSTER}.rayVersion": "2.51"},
        "authOptions.mode is 'token' but minimum Ray version is 2.52.0, got 2.51",
    ),
    Row(
        "network policies are behind a gate",
        {f"{CLUSTER}.networkPolicy": {}},
        "spec.networkPolicy requires the RayClusterNetworkPolicy feature gate to be enabled",
    ),
    Row(
        "mutual TLS is behind a gate",
        {f"{CLUSTER}.tlsOptions": {}},
        "spec.tlsOptions requires the RayClusterMTLS feature gate to be enabled",
    ),
)


@pytest.mark.parametrize("row", GROUPS + OPTIONS, ids=lambda row: row.rule)
def test_the_cluster_of_a_job(row: Row) -> None:
    found = validate(rayjob(row.change))
    message = f"The RayJob spec is invalid: {row.message}" if row.message else ""
    assert (found.message if found else "") == message
    assert found is None or found.kind == "InvalidRayJobSpec"
