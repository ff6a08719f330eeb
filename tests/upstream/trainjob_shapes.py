"""Policies, Pods, Jobs and runtimePatches that hypothesis puts together, whole fields at a time."""

import copy
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from jobledger.core.trainjob.names import ANCESTOR_LABEL, DATASET, MODEL, TRAINER
from tests.upstream.changing import Document

Drawn = st.SearchStrategy[Any]

job_names = st.sampled_from(["node", "launcher", "dataset-initializer", "model-initializer"])
container_names = st.sampled_from(
    ["node", "launcher", "dataset-initializer", "model-initializer", "prepare", "beside"]
)
volume_names = st.sampled_from(["v", "w", "initializer", "mpi-ssh-auth", "shared-memory"])
texts = st.sampled_from(["", "a", "b"])
maps = st.dictionaries(st.sampled_from(["a", "b/c"]), texts, max_size=2)
parts = st.sampled_from(["0", "1", "2", "500m", "1.5"])
amounts = st.fixed_dictionaries(
    {},
    optional={
        "cpu": parts,
        "memory": parts | st.just("1Gi"),
        "nvidia.com/gpu": parts,
        "hugepages-2Mi": st.just("4Mi"),
    },
)
"""Of two kinds of GPU upstream takes any."""
resources = st.fixed_dictionaries({}, optional={"limits": amounts, "requests": amounts})

variables = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["A", "B", "PET_NNODES", "OMPI_MCA_x", "WORLD_SIZE"])},
        optional={"value": texts},
    ),
    max_size=2,
    unique_by=lambda one: str(one["name"]),
)
mounts = st.lists(
    st.fixed_dictionaries(
        {
            "name": volume_names,
            "mountPath": st.sampled_from(["/v", "/workspace", "/home/mpi/.ssh"]),
        },
        optional={"readOnly": st.booleans(), "subPath": texts},
    ),
    max_size=2,
    unique_by=lambda one: one["mountPath"],
)
volumes = st.lists(
    st.fixed_dictionaries(
        {"name": volume_names},
        optional={
            "emptyDir": st.sampled_from([{}, {"medium": "Memory"}]),
            "configMap": st.fixed_dictionaries({"name": texts}),
        },
    ),
    max_size=2,
    unique_by=lambda one: str(one["name"]),
)
ports = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.sampled_from([22, 8080, 29400, 29500])},
        optional={"name": st.sampled_from(["a", "http"])},
    ),
    max_size=2,
    unique_by=(lambda one: one["containerPort"], lambda one: str(one.get("name"))),
)
"""Of several without a name upstream loses some: docs/differences.md."""
security = st.fixed_dictionaries(
    {},
    optional={
        "runAsUser": st.sampled_from([0, 1000]),
        "capabilities": st.fixed_dictionaries(
            {}, optional={"add": st.sampled_from([[], ["A"], ["B", "C"]])}
        ),
    },
)


def named(names: Drawn, **fields: Drawn) -> Drawn:
    """Return up to two items with names of their own, and any of some fields."""
    one = st.fixed_dictionaries({"name": names}, optional=fields)
    return st.lists(one, max_size=2, unique_by=lambda item: item["name"])


container_fields: Mapping[str, Drawn] = {
    "image": st.just("helper:1"),
    "env": variables,
    "ports": ports,
    "resources": resources,
    "volumeMounts": mounts,
}
helpers = named(st.sampled_from(["beside", "other"]), **container_fields)
init_helpers = named(
    st.sampled_from(["prepare", "flux-installer"]),
    restartPolicy=st.just("Always"),
    **container_fields,
)
"""Containers that a runtime has besides the one that trains: they run beside it, or before."""

