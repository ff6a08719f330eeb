"""What is changed in a RayJob: every field of its specification, and the edges, by name."""

from collections.abc import Mapping

from tests.upstream.changing import Change, put
from tests.upstream.raycluster_changes import OF_GROUPS, OF_THE_CLUSTER
from tests.upstream.rayjob_fields import (
    HEAD,
    RESOURCES,
    TEMPLATE,
    cluster,
    rule,
    spec,
    strategy,
    template,
)
from tests.upstream.runtime_envs import RUNTIME_ENVS

SCHEDULERS = ("volcano", "yunikorn", "kai-scheduler")
ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    "login-shell": {"ENABLE_LOGIN_SHELL": "true"},
    "head-address": {"ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE": "true"},
}

QUEUES = {
    "volcano.sh/queue-name": "research",
    "ray.io/priority-class-name": "high",
    "ray.io/gang-scheduling-enabled": "true",
    "yunikorn.apache.org/app-id": "app-1",
    "yunikorn.apache.org/queue": "root.research",
    "kai.scheduler/queue": "research",
}

HEAD_SERVICES: Mapping[str, object] = {
    "empty": {},
    "name": {"metadata": {"name": "own-name"}},
    "labels": {
        "metadata": {"labels": {"a": "b", "ray.io/cluster": "x"}, "annotations": {"c": "d"}}
    },
    "type": {"spec": {"type": "NodePort"}},
    "cluster-ip": {"spec": {"type": "ClusterIP"}},
    "headless": {"spec": {"clusterIP": "None"}},
    "ports": {"spec": {"ports": [{"name": "extra", "port": 1234}]}},
    "two-ports": {
        "spec": {
            "ports": [{"name": "z", "port": 1234}, {"name": "a", "port": 1, "nodePort": 31000}]
        }
    },
    "same-port": {"spec": {"ports": [{"name": "dashboard", "port": 9000}]}},
    "port-without-name": {"spec": {"ports": [{"port": 1234}]}},
    "selector": {"spec": {"selector": {"mine": "x"}}},
    "affinity": {"spec": {"sessionAffinity": "ClientIP", "publishNotReadyAddresses": True}},
    "finalizers": {"metadata": {"finalizers": ["x/y"], "namespace": "other"}},
}


