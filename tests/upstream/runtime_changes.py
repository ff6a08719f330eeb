"""How a training runtime is changed: its policies, its Pods and its JobSet."""

from collections.abc import Mapping

from tests.upstream.changing import Change, jobs, node, pods, put
from tests.upstream.trainjob_changes import GPU

ENV_FROM_FIELD = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]

RUNTIME_CHANGES: Mapping[str, tuple[Change, ...]] = {
    "no-policy": (put("spec.mlPolicy", None),),
    "policy-without-source": (put("spec.mlPolicy", {"numNodes": 2}),),
    "nodes-unset": (put("spec.mlPolicy.numNodes", None),),
    "nodes-4": (put("spec.mlPolicy.numNodes", 4),),
    "gang": (put("spec.podGroupPolicy", {"coscheduling": {"scheduleTimeoutSeconds": 100}}),),
    "volcano": (put("spec.podGroupPolicy", {"volcano": {}}),),
    "volcano-topology": (
        put(
            "spec.podGroupPolicy",
            {"volcano": {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}},
        ),
    ),
    "volcano-queue": (
        put("spec.podGroupPolicy", {"volcano": {}}),
        put(
            "spec.template.metadata.annotations",
            {"scheduling.volcano.sh/queue-name": "research"},
        ),
        pods(priorityClassName="system-node-critical"),
    ),
    "gang-with-requests": (
        put("spec.podGroupPolicy", {"coscheduling": {"scheduleTimeoutSeconds": 100}}),
        node(resources={"requests": {"cpu": "1500m", "memory": "1Gi"}}),
    ),
    "gang-with-requests-of-pods": (
        put("spec.podGroupPolicy", {"coscheduling": {"scheduleTimeoutSeconds": 100}}),
        node(resources={"requests": {"cpu": "1500m", "nvidia.com/gpu": "1"}}),
        pods(
            resources={
                "requests": {
                    "cpu": "2",
                    "memory": "1Gi",
                    "hugepages-2Mi": "4Mi",
                    "nvidia.com/gpu": "2",
                }
            },
            overhead={"cpu": "250m"},
        ),
    ),
    "gpus-on-node": (node(resources=GPU),),
    "gpu-requests-on-node": (node(resources={"requests": {"nvidia.com/gpu": "8"}}),),
    "cpus-on-node": (node(resources={"limits": {"cpu": "6"}}),),
    "amd-gpus-on-node": (node(resources={"limits": {"amd.com/gpu": "2"}}),),
    "parallelism-without-nodes": (
        put("spec.mlPolicy.numNodes", None),
        jobs(parallelism=3, completions=3),
    ),
    "env-on-node": (node(env=[{"name": "A", "value": "runtime"}, *ENV_FROM_FIELD]),),
    "ports-on-node": (node(ports=[{"containerPort": 8080, "protocol": "TCP"}]),),
    "ports-without-name": (node(ports=[{"containerPort": 8080}, {"containerPort": 9090}]),),
    "command-on-node": (node(command=["sleep"], args=["9"]),),
    "init-containers": (
        pods(
            initContainers=[
                {"name": "prepare", "image": "init:1", "resources": {"requests": {"cpu": "2"}}}
            ]
        ),
    ),
    "host-network": (pods(hostNetwork=True),),
    "labels": (
        put("spec.template.metadata.labels", {"l": "runtime"}),
        put("spec.template.metadata.annotations", {"an": "runtime"}),
    ),
    "network-subdomain": (
        put("spec.template.spec.network", {"enableDNSHostnames": True, "subdomain": "custom"}),
    ),
    "success-policy": (
        put("spec.template.spec.successPolicy", {"operator": "All", "targetReplicatedJobs": []}),
    ),
    "failure-policy": (put("spec.template.spec.failurePolicy", {"maxRestarts": 3}),),
    "ttl": (put("spec.template.spec.ttlSecondsAfterFinished", 60),),
    "suspended-template": (put("spec.template.spec.suspend", True),),
    "replicas-2": (put("spec.template.spec.replicatedJobs.0.replicas", 2),),
    "replicas-0": (put("spec.template.spec.replicatedJobs.0.replicas", 0),),
    "inject-unknown-container": (
        put(
            "spec.mlPolicy",
            {
                "numNodes": 2,
                "torch": {
                    "envInjection": {"targets": [{"jobName": "node", "containerNames": ["nobody"]}]}
                },
            },
        ),
    ),
    "inject-node": (
        put(
            "spec.mlPolicy",
            {
                "torch": {
                    "envInjection": {"targets": [{"jobName": "node", "containerNames": ["node"]}]}
                },
            },
        ),
    ),
    "inject-init-container": (
        pods(initContainers=[{"name": "prepare", "image": "init:1"}]),
        put(
            "spec.mlPolicy",
            {
                "numNodes": 2,
                "torch": {
                    "envInjection": {
                        "targets": [{"jobName": "node", "containerNames": ["prepare", "node"]}]
                    }
                },
            },
        ),
    ),
    "jax": (put("spec.mlPolicy", {"numNodes": 2, "jax": {}}),),
    "xgboost": (put("spec.mlPolicy", {"numNodes": 2, "xgboost": {}}),),
    "flux": (put("spec.mlPolicy", {"numNodes": 2, "flux": {"numProcPerNode": 2}}),),
    "flux-added": (put("spec.mlPolicy", {"numNodes": 3, "flux": {}}),),
    "flux-default": (put("spec.mlPolicy", {"numNodes": 1, "flux": {"numProcPerNode": 1}}),),
    "flux-env-on-node": (
        node(
            env=[
                {"name": "FLUX_VIEW_IMAGE", "value": "example.com/view:2"},
                {"name": "FLUX_NETWORK_DEVICE", "value": "eth1"},
                {"name": "FLUX_QUEUE_POLICY", "value": ""},
            ]
        ),
    ),
    "flux-init-container": (pods(initContainers=[{"name": "flux-installer", "image": "init:1"}]),),
    "flux-volumes": (
        pods(volumes=[{"name": "shared-memory", "emptyDir": {}}]),
        node(volumeMounts=[{"name": "shared-memory", "mountPath": "/dev/shm"}]),
    ),
    "torch": (put("spec.mlPolicy", {"numNodes": 2, "torch": {}}),),
    **{
        f"mpi-{implementation.lower()}": (
            put(
                "spec.mlPolicy",
                {
                    "numNodes": 2,
                    "mpi": {
                        "numProcPerNode": 2,
                        "mpiImplementation": implementation,
                        "sshAuthMountPath": "/home/mpi/.ssh",
                        "runLauncherAsNode": as_node,
                    },
                },
            ),
        )
        for implementation, as_node in (("OpenMPI", True), ("Intel", False), ("MPICH", True))
    },
}
"""Name -> how a runtime is changed; each with a plain TrainJob and a few of the others."""
