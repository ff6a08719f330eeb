"""Parts of RayJobs that hypothesis puts together: whole fields, whole Pods, whole strategies."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.upstream.changing import Document
from tests.upstream.rayjob_changes import HEAD_SERVICES

Drawn = st.SearchStrategy[Any]

texts = st.sampled_from(["", "a", "b"])
maps = st.dictionaries(st.sampled_from(["a", "b/c", "ray.io/cluster"]), texts, max_size=2)
counts = st.sampled_from([0, 1, 2, 3, 7, -1])
seconds = st.sampled_from([-1, 0, 1, 60])
amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
    st.sampled_from(["0", "1", "500m", "1.5", "1Gi", "1e3", "100n", "-1", "3G"]),
    max_size=3,
)
resources = st.fixed_dictionaries({}, optional={"limits": amounts, "requests": amounts})
variables = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["A", "B", "RAY_AUTH_MODE", "RAY_DASHBOARD_ADDRESS"])},
        optional={"value": texts},
    ),
    max_size=2,
)


def some(**fields: Drawn) -> Drawn:
    """Return a document with any of some fields."""
    return st.fixed_dictionaries({}, optional=fields)


containers_fields: Mapping[str, Drawn] = {
    "image": st.just("own:1"),
    "command": st.lists(texts, max_size=2),
    "args": st.lists(texts, max_size=2),
    "env": variables,
    "resources": resources,
    "volumeMounts": st.just([{"name": "v", "mountPath": "/v"}]),
    "securityContext": some(runAsUser=counts, privileged=st.booleans()),
    "ports": st.lists(
        st.fixed_dictionaries(
            {"containerPort": st.sampled_from([6379, 8265, 9999])},
            optional={"name": st.sampled_from(["dashboard", "gcs-server", "metrics", "own"])},
        ),
        max_size=2,
    ),
}


def containers(prefix: str, least: int = 0) -> Drawn:
    """Return some containers, each with a name of its own."""
    names = st.sampled_from([f"{prefix}-1", f"{prefix}-2"])
    one = st.fixed_dictionaries({"name": names}, optional=dict(containers_fields))
    return st.lists(one, min_size=least, max_size=2, unique_by=lambda item: item["name"])


placed: Mapping[str, Drawn] = {
    "initContainers": containers("init"),
    "volumes": st.lists(st.just({"name": "v", "emptyDir": {}}), max_size=1),
    "nodeSelector": maps,
    "tolerations": st.lists(
        st.fixed_dictionaries({"key": texts, "operator": st.just("Exists")}), max_size=2
    ),
    "affinity": st.sampled_from([{}, {"nodeAffinity": {}}]),
    "serviceAccountName": texts,
    "priorityClassName": texts,
    "schedulerName": texts,
    "imagePullSecrets": st.lists(st.just({"name": "pull"}), max_size=1),
    "hostNetwork": st.booleans(),
    "restartPolicy": st.sampled_from(["Always", "Never", "OnFailure"]),
    "securityContext": some(runAsUser=counts),
    "overhead": amounts,
    "terminationGracePeriodSeconds": counts,
}
"""Fields of a Pod, but for its containers."""

metadata = some(labels=maps, annotations=maps)
templates = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"containers": containers("own", least=1)}, optional=dict(placed)
        )
    },
    optional={"metadata": metadata},
)
"""A Pod template of the submitter."""

states = st.sampled_from(["SUCCEEDED", "FAILED", "STOPPED"])
conditions = st.fixed_dictionaries(
    {},
    optional={
        "jobStatus": states,
        "jobDeploymentStatus": st.sampled_from(["Failed", "Complete"]),
        "ttlSeconds": seconds,
    },
)
kinds = st.sampled_from(["DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"])
rules = st.lists(
    st.fixed_dictionaries({"policy": kinds, "condition": conditions}), min_size=1, max_size=3
)
old_policies = some(policy=kinds)
strategies = some(deletionRules=rules, onSuccess=old_policies, onFailure=old_policies)
"""A `deletionStrategy`, also one that is refused."""

lives = some(
    activeDeadlineSeconds=st.just(60),
    preRunningDeadlineSeconds=st.just(30),
    submitterPodTemplate=templates,
    submitterConfig=some(backoffLimit=counts),
)
"""Fields of a RayJob that seldom make it invalid."""
fates = some(
    shutdownAfterJobFinishes=st.booleans(),
    ttlSecondsAfterFinished=seconds,
    activeDeadlineSeconds=seconds,
    preRunningDeadlineSeconds=seconds,
    backoffLimit=st.sampled_from([-1, 0, 2]),
    suspend=st.booleans(),
    managedBy=st.sampled_from(["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"]),
    deletionStrategy=strategies,
)
"""Fields of a RayJob of which many together are invalid."""

autoscaling = some(
    version=st.sampled_from(["v1", "v2"]),
    idleTimeoutSeconds=counts,
    upscalingMode=st.sampled_from(["Default", "Aggressive"]),
    image=texts,
    imagePullPolicy=st.just("Always"),
    env=variables,
    resources=resources,
    volumeMounts=st.just([{"name": "v", "mountPath": "/v"}]),
    securityContext=some(runAsUser=counts),
)
fault_tolerance = some(
    redisAddress=st.just("redis:6379"),
    externalStorageNamespace=texts,
    redisUsername=some(value=texts),
    redisPassword=some(value=texts),
)
clusters = some(
    rayVersion=st.sampled_from(["2.9.0", "2.46.0", "2.52.0", "2.55.0", "nightly"]),
    enableInTreeAutoscaling=st.booleans(),
    autoscalerOptions=autoscaling,
    headServiceAnnotations=maps,
    suspend=st.booleans(),
    managedBy=st.just("ray.io/kuberay-operator"),
)
"""Fields of a RayCluster, but for its groups."""
options = some(
    gcsFaultToleranceOptions=fault_tolerance,
    authOptions=some(mode=st.sampled_from(["token", "disabled"]), secretName=texts),
)
"""Fields of a RayCluster that often make it invalid."""

parameters = st.dictionaries(
    st.sampled_from(["num-cpus", "resources", "redis-password", "dashboard-host", "labels"]),
    st.sampled_from(["0", "1", '"{}"']),
    max_size=2,
)
heads = some(
    rayStartParams=parameters,
    serviceType=st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]),
    headService=st.sampled_from(list(HEAD_SERVICES.values())),
    enableIngress=st.booleans(),
    labels=maps,
    resources=st.dictionaries(st.sampled_from(["CPU", "a"]), st.just("1"), max_size=1),
)
groups = some(
    replicas=counts,
    minReplicas=counts,
    maxReplicas=counts,
    numOfHosts=counts,
    suspend=st.booleans(),
    idleTimeoutSeconds=counts,
    rayStartParams=parameters,
    labels=maps,
    resources=st.dictionaries(st.sampled_from(["CPU", "a"]), st.just("1"), max_size=1),
    scaleStrategy=some(workersToDelete=st.just(["w"])),
)
before = some(
    failed=counts,
    succeeded=counts,
    jobStatus=st.sampled_from(["", "PENDING", "RUNNING"]),
    message=texts,
    reason=st.sampled_from(["", "AppFailed"]),
)
"""What an earlier attempt has left in a status."""


@st.composite
def pods(draw: st.DrawFn, pod: Document) -> Document:
    """Return a Pod with fields that are drawn, and containers beside the one that runs Ray."""
    pod.update(draw(some(**placed)))
    pod["containers"][0].update(draw(some(**containers_fields)))
    pod["containers"] += draw(containers("beside"))
    return pod


@st.composite
def shaped(draw: st.DrawFn, spec: Document) -> Document:
    """Return the specification of a RayJob with parts that are drawn, in place."""
    spec.update(draw(lives | fates))
    if not isinstance(spec.get("rayClusterSpec"), dict):
        return spec
    cluster = spec["rayClusterSpec"]
    cluster.update(draw(clusters | options))
    head = cluster["headGroupSpec"]
    head.update(draw(heads))
    head["template"]["metadata"] = draw(metadata)
    draw(pods(head["template"]["spec"]))
    for group in cluster.get("workerGroupSpecs") or ():
        group.update(draw(groups))
        group["template"]["metadata"] = draw(metadata)
        draw(pods(group["template"]["spec"]))
    if draw(st.booleans()) and cluster.get("workerGroupSpecs"):
        more = draw(groups)
        template = {"spec": {"containers": draw(containers("second", least=1))}}
        cluster["workerGroupSpecs"].append(
            {"groupName": draw(st.sampled_from(["second", "workers"])), "template": template} | more
        )
    return spec
