"""Builds the objects to be applied from a TrainJob and its runtime. Pure.

Source: Trainer v2.3, pkg/runtime/core (trainingruntime.go, newRuntimeInfo) and the JobSet builder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jobledger.core.jobs.control.ownership import controller_reference
from jobledger.core.ports.cluster import TRAINJOBS
from jobledger.core.trainjob.building.framework import BuildFailed, BuiltObject, Info, Plugin, run
from jobledger.core.trainjob.building.pod_sets import pod_sets_of
from jobledger.core.trainjob.building.replicated_jobs import with_pod
from jobledger.core.trainjob.building.strategic_merge import as_typed, strategic_merge
from jobledger.core.trainjob.building.validation import job_problems
from jobledger.core.trainjob.names import ANCESTOR_LABEL, NODE, TRAINER
from jobledger.core.values.documents import Json, Manifest, child, items, text


def build(plugins: Sequence[Plugin], job: Manifest, runtime: Manifest) -> tuple[BuiltObject, ...]:
    """Return the objects of a TrainJob on a runtime, owned by it, in the order to apply them.

    Raises:
        BuildFailed: which plugin or rule, and what it says.
    """
    if problems := job_problems(job):
        raise BuildFailed("", "; ".join(problems))
    built = run(plugins, start(job, runtime))
    return tuple(replace(item, manifest=owned(item, job)) for item in built)


def owned(item: BuiltObject, job: Manifest) -> Manifest:
    """Return an object as it is sent: with namespace and the one owner reference."""
    metadata = child(item.manifest, "metadata")
    owner = controller_reference(TRAINJOBS.api_version, TRAINJOBS.kind, job)
    return {
        "apiVersion": item.resource.api_version,
        "kind": item.resource.kind,
        **{key: value for key, value in item.manifest.items() if key not in ("apiVersion", "kind")},
        "metadata": {
            **metadata,
            "namespace": text(job, "metadata", "namespace"),
            "ownerReferences": [owner],
        },
    }


def start(job: Manifest, runtime: Manifest) -> Info:
    """Return what the first plugin looks at: the patched template and its Pod sets."""
    template = child(runtime, "spec", "template")
    labels = dict(_texts(child(template, "metadata").get("labels")))
    annotations = dict(_texts(child(template, "metadata").get("annotations")))
    spec: Manifest = child(template, "spec")
    order = [text(item, "name") for item in items(spec, "replicatedJobs")]
    for patch in items(job, "spec", "runtimePatches"):
        patched = child(patch, "trainingRuntimeSpec", "template")
        labels.update(_texts(child(patched, "metadata").get("labels")))
        annotations.update(_texts(child(patched, "metadata").get("annotations")))
        spec = strategic_merge(spec, child(as_typed(patched), "spec"))
    spec = _with_resources(_in_order(spec, order), job, runtime)
    return Info(
        job=job,
        runtime=runtime,
        template=spec,
        pod_sets=pod_sets_of(spec, job, runtime),
        labels=labels,
        annotations=annotations,
    )


def _texts(value: Json) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {key: item for key, item in value.items() if isinstance(item, str)}


def _in_order(spec: Manifest, order: list[str]) -> Manifest:
    """Return the specification with its replicatedJobs in the runtime's order.

    One that only a patch has stays beside the first, as upstream: its place is none, which is 0.
    """

    def place(item: Json) -> int:
        name = text(item, "name")
        return order.index(name) if name in order else 0

    if "replicatedJobs" not in spec:
        return spec
    return {**spec, "replicatedJobs": sorted(items(spec, "replicatedJobs"), key=place)}


def _with_resources(spec: Manifest, job: Manifest, runtime: Manifest) -> Manifest:
    """Return the specification with resourcesPerNode in the containers that train."""
    asked = child(job, "spec", "trainer").get("resourcesPerNode")
    policy = child(runtime, "spec").get("mlPolicy")
    if not isinstance(asked, Mapping) or not isinstance(policy, Mapping):
        return spec
    as_node = child(policy, "mpi").get("runLauncherAsNode") is True
    changed = []
    for item in items(spec, "replicatedJobs"):
        trains = is_trainer(item) or (as_node and text(item, "name") == NODE)
        changed.append(_with_container_resources(child(item), asked) if trains else item)
    return {**spec, "replicatedJobs": changed}


def is_trainer(replicated_job: Json) -> bool:
    """Return whether a replicatedJob is made for the step that trains."""
    labels = child(replicated_job, "template", "metadata", "labels")
    return text(labels, ANCESTOR_LABEL) == TRAINER


def _with_container_resources(item: Manifest, asked: Manifest) -> Manifest:
    pod = child(item, "template", "spec", "template", "spec")
    containers: list[Json] = []
    for container in items(pod, "containers"):
        if text(container, "name") != NODE:
            containers.append(container)
            continue
        resources: dict[str, Json] = dict(child(container, "resources"))
        for kind in ("limits", "requests"):
            if kind in asked:
                resources[kind] = {**child(resources, kind), **child(asked, kind)}
        containers.append({**child(container), "resources": resources})
    return with_pod(item, {**pod, "containers": containers})
