"""What a RayCluster shows may be refused in the status of a RayJob: their CRDs are two.

So it is where the RayClusters' is of a newer KubeRay, which shows a field in another form.
"""

from typing import Any

import pytest

from jobledger.core.ports.cluster import RAYCLUSTERS
from jobledger.core.values.documents import child, text
from tests.adapters.service.parts import a_rayjob
from tests.support.service_world import ServiceWorld

LOOKS = 200
READY: dict[str, Any] = {"state": "ready"}
NEWER: tuple[dict[str, Any], ...] = (
    {"desiredWorkerReplicas": "3"},
    {"conditions": [{"type": "HeadPodReady", "status": "True"}]},
    {"head": ["10.0.0.1"]},
)


class Newer(ServiceWorld):
    """A RayJob that runs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plane.holds = True
        self.stream = self.create(a_rayjob())
        self.run(lambda: self.phase("train") == "Running", "it runs")

    def show(self, **fields: object) -> None:
        """Let its RayCluster show something, and everybody do what follows from it."""
        name = text(self.job("train"), "status", "rayClusterName")
        self.cluster.edit(RAYCLUSTERS, "ml", name, status={**READY, **fields})
        self.go_on()

    def go_on(self) -> None:
        """Let everybody do what they do for a while."""
        for _ in range(LOOKS):
            self.step()
            self.clock.advance(0.5)

    @property
    def writes(self) -> int:
        """How often a status of a RayJob was written."""
        return len([verb for verb, kind, _ in self.cluster.writes if (verb, kind) == WRITE])


WRITE = ("status", "rayjobs")


@pytest.mark.parametrize("copy", NEWER)
def test_the_status_of_the_job_is_written_without_it(copy: dict[str, Any]) -> None:
    world = Newer()
    world.show(**copy)
    status = child(world.job("train"), "status")
    assert status["jobStatus"] == "RUNNING"
    assert "rayClusterStatus" not in status, "what it was before would be wrong"
    before = world.writes
    world.go_on()
    assert world.writes == before, "nothing goes round"
    world.plane.holds = False
    world.run(lambda: world.phase("train") == "Complete", "its end is shown")
    told = [event.record.type for event in world.store.read_stream(world.stream)]
    assert "StatusWriteFailed" not in told


def test_it_is_shown_again_once_it_is_taken() -> None:
    world = Newer()
    world.show(**NEWER[0])
    world.show()
    assert child(world.job("train"), "status")["rayClusterStatus"] == READY