OF_THE_JOB: Mapping[str, tuple[Change, ...]] = {
    "plain": (),
    "metadata": (
        put("metadata.labels", {"team": "ml", "ray.io/originated-from-cr-name": "other"}),
        put("metadata.annotations", {"a/b": "c"}),
    ),
    "name-47": (put("metadata.name", "n" * 47),),
    "name-48": (put("metadata.name", "n" * 48),),
    "name-digit": (put("metadata.name", "1a"),),
    "name-dot": (put("metadata.name", "a.b"),),
    "name-capital": (put("metadata.name", "A"),),
    "namespace": (put("metadata.namespace", "other"),),
    "no-entrypoint": spec(entrypoint=None),
    "entrypoint-spaces": spec(entrypoint="  \n python 'a b' \u00a0\t"),
    "entrypoint-shell": spec(entrypoint='echo $HOME; `ls` && "x"'),
    "cpus": spec(entrypointNumCpus=2),
    "cpus-part": spec(entrypointNumCpus=0.1, entrypointNumGpus=0.25),
    "cpus-tiny": spec(entrypointNumCpus=1e-9),
    "cpus-negative": spec(entrypointNumCpus=-1),
    "cpus-large": spec(entrypointNumCpus=16777217, entrypointNumGpus=1e20),
    "resources": spec(entrypointResources='{"a": 1, "b": 0.5}'),
    "resources-empty": spec(entrypointResources="{}"),
    "resources-broken": spec(entrypointResources="{a"),
    "resources-list": spec(entrypointResources="[1]"),
    "resources-null": spec(entrypointResources="null"),
    "resources-null-amount": spec(entrypointResources='{"a": null}'),
    "resources-text": spec(entrypointResources='{"a": "1"}'),
    "resources-large": spec(entrypointResources='{"a": 16777217}'),
    "job-id": spec(jobId="mine-1"),
    "metadata-of-ray": spec(metadata={"k": "v", "a": "<&>", "ü": "\u2028"}),
    "metadata-empty": spec(metadata={}),
    "metadata-without-version": (*spec(metadata={"k": "v"}), *cluster(rayVersion=None)),
    "metadata-old-version": (*spec(metadata={"k": "v"}), *cluster(rayVersion="2.5.0")),
    "metadata-odd-version": (*spec(metadata={"k": "v"}), *cluster(rayVersion="nightly")),
    "metadata-short-version": (*spec(metadata={"k": "v"}), *cluster(rayVersion="2.6")),
    "metadata-v-version": (*spec(metadata={"k": "v"}), *cluster(rayVersion="v2.7.0")),
    "metadata-pre-version": (*spec(metadata={"k": "v"}), *cluster(rayVersion="2.7.0-rc1")),
    "deadline": spec(activeDeadlineSeconds=60, preRunningDeadlineSeconds=30),
    "deadline-0": spec(activeDeadlineSeconds=0),
    "pre-running-0": spec(preRunningDeadlineSeconds=0),
    "deadline-negative": spec(activeDeadlineSeconds=-1),
    "escape-and-deadline-negative": spec(runtimeEnvYAML='a: "\\/"\n', preRunningDeadlineSeconds=-1),
    "backoff-3": spec(backoffLimit=3),
    "backoff-negative": spec(backoffLimit=-1),
    "ttl": spec(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=10),
    "ttl-alone": spec(ttlSecondsAfterFinished=10),
    "ttl-negative": spec(ttlSecondsAfterFinished=-1),
    "suspend": spec(suspend=True),
    "suspend-shutdown": spec(suspend=True, shutdownAfterJobFinishes=True),
    "suspend-selector": spec(
        suspend=True, shutdownAfterJobFinishes=True, clusterSelector={"ray.io/cluster": "shared"}
    ),
    "managed-by-kuberay": spec(managedBy="ray.io/kuberay-operator"),
    "managed-by-kueue": spec(managedBy="kueue.x-k8s.io/multikueue"),
    "unknown-mode": spec(submissionMode="Other"),
    "interactive": spec(submissionMode="InteractiveMode"),
    "interactive-id": spec(submissionMode="InteractiveMode", jobId="mine"),
    "interactive-backoff": spec(submissionMode="InteractiveMode", backoffLimit=1),
    "submitter-backoff": spec(submitterConfig={"backoffLimit": 5}),
    "submitter-backoff-0": spec(submitterConfig={"backoffLimit": 0}),
    "submitter-config-empty": spec(submitterConfig={}),
    "template": template(),
    "template-command": template(
        containers=[{"name": "own", "image": "own:1", "command": ["sh", "-c"], "args": ["x"]}]
    ),
    "template-args": template(containers=[{"name": "own", "args": ["x"]}]),
    "template-empty": spec(submitterPodTemplate={}),
    "template-no-containers": template(containers=[]),
    "template-resources": template(
        containers=[{"name": "own", "resources": RESOURCES}],
        initContainers=[{"name": "init", "resources": {"requests": {"cpu": "8"}}}],
    ),
    "template-labels": spec(
        submitterPodTemplate={
            **TEMPLATE,
            "metadata": {"labels": {"ray.io/originated-from-crd": "x"}, "name": "given"},
        }
    ),
    "selector": spec(clusterSelector={"ray.io/cluster": "shared"}),
    "selector-alone": spec(clusterSelector={"ray.io/cluster": "shared"}, rayClusterSpec=None),
    "selector-metadata": spec(
        clusterSelector={"ray.io/cluster": "shared"}, rayClusterSpec=None, metadata={"k": "v"}
    ),
    "selector-other-key": spec(clusterSelector={"x": "y"}, rayClusterSpec=None),
    "selector-empty": spec(clusterSelector={"ray.io/cluster": ""}),
    "selector-empty-map": spec(clusterSelector={}),
    "selector-backoff": spec(clusterSelector={"ray.io/cluster": "shared"}, backoffLimit=1),
    "template-full": template(
        initContainers=[{"name": "init", "restartPolicy": "Always", "resources": RESOURCES}],
        volumes=[{"name": "v", "emptyDir": {}}],
        serviceAccountName="own",
        priorityClassName="high",
        securityContext={"runAsUser": 0},
        overhead={"cpu": "1"},
    ),
    "retried": (put("status.failed", 2), put("status.message", "of the last attempt")),
    "resumed": (put("status.succeeded", 0), put("status.failed", 0), put("status.reason", "")),
    "nothing-to-run-on": spec(rayClusterSpec=None),
}

