"""The whole service in memory with TrainJobs, and a JobSet controller that is played."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jobledger.adapters.service.observing.mapper import identify
from jobledger.core.catalogue import NAMES, read_event
from jobledger.core.ports.cluster import CLUSTER_TRAINING_RUNTIMES, CONFIGMAPS, JOBSETS, TRAINJOBS
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.support.references import missing_references
from tests.support.service_world import DOOR, ServiceWorld

Document = dict[str, Any]


def torch_runtime(name: str = "torch") -> Document:
    """Return a cluster's runtime with two nodes."""
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    container = {
        "name": "node",
        "image": "busybox",
        "env": [{"name": "TOKEN", "value": "xK9-planted-runtime-secret"}],
    }
    pod = {"spec": {"containers": [container]}}
    node = {"name": "node", "template": {"metadata": {"labels": label}, "spec": {"template": pod}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name},
        "spec": {
            "mlPolicy": {"numNodes": 2, "torch": {}},
            "template": {"spec": {"replicatedJobs": [node]}},
        },
    }


def a_trainjob(*, annotations: Document | None = None, **spec: object) -> Document:
    """Return a TrainJob as a user writes it."""
    given = {"annotations": annotations} if annotations else {}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": "ml", **given},
        "spec": {"runtimeRef": {"name": "torch"}, "trainer": {"command": ["run"]}, **spec},
    }


@dataclass
class JobSetPlane:
    """Moves each JobSet a step at a time: active, ready, completed; suspended while it says so."""

    world: "TrainWorld"
    holds: bool = False
    """Whether Jobs that are ready go on."""
    shown: list[list[str]] = field(default_factory=list)
    """Conditions that users could see, one after the other."""

    def step(self) -> bool:
        """Move what can be moved; return whether anything was."""
        self._look()
        moved = [self._move(jobset) for jobset in self.world.cluster.peek(JOBSETS)]
        return any(moved)

    def _look(self) -> None:
        for job in self.world.cluster.peek(TRAINJOBS):
            now = [
                f"{text(item, 'type')}={text(item, 'status')}"
                for item in items(job, "status", "conditions")
            ]
            if now and (not self.shown or self.shown[-1] != now):
                self.shown.append(now)

    def _move(self, jobset: Manifest) -> bool:
        status = child(jobset, "status")
        if status.get("conditions"):
            return False
        found = items(status, "replicatedJobsStatus")
        before = {k: v for k, v in child(found[0]).items() if k != "name" and v} if found else None
        suspended = child(jobset, "spec").get("suspend") is True
        after = {"suspended": 1} if suspended else self._next(before)
        done = after == {"succeeded": 1}
        if after == before:
            return False
        counters = dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0)
        new: Document = {"replicatedJobsStatus": [{"name": "node", **counters, **after}]}
        if not suspended and (missing := missing_references(self.world.cluster, jobset)):
            raise AssertionError(f"its Pods cannot start without {missing}")
        if done:
            new["conditions"] = [
                {
                    "type": "Completed",
                    "status": "True",
                    "reason": "AllJobsCompleted",
                    "message": "jobset completed successfully",
                    "lastTransitionTime": "2026-11-21T12:30:00Z",
                }
            ]
        namespace, name = text(jobset, "metadata", "namespace"), text(jobset, "metadata", "name")
        self.world.cluster.edit(JOBSETS, namespace, name, status=new)
        return True

    def _next(self, before: object) -> dict[str, int]:
        if before == {"active": 1}:
            return {"active": 1, "ready": 1}
        if before == {"active": 1, "ready": 1}:
            return {"active": 1, "ready": 1} if self.holds else {"succeeded": 1}
        return {"active": 1}


class TrainWorld(ServiceWorld):
    """A service that controls TrainJobs as well."""

    def __post_init__(self) -> None:
        self.job_kinds = ("RayJob", "TrainJob")
        self.jobsets = JobSetPlane(self)
        super().__post_init__()

    def step(self) -> bool:
        """Let everybody do one thing."""
        moved = super().step()
        return self.jobsets.step() or moved

    def install_runtime(self, runtime: Document | None = None) -> None:
        """Create a runtime, or put another in its place."""
        wanted = runtime or torch_runtime()
        name = wanted["metadata"]["name"]
        if self.cluster.get(CLUSTER_TRAINING_RUNTIMES, "", name) is None:
            self.cluster.create(CLUSTER_TRAINING_RUNTIMES, wanted)
        else:
            self.cluster.edit(CLUSTER_TRAINING_RUNTIMES, "", name, spec=wanted["spec"])

    def train(self, annotations: Document | None = None, **spec: Any) -> StreamId:  # noqa: ANN401 as users write it
        """Create a TrainJob; return its stream."""
        made = self.cluster.create(TRAINJOBS, a_trainjob(annotations=annotations, **spec))
        return identify(DOOR.cluster, made).stream_id

    def change(self, **spec: object) -> None:
        """Change the specification of the TrainJob."""
        before = child(self.trainjob, "spec")
        self.cluster.edit(TRAINJOBS, "ml", "train", spec={**before, **spec})

    @property
    def trainjob(self) -> Manifest:
        """The TrainJob, empty if there is none."""
        return self.cluster.get(TRAINJOBS, "ml", "train") or {}

    @property
    def jobset(self) -> Manifest:
        """The JobSet, empty if there is none."""
        return self.cluster.get(JOBSETS, "ml", "train") or {}

    @property
    def snapshot(self) -> str:
        """The snapshot of the runtime, empty if there is none."""
        found = self.cluster.get(CONFIGMAPS, "ml", "train-runtime-snapshot")
        return text(found, "data", "runtime")

    def condition(self, kind: str) -> tuple[str, str]:
        """Return status and reason of a condition."""
        for item in items(self.trainjob, "status", "conditions"):
            if text(item, "type") == kind:
                return text(item, "status"), text(item, "reason")
        return "", ""

    def is_so(self, kind: str, status: str = "True") -> Callable[[], bool]:
        """Return a question: whether a condition has a status."""
        return lambda: self.condition(kind)[0] == status

    def told(self, stream: StreamId) -> list[str]:
        """Return the names of the events of a job."""
        return [NAMES[type(read_event(item.record))] for item in self.store.read_stream(stream)]