placing: Mapping[str, Drawn] = {
    "nodeSelector": maps,
    "tolerations": st.lists(
        st.fixed_dictionaries({"key": texts, "operator": st.just("Exists")}), max_size=2
    ),
    "affinity": st.sampled_from(
        [
            {},
            {"nodeAffinity": {}},
            {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
        ]
    ),
    "serviceAccountName": texts,
    "volumes": volumes,
    "imagePullSecrets": named(texts),
    "schedulingGates": named(st.sampled_from(["a", "b"])),
    "terminationGracePeriodSeconds": st.sampled_from([0, 7]),
    "securityContext": st.fixed_dictionaries(
        {},
        optional={
            "runAsUser": st.sampled_from([0, 1000]),
            "supplementalGroups": st.sampled_from([[], [1], [2, 3]]),
        },
    ),
}
"""Fields of a Pod that runtimes have and patches change."""

pods = st.fixed_dictionaries(
    {},
    optional={
        **placing,
        "initContainers": init_helpers,
        "priorityClassName": st.sampled_from(["", "system-node-critical"]),
        "hostNetwork": st.booleans(),
        "restartPolicy": st.sampled_from(["Never", "OnFailure"]),
        "overhead": amounts,
        "resources": resources,
    },
)
patched_containers = named(
    container_names, env=variables, volumeMounts=mounts, securityContext=security
)
patched_pods = st.fixed_dictionaries(
    {},
    optional={
        **placing,
        "containers": patched_containers,
        "initContainers": patched_containers,
    },
)
metadata = st.fixed_dictionaries({}, optional={"labels": maps, "annotations": maps})


def within(inner: Drawn, **more: Drawn) -> Drawn:
    """Return a template: metadata, and a specification."""
    return st.fixed_dictionaries({}, optional={"metadata": metadata, "spec": inner, **more})


pod_templates = within(patched_pods)
job_templates = within(st.fixed_dictionaries({}, optional={"template": pod_templates}))
patched_jobs = named(job_names, template=job_templates)
patches = st.lists(
    st.fixed_dictionaries(
        {"manager": st.sampled_from(["acme.io/one", "acme.io/two", "kueue.x-k8s.io/manager"])},
        optional={
            "trainingRuntimeSpec": st.fixed_dictionaries(
                {},
                optional={
                    "template": within(
                        st.fixed_dictionaries({}, optional={"replicatedJobs": patched_jobs})
                    )
                },
            )
        },
    ),
    max_size=2,
    unique_by=lambda one: str(one["manager"]),
)
"""A generated `spec.runtimePatches`."""

targets = st.lists(
    st.fixed_dictionaries(
        {"jobName": job_names, "containerNames": st.lists(container_names, min_size=1, max_size=2)}
    ),
    max_size=2,
    unique_by=lambda one: one["jobName"],
)
counts = st.sampled_from([1, 2, 3, 8])
sources: Mapping[str, Drawn] = {
    "torch": st.fixed_dictionaries(
        {},
        optional={"envInjection": st.fixed_dictionaries({}, optional={"targets": targets})},
    ),
    "mpi": st.fixed_dictionaries(
        {},
        optional={
            "numProcPerNode": counts,
            "mpiImplementation": st.sampled_from(["OpenMPI", "Intel", "MPICH"]),
            "sshAuthMountPath": st.sampled_from(["/home/mpi/.ssh", "/home/mpiuser/.ssh"]),
            "runLauncherAsNode": st.booleans(),
        },
    ),
    "flux": st.fixed_dictionaries({}, optional={"numProcPerNode": counts}),
    "jax": st.just({}),
    "xgboost": st.just({}),
}
"""Source of a policy -> what it may say."""


@st.composite
def policies(draw: st.DrawFn) -> Document:
    """Return a generated `spec.mlPolicy`, of one source at most."""
    policy: Document = draw(st.fixed_dictionaries({}, optional={"numNodes": counts}))
    source = draw(st.sampled_from(["", *sources]))
    return {**policy, **({source: draw(sources[source])} if source else {})}


gangs = st.one_of(
    st.fixed_dictionaries(
        {
            "coscheduling": st.fixed_dictionaries(
                {}, optional={"scheduleTimeoutSeconds": st.sampled_from([0, 60])}
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "volcano": st.fixed_dictionaries(
                {},
                optional={
                    "networkTopology": st.fixed_dictionaries(
                        {},
                        optional={
                            "mode": st.sampled_from(["hard", "soft"]),
                            "highestTierAllowed": counts,
                        },
                    )
                },
            )
        }
    ),
)
"""A generated `spec.podGroupPolicy`."""

job_specs = st.fixed_dictionaries(
    {},
    optional={
        "parallelism": counts,
        "completions": counts,
        "backoffLimit": st.sampled_from([0, 4]),
        "activeDeadlineSeconds": st.just(60),
        "suspend": st.booleans(),
    },
)
jobset_specs = st.fixed_dictionaries(
    {},
    optional={
        "failurePolicy": st.sampled_from(
            [{"maxRestarts": 3}, {"maxRestarts": 1, "restartStrategy": "BlockingRecreate"}]
        ),
        "startupPolicy": st.just({"startupPolicyOrder": "InOrder"}),
        "suspend": st.booleans(),
        "ttlSecondsAfterFinished": st.sampled_from([0, 60]),
        "network": st.sampled_from(
            [
                {"enableDNSHostnames": False},
                {"subdomain": "own"},
                {"publishNotReadyAddresses": False},
            ]
        ),
        "coordinator": st.just({"replicatedJob": "node", "jobIndex": 1, "podIndex": 1}),
        "managedBy": st.just("acme.io/other"),
    },
)


def merge(document: Document, more: Mapping[str, Any]) -> None:
    """Set fields of a document; items of a list take the places of their like."""
    for field, value in more.items():
        known = document.get(field)
        if isinstance(known, list) and value and isinstance(value[0], dict):
            key = "mountPath" if field == "volumeMounts" else "name"
            names = {one.get(key) for one in value}
            document[field] = [one for one in known if one.get(key) not in names]
            document[field] += copy.deepcopy(value)
        else:
            document[field] = copy.deepcopy(value)


replicated = st.fixed_dictionaries(
    {}, optional={"replicas": st.sampled_from([0, 1, 2]), "groupName": st.just("own")}
)
steps = st.sampled_from([DATASET, MODEL, TRAINER, "other"])


@st.composite
def labelled(draw: st.DrawFn, template: Document) -> Document:
    """Return the template of a Job, now and then with the label of another step, in place."""
    if draw(st.sampled_from([False, False, True])):
        labels = {**draw(maps), ANCESTOR_LABEL: draw(steps)}
        template["metadata"] = draw(st.sampled_from([{}, {"labels": labels}]))
    return template


@st.composite
def shaped(draw: st.DrawFn, runtime: Document) -> Document:
    """Return a runtime with policies, Jobs and Pods that are drawn, in place."""
    spec = runtime["spec"]
    if draw(st.booleans()):
        spec["mlPolicy"] = draw(policies())
    if draw(st.booleans()):
        spec["podGroupPolicy"] = draw(gangs)
    jobset = spec["template"]["spec"]
    merge(jobset, draw(jobset_specs))
    for item in jobset["replicatedJobs"]:
        if not draw(st.booleans()):
            continue
        merge(item, draw(replicated))
        draw(labelled(item["template"]))
        merge(item["template"]["spec"], draw(job_specs))
        template = item["template"]["spec"]["template"]
        merge(template.setdefault("metadata", {}), draw(metadata))
        merge(template["spec"], draw(pods))
        merge(template["spec"], {"containers": draw(helpers)})
        for container in template["spec"]["containers"]:
            if draw(st.booleans()):
                merge(container, {"env": draw(variables), "volumeMounts": draw(mounts)})
                container.update(
                    draw(st.fixed_dictionaries({"ports": ports, "resources": resources}))
                )
    return runtime