OF_DELETION: Mapping[str, tuple[Change, ...]] = {
    "rules": strategy(
        rule("DeleteWorkers", jobStatus="SUCCEEDED", ttlSeconds=1),
        rule("DeleteCluster", jobStatus="SUCCEEDED", ttlSeconds=2),
        rule("DeleteSelf", jobStatus="FAILED", ttlSeconds=0),
    ),
    "rules-shutdown": (
        *spec(shutdownAfterJobFinishes=True),
        *strategy(rule("DeleteCluster", jobStatus="FAILED")),
    ),
    "rules-ttl": (
        *spec(ttlSecondsAfterFinished=5),
        *strategy(rule("DeleteCluster", jobStatus="FAILED")),
    ),
    "rules-selector": (
        *spec(clusterSelector={"ray.io/cluster": "shared"}),
        *strategy(rule("DeleteCluster", jobStatus="FAILED")),
    ),
    "rules-autoscaling": (
        *cluster(enableInTreeAutoscaling=True),
        *strategy(rule("DeleteWorkers", jobStatus="FAILED")),
    ),
    "rules-twice": strategy(
        rule("DeleteCluster", jobStatus="FAILED"), rule("DeleteCluster", jobStatus="FAILED")
    ),
    "rules-order": strategy(
        rule("DeleteWorkers", jobStatus="FAILED", ttlSeconds=9),
        rule("DeleteCluster", jobStatus="FAILED", ttlSeconds=3),
    ),
    "rules-negative": strategy(rule("DeleteCluster", jobStatus="FAILED", ttlSeconds=-1)),
    "rules-no-condition": strategy(rule("DeleteCluster")),
    "rules-both-conditions": strategy(
        rule("DeleteCluster", jobStatus="FAILED", jobDeploymentStatus="Failed")
    ),
    "rules-phase": strategy(rule("DeleteCluster", jobDeploymentStatus="Failed")),
    "rules-mixed": spec(
        deletionStrategy={
            "onSuccess": {"policy": "DeleteCluster"},
            "deletionRules": [rule("DeleteCluster", jobStatus="FAILED")],
        }
    ),
    "strategy-empty": strategy(),
    "old": strategy(onSuccess={"policy": "DeleteCluster"}, onFailure={"policy": "DeleteSelf"}),
    "old-half": strategy(onSuccess={"policy": "DeleteCluster"}),
    "old-without-policy": strategy(onSuccess={}, onFailure={}),
    "old-workers": strategy(
        onSuccess={"policy": "DeleteWorkers"}, onFailure={"policy": "DeleteNone"}
    ),
    "old-shutdown": (
        *spec(shutdownAfterJobFinishes=True),
        *strategy(onSuccess={"policy": "DeleteCluster"}, onFailure={"policy": "DeleteNone"}),
    ),
}

QUEUED = put("metadata.labels", QUEUES)
OF_GANGS: Mapping[str, tuple[Change, ...]] = {
    "topology": (put("metadata.labels", {"volcano.sh/network-topology-mode": "hard"}),),
    **{
        f"topology-tier-{name}": (
            put(
                "metadata.labels",
                {
                    "volcano.sh/network-topology-mode": "soft",
                    "volcano.sh/network-topology-highest-tier-allowed": tier,
                },
            ),
        )
        for name, tier in {"2": "2", "odd": "x", "signed": "+2", "negative": "-1"}.items()
    },
    "labels-empty": (put("metadata.labels", dict.fromkeys(QUEUES, "")),),
    "gang-off": (put("metadata.labels", {"ray.io/gang-scheduling-enabled": "false"}),),
    "annotations": (QUEUED, put("metadata.annotations", {"a": "b", "volcano.sh/x": "y"})),
    "own-task-groups": (
        QUEUED,
        put("metadata.annotations", {"yunikorn.apache.org/task-groups": "[{}]"}),
    ),
    "own-task-groups-empty": (
        QUEUED,
        put("metadata.annotations", {"yunikorn.apache.org/task-groups": ""}),
    ),
    "own-group-name": (
        QUEUED,
        put("metadata.annotations", {"yunikorn.apache.org/task-group-name": "x"}),
    ),
}

CHANGES: Mapping[str, tuple[Change, ...]] = {
    "labelled": (QUEUED,),
    **OF_THE_JOB,
    **OF_DELETION,
    **OF_THE_CLUSTER,
    **OF_GROUPS,
    **OF_GANGS,
    **{
        f"head-service-{name}": (put(f"{HEAD}.headService", service),)
        for name, service in HEAD_SERVICES.items()
    },
    **{
        f"head-service-{name}-typed": (
            put(f"{HEAD}.headService", service),
            put(f"{HEAD}.serviceType", "LoadBalancer"),
        )
        for name, service in HEAD_SERVICES.items()
    },
    **{f"env-{name}": spec(runtimeEnvYAML=text) for name, text in RUNTIME_ENVS.items()},
}
"""Name -> how a RayJob is changed."""
