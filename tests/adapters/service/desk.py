"""A publisher of statuses at work: a job, and an API server that can be told to refuse."""

from typing import Any

from jobledger.adapters.service.status.status_writer import Publisher
from jobledger.adapters.service.work.workers import Task
from jobledger.core.errors import ClusterError
from jobledger.core.ports.cluster import RAYJOBS, Resource
from jobledger.core.rayjob.names import FINALIZER
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import Bench


def a_status(phase: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    return {"jobDeploymentStatus": phase, "failed": 0, **fields}


class Desk(Bench):
    """A publisher, a job, and an API server that can be told to refuse."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.publisher = Publisher(
            self.cluster,
            self.live,
            self.inbox,
            self.clock,
            self.metrics,
            lambda _: self.acts,
            lambda *where: where in self.refused,
            self._is_ahead,
            lambda: self.is_behind,
        )
        self.is_behind = False
        self.asked_whether_ahead = 0
        self.a_job = self.job({"metadata.finalizers": [FINALIZER]})
        self.tasks: list[Task] = []
        self.refused: set[tuple[str, ...]] = set()
        self.refusals: list[ClusterError] = []
        self._apply = self.cluster.apply
        self.cluster.apply = self._maybe  # type: ignore[method-assign]  # refusals

    def _is_ahead(self, _: StreamId) -> bool:
        self.asked_whether_ahead += 1
        return False

    def offer(self, *statuses: Manifest) -> None:
        task = self.publisher.offer(self.a_job.identity, list(statuses), "RayJob")
        if task is not None:
            self.tasks.append(task)

    def work(self) -> list[float]:
        """Carry out all tasks; return the pauses after which they are to be tried again."""
        again = [(task, task()) for task in self.tasks]
        self.tasks = [task for task, pause in again if pause is not None]
        return [pause for _, pause in again if pause is not None]

    def written(self) -> list[str]:
        """Return the phases of all statuses that were written."""
        return [text(status, "jobDeploymentStatus") for status in self.cluster.statuses]

    def shown(self) -> Manifest:
        return child(self.cluster.get(RAYJOBS, "ml", "train"), "status")

    def _maybe(self, resource: Resource, manifest: Manifest, **more: Any) -> Manifest:  # noqa: ANN401 as the port
        if self.refusals:
            raise self.refusals.pop(0)
        return self._apply(resource, manifest, **more)
