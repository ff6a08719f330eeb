"""Pod sets: the Pods of each replicatedJob as plugins see and change them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from jobledger.core.trainjob.names import ANCESTOR_LABEL, NODE, TRAINER
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.pod_requests import pod_requests
from jobledger.core.values.quantities import Amounts, amounts, total


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerChange:
    """What plugins put into a container. What is empty changes nothing."""

    env: tuple[Manifest, ...] = ()
    ports: tuple[Manifest, ...] = ()
    mounts: tuple[Manifest, ...] = ()
    command: tuple[str, ...] = ()
    image: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """The Pods of one replicatedJob."""

    name: str
    ancestor: str
    """The step of the TrainJob it is made for: trainer, dataset-initializer, model-initializer."""
    count: int
    """How many Pods: parallelism and completions."""
    pod: Manifest
    """The Pod's specification, patched, with the resources of the TrainJob."""
    subdomain: str
    replicas: int = 1
    volumes: tuple[Manifest, ...] = ()
    init_containers: tuple[Manifest, ...] = ()
    """What plugins add after the runtime's own."""
    changes: Mapping[str, ContainerChange] = field(default_factory=dict)
    """Name of a container -> what changes in it."""

    def container(self, name: str = NODE) -> Manifest | None:
        """Return the container of a name, as the runtime has it."""
        return self._find("containers", name)

    def init_container(self, name: str) -> Manifest | None:
        """Return the init container of a name, as the runtime has it."""
        return self._find("initContainers", name)

    def _find(self, kind: str, name: str) -> Manifest | None:
        return next(
            (child(item) for item in items(self.pod, kind) if text(item, "name") == name), None
        )

    def changed(self, name: str, **more: object) -> "PodSet":
        """Return the set with more put into a container or init container; absent: as it is.

        Lists are added to those that other plugins put there, a command or image replaces theirs.
        """
        if self.container(name) is None and self.init_container(name) is None:
            return self
        before = self.changes.get(name, ContainerChange())
        values: dict[str, object] = {}
        for key, value in more.items():
            known = getattr(before, key)
            adds = key in ("env", "ports", "mounts") and isinstance(value, Iterable)
            values[key] = (*known, *value) if adds and isinstance(value, Iterable) else value
        after = replace(before, **values)  # type: ignore[arg-type] # fields by name
        return replace(self, changes={**self.changes, name: after})

    def with_volumes(self, *volumes: Manifest) -> "PodSet":
        """Return the set with more volumes."""
        return replace(self, volumes=(*self.volumes, *volumes))

    def with_init_container(self, container: Manifest) -> "PodSet":
        """Return the set with one more init container, which runs after the others."""
        return replace(self, init_containers=(*self.init_containers, container))

    def endpoints(self, job: str) -> list[str]:
        """Return the host names of its Pods."""
        return [
            f"{job}-{self.name}-{replica}-{pod}.{self.subdomain}"
            for replica in range(self.replicas)
            for pod in range(self.count)
        ]

    @property
    def requests(self) -> Amounts:
        """Return what one Pod requests.

        A container that has limits only requests nothing here: the API server fills requests in
        from limits when it makes the Pod, and a runtime's template has not been through that.
        """
        return pod_requests(self.pod, _requests)


def _requests(container: Json) -> Amounts:
    return amounts(child(container, "resources").get("requests"))


def gang_of(pod_sets: Iterable[PodSet]) -> dict[str, Json]:
    """Return what a PodGroup asks for: all Pods at once, and what they request together."""
    sets = tuple(pod_sets)
    needed = total(
        {name: amount * item.count for name, amount in item.requests.items()} for item in sets
    )
    gang: dict[str, Json] = {"minMember": sum(item.count for item in sets)}
    if needed:
        gang["minResources"] = {name: str(needed[name]) for name in sorted(needed)}
    return gang


def pod_sets_of(spec: Manifest, job: Manifest, runtime: Manifest) -> tuple[PodSet, ...]:
    """Return the Pod sets of a patched JobSet specification.

    Args:
        spec: The JobSet's specification.
        job: The TrainJob.
        runtime: The runtime.
    """
    policy = child(runtime, "spec").get("mlPolicy")
    nodes = number(policy, "numNodes") if isinstance(policy, Mapping) else None
    subdomain = text(spec, "network", "subdomain") or text(job, "metadata", "name")
    found = []
    for item in items(spec, "replicatedJobs"):
        ancestor = text(item, "template", "metadata", "labels", ANCESTOR_LABEL)
        count = number(item, "template", "spec", "parallelism") or 1
        if ancestor == TRAINER and isinstance(policy, Mapping):
            count = 1 if nodes is None else nodes
        found.append(
            PodSet(
                name=text(item, "name"),
                ancestor=ancestor,
                count=max(count, 1),
                pod=child(item, "template", "spec", "template", "spec"),
                subdomain=subdomain,
                replicas=number(item, "replicas") or 1,
            )
        )
    return tuple(found)
