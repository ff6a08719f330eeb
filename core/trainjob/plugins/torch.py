"""PyTorch: the number of nodes and processes, and what torchrun reads from its environment.

Source: Trainer v2.3, pkg/runtime/framework/plugins/torch.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from jobledger.core.trainjob.building.framework import BuildFailed, Info, Plugin
from jobledger.core.trainjob.building.pod_sets import PodSet
from jobledger.core.trainjob.building.processes import gpus_of, per_node
from jobledger.core.trainjob.names import INDEX, MASTER_PORT, NODE, TRAINER, master_address
from jobledger.core.trainjob.plugins import torchtune
from jobledger.core.values.documents import Json, Manifest, child, items, number, text

RESERVED = (
    "PET_NNODES",
    "PET_NPROC_PER_NODE",
    "PET_NODE_RANK",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
)
"""Names that the trainer's environment must leave to this plugin."""


class Torch(Plugin):
    """Carries out mlPolicy.torch."""

    name = "torch"
    ml_policies: tuple[str, ...] = ("torch",)

    def validate(self, info: Info) -> Iterable[str]:
        """Yield reserved names in the environment, and targets that are not there."""
        policy = info.policy("torch")
        if policy is None:
            return
        given = {text(item, "name") for item in items(info.trainer, "env")}
        if found := [name for name in RESERVED if name in given]:
            listed = " ".join(found)
            yield f"must not have reserved envs, invalid envs configured: [{listed}]"
        for target, container in _targets(policy):
            if not _is_there(info, target, container):
                yield _missing(target, container)
        if info.trainer is not None and torchtune.is_asked(info.trainer):
            yield from torchtune.problems(info)

    def enforce_ml_policy(self, info: Info) -> Info:
        """Set the number of nodes, the environment and the port of the rendezvous."""
        policy = info.policy("torch")
        pod_set = info.by_ancestor(TRAINER)
        if policy is None:
            return info
        trainer, processes, count = info.trainer, per_node(info), 1
        if pod_set is not None:
            nodes = number(trainer, "numNodes") if trainer is not None else None
            if nodes is not None:
                pod_set = replace(pod_set, count=nodes)
            if trainer is not None:
                pod_set = _with_trainer(info, pod_set, trainer, processes)
            count = pod_set.count
            info = info.with_pod_set(pod_set)
        for target, container in _targets(policy):
            found = info.by_name(target)
            if found is None or not _is_there(info, target, container):
                raise BuildFailed(self.name, _missing(target, container))
            env = _environment(info.name, count, processes)
            info = info.with_pod_set(found.changed(container, env=env))
        return info


def _is_there(info: Info, target: str, container: str) -> bool:
    pod_set = info.by_name(target)
    return pod_set is not None and (
        pod_set.container(container) is not None or pod_set.init_container(container) is not None
    )


def _missing(target: str, container: str) -> str:
    return (
        f'envInjection target podSet "{target}" container "{container}" not found in runtime '
        "template"
    )


def _targets(policy: Manifest) -> Iterator[tuple[str, str]]:
    for target in items(policy, "envInjection", "targets"):
        for name in items(target, "containerNames"):
            yield text(target, "jobName"), str(name)


def _with_trainer(info: Info, pod_set: PodSet, trainer: Manifest, processes: str) -> PodSet:
    env = tuple(child(item) for item in items(trainer, "env"))
    ours = _environment(info.name, pod_set.count, processes)
    ports = ({"containerPort": MASTER_PORT},)
    if not torchtune.is_asked(trainer):
        return pod_set.changed(NODE, env=(*env, *ours), ports=ports)
    kept = tuple(item for item in ours if "MASTER" not in text(item, "name"))
    gpus = gpus_of(info)
    command = torchtune.command(info, pod_set, trainer, processes, gpus)
    return pod_set.changed(NODE, env=(*env, *kept), ports=ports, command=command)


def _environment(job: str, nodes: int, processes: str) -> tuple[Mapping[str, Json], ...]:
    return (
        {"name": "PET_NNODES", "value": str(nodes)},
        {"name": "PET_NPROC_PER_NODE", "value": processes},
        {"name": "PET_NODE_RANK", "valueFrom": INDEX},
        {"name": "PET_MASTER_ADDR", "value": master_address(job)},
        {"name": "PET_MASTER_PORT", "value": str(MASTER_PORT)},
    )
