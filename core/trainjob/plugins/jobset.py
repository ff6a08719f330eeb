"""The JobSet: the runtime's template with everything that the job and the plugins put into it.

Source: Trainer v2.3, pkg/runtime/framework/plugins/jobset (jobset.go, builder.go).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jobledger.core.ports.cluster import JOBSETS, Resource
from jobledger.core.trainjob.building.framework import (
    ApplyRule,
    BuiltObject,
    Info,
    Plugin,
    PluginCondition,
)
from jobledger.core.trainjob.building.pod_sets import ContainerChange, PodSet
from jobledger.core.trainjob.building.replicated_jobs import (
    with_job_fields,
    with_pod,
    with_pod_metadata,
)
from jobledger.core.trainjob.building.runtime_validation import runtime_problems
from jobledger.core.trainjob.building.upserts import with_env, with_mounts, with_ports, with_volumes
from jobledger.core.trainjob.building.validation import jobset_problems
from jobledger.core.trainjob.names import DATASET, MODEL, NODE, TRAINER
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import parse_rfc3339

COPIED = ("StartupPolicyInProgress", "StartupPolicyCompleted", "RestartingJobSet")
"""Conditions of the JobSet that are shown on the TrainJob where plugins may contribute."""
RESTARTED = "JobSetRestarted"
INITIALIZERS = {DATASET: "dataset", MODEL: "model"}
"""Step -> where the TrainJob configures it, in spec.initializer."""


class JobSet(Plugin):
    """Builds the JobSet; asked last."""

    name = "jobset"
    watched: tuple[Resource, ...] = (JOBSETS,)
    conditions_from: tuple[Resource, ...] = (JOBSETS,)
    condition_types: tuple[str, ...] = (*COPIED, RESTARTED)

    def validate(self, info: Info) -> Iterable[str]:
        """Return initializers and patches without a place in the runtime; else what it lacks."""
        return [*jobset_problems(info)] or runtime_problems(info.runtime)

    def sync_before_build(self, info: Info) -> Info:
        """Put every Pod set's number of Pods and changes into the template."""
        jobs: list[Json] = []
        for item, pod_set in zip(
            items(info.template, "replicatedJobs"), info.pod_sets, strict=True
        ):
            changed = _with_changes(_defaulted(child(item)), pod_set)
            changed = _with_initializer(changed, pod_set, info)
            changed = _with_trainer(changed, pod_set, info)
            if info.pod_labels or info.pod_annotations:
                changed = with_pod_metadata(changed, info.pod_labels, info.pod_annotations)
            count = pod_set.count
            jobs.append(with_job_fields(changed, parallelism=count, completions=count))
        template = {
            key: _as_trainer_says_it(value) if key in _SETTLED else value
            for key, value in info.template.items()
            if key != "suspend"
        }
        suspend = child(info.job, "spec").get("suspend")
        if isinstance(suspend, bool):
            template["suspend"] = suspend
        return replace(info, template={**template, "replicatedJobs": jobs})

    def build(self, info: Info) -> Sequence[BuiltObject]:
        """Return the JobSet."""
        metadata: dict[str, Json] = {"name": info.name}
        if info.labels:
            metadata["labels"] = dict(info.labels)
        if info.annotations:
            metadata["annotations"] = dict(info.annotations)
        jobset = {"metadata": metadata, "spec": info.template}
        return (BuiltObject(resource=JOBSETS, manifest=jobset, rule=ApplyRule.JOBSET),)

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:
        """Return the JobSet's start and restarts."""
        del job
        return (*_copies(observed), *_restarts(observed))


def _copies(jobset: Manifest) -> Iterator[PluginCondition]:
    for item in items(jobset, "status", "conditions"):
        if text(item, "type") in COPIED:
            yield PluginCondition(
                type=text(item, "type"),
                status=text(item, "status"),
                reason=text(item, "reason"),
                message=text(item, "message"),
                since=parse_rfc3339(text(item, "lastTransitionTime")),
            )


def _restarts(jobset: Manifest) -> Iterator[PluginCondition]:
    restarts = number(jobset, "status", "restarts") or 0
    if restarts:
        counted = number(jobset, "status", "restartsCountTowardsMax") or 0
        created = parse_rfc3339(text(jobset, "metadata", "creationTimestamp"))
        yield PluginCondition(
            type=RESTARTED,
            status="True",
            reason=RESTARTED,
            message=f"restarts: {restarts}, of which count towards the maximum: {counted}",
            since=created,
        )


_SETTLED = ("successPolicy", "failurePolicy", "coordinator")
"""Fields that a JobSet never takes a change of. Source: its definition."""


def _as_trainer_says_it(value: Json) -> Json:
    """Return a value without the fields in it that are empty or nought, as Go's types say it.

    With them Trainer, to which the job is given back, or from which it came, would change it.
    """
    if isinstance(value, Mapping):
        said = {key: _as_trainer_says_it(one) for key, one in value.items()}
        return {key: one for key, one in said.items() if one not in (0, "", [], None)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_as_trainer_says_it(one) for one in value]
    return value


