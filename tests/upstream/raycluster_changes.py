"""What is changed in the RayCluster that a RayJob asks for, by name."""

import copy
from collections.abc import Mapping

from tests.upstream.changing import Change, Document, put
from tests.upstream.rayjob_fields import (
    GROUP,
    HEAD,
    HEAD_POD,
    REDIS,
    RESOURCES,
    TOKENS,
    cluster,
    container,
    group,
    template,
)

OF_THE_CLUSTER: Mapping[str, tuple[Change, ...]] = {
    "no-version": cluster(rayVersion=None),
    "no-workers": cluster(workerGroupSpecs=None),
    "no-head-container": (put(f"{HEAD_POD}.containers", []),),
    "no-worker-container": group(**{"template.spec.containers": []}),
    "autoscaling": cluster(enableInTreeAutoscaling=True),
    "autoscaling-v2": cluster(enableInTreeAutoscaling=True, autoscalerOptions={"version": "v2"}),
    "autoscaling-v2-old": cluster(
        enableInTreeAutoscaling=True, autoscalerOptions={"version": "v2"}, rayVersion="2.9.0"
    ),
    "autoscaling-v2-restart": (
        *cluster(enableInTreeAutoscaling=True, autoscalerOptions={"version": "v2"}),
        put(f"{HEAD_POD}.restartPolicy", "Always"),
    ),
    "autoscaler-env": cluster(
        enableInTreeAutoscaling=True,
        autoscalerOptions={"env": [{"name": "KUBERAY_GEN_AUTOSCALER_START_CMD", "value": "x"}]},
    ),
    "autoscaler-command": cluster(
        enableInTreeAutoscaling=True, autoscalerOptions={"command": ["x"], "args": ["y"]}
    ),
    "auth": cluster(authOptions=TOKENS),
    "auth-secret": cluster(authOptions={**TOKENS, "secretName": "own"}),
    "auth-disabled": cluster(authOptions={"mode": "disabled"}),
    "auth-kubernetes": cluster(authOptions={**TOKENS, "enableK8sTokenAuth": True}),
    "auth-old-version": cluster(authOptions=TOKENS, rayVersion="2.40.0"),
    "auth-no-version": cluster(authOptions=TOKENS, rayVersion=None),
    "auth-odd-version": cluster(authOptions=TOKENS, rayVersion="x"),
    "auth-env": (
        *cluster(authOptions=TOKENS),
        *container(env=[{"name": "RAY_AUTH_TOKEN", "value": "x"}]),
    ),
    "auth-template-env": (
        *cluster(authOptions=TOKENS),
        *template(containers=[{"name": "o", "env": [{"name": "RAY_AUTH_MODE", "value": "x"}]}]),
    ),
    "auth-long-name": (*cluster(authOptions=TOKENS), put("metadata.name", "n" * 47)),
    "ft": cluster(gcsFaultToleranceOptions=REDIS),
    "ft-no-address": cluster(gcsFaultToleranceOptions={}),
    "ft-annotation": (put("metadata.annotations", {"ray.io/ft-enabled": "true"}),),
    "ft-both": (
        *cluster(gcsFaultToleranceOptions=REDIS),
        put("metadata.annotations", {"ray.io/ft-enabled": "false"}),
    ),
    "ft-redis-env": container(env=[{"name": "RAY_REDIS_ADDRESS", "value": "x"}]),
    "ft-password": (
        *cluster(gcsFaultToleranceOptions={**REDIS, "redisPassword": {"value": "x"}}),
        put(f"{HEAD}.rayStartParams", {"redis-password": "y"}),
    ),
    "ft-namespace": (
        *cluster(gcsFaultToleranceOptions={**REDIS, "externalStorageNamespace": "x"}),
        put("metadata.annotations", {"ray.io/external-storage-namespace": "y"}),
    ),
    "ft-rocksdb": cluster(gcsFaultToleranceOptions={"backend": "rocksdb"}),
    "ft-storage": cluster(gcsFaultToleranceOptions={**REDIS, "storage": {"size": "1Gi"}}),
    "redis-username": (put(f"{HEAD}.rayStartParams", {"redis-username": "x"}),),
    "network-policy": cluster(networkPolicy={"mode": "DenyAll"}),
    "tls": cluster(tlsOptions={}),
    "history-server": cluster(historyServerOptions={}),
    "upgrade": cluster(upgradeStrategy={"type": "Recreate"}),
    "upgrade-odd": cluster(upgradeStrategy={"type": "Odd"}),
    "suspended": cluster(suspend=True),
    "service-annotations": cluster(headServiceAnnotations={"a": "b"}),
    "service-type": (put(f"{HEAD}.serviceType", "NodePort"),),
    "service-type-plain": (put(f"{HEAD}.serviceType", "ClusterIP"),),
    "service-type-balancer": (put(f"{HEAD}.serviceType", "LoadBalancer"),),
    "ingress": (put(f"{HEAD}.enableIngress", True),),
    "ports": container(
        ports=[
            {"name": "gcs-server", "containerPort": 6379},
            {"name": "dashboard", "containerPort": 9265},
            {"containerPort": 4321},
        ]
    ),
    "port-metrics": container(ports=[{"name": "metrics", "containerPort": 9999}]),
    "port-twice": container(
        ports=[{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]
    ),
    "head-labels": (put(f"{HEAD}.labels", {"a": "b"}),),
    "head-label-odd": (put(f"{HEAD}.labels", {"a b": "c"}),),
    "head-label-value-odd": (put(f"{HEAD}.labels", {"a": "c d"}),),
    "head-resources": (put(f"{HEAD}.resources", {"CPU": "1"}),),
    "head-resources-twice": (
        put(f"{HEAD}.resources", {"CPU": "1"}),
        put(f"{HEAD}.rayStartParams", {"num-cpus": "1"}),
    ),
    "start-labels": (put(f"{HEAD}.rayStartParams", {"labels": "a=b"}),),
    "head-never": (put(f"{HEAD_POD}.restartPolicy", "Never"),),
    "head-always": (put(f"{HEAD_POD}.restartPolicy", "Always"),),
    "head-no-image": container(image=None),
    "head-env": container(env=[{"name": "A", "value": ""}, {"name": "B", "value": "1"}]),
    "sized": (
        *container(resources=RESOURCES),
        put(f"{GROUP}.template.spec.containers.0.resources", RESOURCES),
    ),
    **{
        f"sized-{name}": (
            *container(resources={"limits": {"cpu": amount}, "requests": {"memory": amount}}),
            put(f"{GROUP}.template.spec.containers.0.resources", {"requests": {"cpu": amount}}),
        )
        for name, amount in {
            "below-a-nano": "0.1n",
            "tiny": "1e-30",
            "half-a-kibi": "0.5Ki",
            "greatest": "9Ei",
            "beyond-64-bits": "1e19",
        }.items()
    },
    "sized-limits": container(resources={"limits": {"cpu": "0.1", "memory": "128974848"}}),
    "sized-oddly": container(resources={"requests": {"cpu": 1, "memory": "1e3", "x/y": "100n"}}),
    "sized-init": (
        put(f"{HEAD_POD}.initContainers", [{"name": "i", "resources": RESOURCES}]),
        *container(resources={"requests": {"cpu": "1"}}),
    ),
    "sized-two": (
        put(
            f"{HEAD_POD}.containers",
            [{"name": "head", "resources": RESOURCES}, {"name": "o", "resources": RESOURCES}],
        ),
    ),
    "placed": (
        put(f"{HEAD_POD}.nodeSelector", {"pool": "a"}),
        put(f"{HEAD_POD}.tolerations", [{"key": "k", "operator": "Exists"}]),
        put(f"{HEAD_POD}.affinity", {"nodeAffinity": {}}),
        put(f"{HEAD_POD}.schedulerName", "own"),
    ),
    "placed-empty": (
        put(f"{HEAD_POD}.nodeSelector", {}),
        put(f"{HEAD_POD}.tolerations", []),
    ),
}

SIZED = OF_THE_CLUSTER["sized"]
PODS: Mapping[str, tuple[str, object]] = {
    "init": ("initContainers", [{"name": "i", "image": "i:1", "resources": RESOURCES}]),
    "sidecar": (
        "initContainers",
        [{"name": "i", "image": "i:1", "restartPolicy": "Always", "resources": RESOURCES}],
    ),
    "volumes": ("volumes", [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {}}]),
    "overhead": ("overhead", {"cpu": "250m"}),
    "priority": ("priorityClassName", "high"),
    "account": ("serviceAccountName", "trainer"),
    "security": ("securityContext", {"runAsUser": 0, "fsGroup": 0}),
}
"""Name -> field of a Pod, and its value."""


