"""KubeRay, the Job controller, the garbage collector and the kubelets: one thing at a time.

`possible` names everything that can happen next by itself; `troubles` what goes wrong.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random

from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Resource
from jobledger.core.rayjob.observations.children import dashboard_address, owner_uid
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import Instant, rfc3339
from tests.simulation.heads import SimulatedHeads
from tests.simulation.kubernetes import Change, SimulatedApi
from tests.support.memory.ray_jobs import TERMINAL

Move = tuple[str, Callable[[], object]]
"""What happens, in words, and the doing of it."""

SLOW_FINALIZER = "example.com/slow-goodbye"
"""Keeps a child in deletion until somebody comes by."""


@dataclass
class Nature:
    """The data plane of the cluster."""

    api: SimulatedApi
    heads: SimulatedHeads
    now: Callable[[], Instant]
    dice: Random
    slow_deletion: float = 0.0
    """Probability that a child takes its time to go."""
    success: float = 0.5
    """Probability that an entrypoint succeeds."""
    has_head: Callable[[Manifest], bool] = lambda _: True
    """Whether a RayCluster has the Pod of a head: it is ready with that alone."""
    removed: dict[tuple[str, str], int] = field(default_factory=dict)
    """(plural, name) -> how often somebody else than the controller deleted it."""

    def __post_init__(self) -> None:
        self.api.told.append(self._on_change)
        self.api.admit = self._finalizers

    def possible(self) -> list[Move]:
        """Return what can happen next."""
        return [*self._of_clusters(), *self._of_submitters(), *self._of_jobs(), *self._of_garbage()]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        return list(self._of_trouble())

    def _on_change(self, change: Change) -> None:
        """Let a head end with its RayCluster."""
        if change.resource is RAYCLUSTERS and change.kind == "gone":
            self.heads.stop_head(dashboard_address(change.document))

    def _finalizers(self) -> list[str]:
        """Let a new child take its time to go, now and then."""
        return [SLOW_FINALIZER] if self.dice.random() < self.slow_deletion else []

    def _of_clusters(self) -> Iterator[Move]:
        for cluster in self.api.all(RAYCLUSTERS):
            name, address = text(cluster, "metadata", "name"), dashboard_address(cluster)
            if _is_leaving(cluster):
                yield f"{name} goes", partial(self.let_go, RAYCLUSTERS, cluster)
            elif text(cluster, "status", "state") != "ready" and self.has_head(cluster):
                yield f"{name} is ready", partial(self._make_ready, cluster)
            if address in self.heads.silent:
                yield f"{name} answers", partial(self.heads.silent.pop, address)

    def _submitters(self) -> Iterator[Manifest]:
        """Yield the Jobs that hand in entrypoints; others are jobs themselves, or theirs."""
        return (job for job in self.api.all(BATCH_JOBS) if owner_uid(job))

    def _of_submitters(self) -> Iterator[Move]:
        for job in self._submitters():
            name, (address, job_id) = text(job, "metadata", "name"), target(job)
            if _is_leaving(job):
                yield f"submitter {name} goes", partial(self.let_go, BATCH_JOBS, job)
                continue
            if items(job, "status", "conditions"):
                continue
            status = self.heads.status(address, job_id)
            if status in TERMINAL:
                end = "Complete" if status == "SUCCEEDED" else "Failed"
                yield f"submitter {name}: {end}", partial(self.end_submitter, job, end)
            elif not status and address in self.heads.up:
                yield f"{name} submits {job_id}", partial(self.heads.take, address, job_id)
            elif not status:
                yield f"submitter {name}: Failed", partial(self.end_submitter, job, "Failed")

    def _of_jobs(self) -> Iterator[Move]:
        for address, job_id in self.heads.running():
            code = 0 if self.dice.random() < self.success else 1
            yield f"{job_id} exits with {code}", partial(self.heads.end, address, job_id, code)

    def _of_garbage(self) -> Iterator[Move]:
        for resource, orphan in self.api.orphans():
            name = text(orphan, "metadata", "name")
            yield f"garbage: {name}", partial(self.remove, resource, orphan)

    def _of_trouble(self) -> Iterator[Move]:
        for cluster in self.api.all(RAYCLUSTERS):
            name, address = text(cluster, "metadata", "name"), dashboard_address(cluster)
            if address in self.heads.up:
                yield f"head of {name} restarts", partial(self.heads.start, address)
                for say in ("no answer in time", "an answer that makes no sense"):
                    yield f"head of {name}: {say}", partial(self._silence, address, say)
                yield f"{name} fails", partial(self._set_state, cluster, "failed")
            if owner_uid(cluster):
                yield f"somebody deletes {name}", partial(self.remove, RAYCLUSTERS, cluster)
                if not items(cluster, "metadata", "finalizers"):
                    yield f"another takes the place of {name}", partial(self._replace, cluster)
        for job in self._submitters():
            name = text(job, "metadata", "name")
            yield f"somebody deletes submitter {name}", partial(self.remove, BATCH_JOBS, job)
            if not items(job, "status", "conditions"):
                yield f"submitter {name} dies", partial(self.end_submitter, job, "Failed")
                yield f"submitter {name} is off", partial(self.end_submitter, job, "Complete")

        for job in self.api.all(RAYJOBS):
            yield from self._of_other_writers(job)

    def _of_other_writers(self, job: Manifest) -> Iterator[Move]:
        """Yield what somebody may write over the status of a RayJob."""
        name, status = text(job, "metadata", "name"), child(job, "status")
        if status:
            theirs: tuple[tuple[str, Manifest], ...] = (
                ("empties", {}),
                ("restarts", {**status, "jobDeploymentStatus": "Running", "reason": "theirs"}),
                ("ends", {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}),
            )
            for what, shown in theirs:
                move = partial(self.api.overwrite, RAYJOBS, job, shown)
                yield f"somebody {what} the status of {name}", move

    def _replace(self, cluster: Manifest) -> None:
        """Let somebody put an object back, as from a backup: the same, with another UID."""
        metadata = child(cluster, "metadata")
        kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
        again = {"metadata": {key: metadata[key] for key in kept if key in metadata}}
        self.remove(RAYCLUSTERS, cluster)
        self.api.create(RAYCLUSTERS, {**cluster, **again})

    def _make_ready(self, cluster: Manifest) -> None:
        address = dashboard_address(cluster)
        if address not in self.heads.up:
            self.heads.start(address)
        self._set_state(cluster, "ready")

    def _silence(self, address: str, say: str) -> None:
        self.heads.silent[address] = say

    def let_go(self, resource: Resource, manifest: Manifest) -> None:
        """Let what is being deleted be gone."""
        if items(manifest, "metadata", "finalizers"):
            self.api.put_finalizers(resource, manifest, [])

    def _set_state(self, cluster: Manifest, state: str) -> None:
        ready = 1 if state == "ready" else 0
        self._set_status(RAYCLUSTERS, cluster, {"state": state, "readyWorkerReplicas": ready})

    def end_submitter(self, job: Manifest, outcome: str) -> None:
        """Let a submitter end."""
        condition = {
            "type": outcome,
            "status": "True",
            "lastTransitionTime": rfc3339(self.now()),
            "reason": "BackoffLimitExceeded" if outcome == "Failed" else "",
        }
        self._set_status(BATCH_JOBS, job, {"conditions": [condition]})

    def _set_status(self, resource: Resource, manifest: Manifest, status: Json) -> None:
        metadata = child(manifest, "metadata")
        self.api.replace(resource, {"metadata": metadata, "status": status}, "status")

    def remove(self, resource: Resource, manifest: Manifest) -> None:
        """Delete an object in somebody else's name."""
        place = (resource.plural, text(manifest, "metadata", "name"))
        self.removed[place] = self.removed.get(place, 0) + 1
        self._delete(resource, manifest)

    def _delete(self, resource: Resource, manifest: Manifest) -> None:
        metadata = child(manifest, "metadata")
        self.api.delete(resource, text(metadata, "namespace"), text(metadata, "name"))


def target(job: Manifest) -> tuple[str, str]:
    """Return address and submission id, as the submitter's environment names them."""
    containers = items(job, "spec", "template", "spec", "containers")
    env = {text(item, "name"): text(item, "value") for item in items(containers[0], "env")}
    address = env.get("RAY_DASHBOARD_ADDRESS", "").removeprefix("http://")
    return address, env.get("RAY_JOB_SUBMISSION_ID", "")


def _is_leaving(manifest: Manifest) -> bool:
    return text(manifest, "metadata", "deletionTimestamp") != ""


__all__ = ["RAYJOBS", "Move", "Nature", "target"]