def _defaulted(item: Manifest) -> Manifest:
    """Return a replicatedJob without what is nothing to upstream's types: JobSet's defaults count.

    So no replicas are one, and no group is the default one.
    """
    nothing = {"replicas": 0, "groupName": ""}
    return {
        key: value for key, value in item.items() if key not in nothing or value != nothing[key]
    }


def _with_changes(item: Manifest, pod_set: PodSet) -> Manifest:
    if not (pod_set.changes or pod_set.volumes or pod_set.init_containers):
        return item
    pod: dict[str, Json] = dict(child(item, "template", "spec", "template", "spec"))
    if pod_set.volumes:
        pod["volumes"] = with_volumes(items(pod, "volumes"), pod_set.volumes)
    for kind in ("containers", "initContainers"):
        if kind in pod:
            pod[kind] = [
                _changed(child(container), pod_set.changes.get(text(container, "name")))
                for container in items(pod, kind)
            ]
    if pod_set.init_containers:
        pod["initContainers"] = [*items(pod, "initContainers"), *pod_set.init_containers]
    return with_pod(item, pod)


def _changed(container: Manifest, change: ContainerChange | None) -> Manifest:
    if change is None:
        return container
    changed: dict[str, Json] = dict(container)
    if change.command:
        changed["command"] = list(change.command)
    if change.image:
        changed["image"] = change.image
    if change.env:
        changed["env"] = with_env(items(container, "env"), change.env)
    if change.ports:
        changed["ports"] = with_ports(items(container, "ports"), change.ports)
    if change.mounts:
        changed["volumeMounts"] = with_mounts(items(container, "volumeMounts"), change.mounts)
    return changed


def _with_container(item: Manifest, name: str, fields: Mapping[str, Json]) -> Manifest:
    pod = child(item, "template", "spec", "template", "spec")
    containers = [
        {**child(container), **fields} if text(container, "name") == name else container
        for container in items(pod, "containers")
    ]
    return with_pod(item, {**pod, "containers": containers})


def _container(item: Manifest, name: str) -> Manifest | None:
    pod = child(item, "template", "spec", "template", "spec")
    found = (child(one) for one in items(pod, "containers") if text(one, "name") == name)
    return next(found, None)


def _with_initializer(item: Manifest, pod_set: PodSet, info: Info) -> Manifest:
    """Return the replicatedJob of a dataset or a model with what the TrainJob says of it."""
    field = INITIALIZERS.get(pod_set.ancestor)
    if field is None:
        return item
    item = {**item, "replicas": 1}
    given = child(info.job, "spec", "initializer").get(field)
    container = _container(item, pod_set.ancestor)
    if not isinstance(given, Mapping) or container is None:
        return item
    env: list[Manifest] = []
    if isinstance(given.get("storageUri"), str):
        env.append({"name": "STORAGE_URI", "value": text(given, "storageUri")})
    env += [child(one) for one in items(given, "env")]
    fields: dict[str, Json] = {}
    if env:
        fields["env"] = with_env(items(container, "env"), env)
    if isinstance(given.get("secretRef"), Mapping):
        source: Manifest = {"secretRef": child(given, "secretRef")}
        fields["envFrom"] = [*items(container, "envFrom"), source]
    return _with_container(item, pod_set.ancestor, fields)


def _with_trainer(item: Manifest, pod_set: PodSet, info: Info) -> Manifest:
    """Return the replicatedJob that trains with what the TrainJob says of it."""
    trains = pod_set.ancestor == TRAINER
    if trains:
        item = {**item, "replicas": 1}
    mpi = info.policy("mpi")
    as_node = mpi is not None and mpi.get("runLauncherAsNode") is True and pod_set.name == NODE
    trainer, container = info.trainer, _container(item, NODE)
    if trainer is None or container is None or not (trains or as_node):
        return item
    fields: dict[str, Json] = {}
    if env := [child(one) for one in items(trainer, "env")]:
        fields["env"] = with_env(items(container, "env"), env)
    if trains:
        fields |= _of_trainer(trainer, pod_set)
    return _with_container(item, NODE, fields)


def _of_trainer(trainer: Manifest, pod_set: PodSet) -> dict[str, Json]:
    """Return image, command and args as far as they are given; a plugin's command comes first.

    An empty list is given as well: it clears the runtime's.
    """
    fields: dict[str, Json] = {}
    change = pod_set.changes.get(NODE)
    if text(trainer, "image"):
        fields["image"] = text(trainer, "image")
    if _is_list(trainer, "command") and not (change is not None and change.command):
        fields["command"] = items(trainer, "command")
    if _is_list(trainer, "args"):
        fields["args"] = items(trainer, "args")
    return fields


def _is_list(trainer: Manifest, field: str) -> bool:
    return isinstance(trainer.get(field), Sequence) and not isinstance(trainer.get(field), str)