def two_groups(**fields: object) -> Change:
    """Return the change to a second group of workers, which has some fields otherwise."""

    def change(job: Document) -> None:
        groups = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
        groups.append({**copy.deepcopy(groups[0]), "groupName": "second", **fields})

    return change


OF_GROUPS: Mapping[str, tuple[Change, ...]] = {
    "group-hosts": (*SIZED, *group(numOfHosts=4)),
    "group-hosts-0": (*SIZED, *group(numOfHosts=0)),
    "group-suspended": (*SIZED, *group(suspend=True)),
    "group-below": (*SIZED, *group(replicas=0, minReplicas=2)),
    "group-above": (*SIZED, *group(replicas=9)),
    "group-no-replicas": (*SIZED, *group(replicas=None)),
    "group-zero": (*SIZED, *group(replicas=0, minReplicas=0)),
    "group-autoscaling": (*SIZED, *cluster(enableInTreeAutoscaling=True)),
    "group-autoscaling-below": (
        *SIZED,
        *cluster(enableInTreeAutoscaling=True),
        *group(minReplicas=3, maxReplicas=2),
    ),
    "group-negative": group(minReplicas=-1),
    "group-max-negative": group(maxReplicas=-1),
    "group-min-above-max": group(minReplicas=5, maxReplicas=2),
    "group-idle": group(idleTimeoutSeconds=60),
    "group-idle-negative": group(idleTimeoutSeconds=-1),
    "group-idle-v2": (
        *cluster(enableInTreeAutoscaling=True, autoscalerOptions={"version": "v2"}),
        *group(idleTimeoutSeconds=60),
    ),
    "group-priority": group(priority=1),
    "group-priority-0": group(priority=0),
    "group-labels": group(labels={"ray.io/zone": "a"}),
    "group-label-odd": group(labels={"-": "a"}),
    "group-without-name": group(groupName=""),
    **{
        f"{where}-{name}": (*SIZED, put(f"{pod}.{field}", value))
        for where, pod in (("head", HEAD_POD), ("worker", f"{GROUP}.template.spec"))
        for name, (field, value) in PODS.items()
    },
    "two-groups": (*SIZED, two_groups(numOfHosts=2)),
    "two-groups-one-suspended": (*SIZED, two_groups(suspend=True)),
    "group-delete": group(scaleStrategy={"workersToDelete": ["w"]}),
}
