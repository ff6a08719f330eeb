"""A RayJob that was restored with its status into another namespace, while the first one runs on.

As by Velero with a mapping of namespaces; the service is stopped meanwhile, as the manual has it.
"""

from typing import Any

import pytest

from jobledger.core.ports.cluster import NAMESPACES, RAYCLUSTERS, RAYJOBS
from jobledger.core.values.documents import Manifest, text
from tests.adapters.service.parts import a_rayjob
from tests.support.service_world import ServiceWorld

LOOKS = 60
SHARED = {"clusterSelector": {"ray.io/cluster": "shared"}, "rayClusterSpec": None}
OWN = {"backoffLimit": 1, "shutdownAfterJobFinishes": True}
HEAD = {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "h", "image": "r"}]}}}


class Copied:
    """A RayJob that runs in `ml`, and a service that is stopped."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.world, self.is_shared = ServiceWorld(), spec is SHARED
        self.world.plane.holds = True
        self.world.cluster.create(NAMESPACES, {"metadata": {"name": "staging"}})
        self._share("ml")
        made = a_rayjob(**spec)
        made["spec"] = {key: value for key, value in made["spec"].items() if value is not None}
        self.world.create(made)
        self.world.run(lambda: self.status("ml").get("jobStatus") == "RUNNING", "it runs")
        self.world.cluster.disconnect()

    def restore(self) -> None:
        """Put a copy into another namespace, with the RayCluster that is shared."""
        job = self.world.job("train")
        kept = {key: job["metadata"][key] for key in ("name", "finalizers")}  # type: ignore[call-overload,index]  # an object
        self._share("staging")
        copy = {**job, "metadata": {**kept, "namespace": "staging"}}
        self.world.cluster.create(RAYJOBS, copy)
        shown: Manifest = {"status": self.status("ml")}
        self.world.cluster.patch_as(
            "velero-server", RAYJOBS, "staging", "train", shown, subresource="status"
        )

    def delete(self) -> None:
        """Ask for the deletion of the copy."""
        self.world.cluster.delete(RAYJOBS, "staging", "train")

    def start(self) -> None:
        """Let the service be started, and look at everything."""
        self.world.service = self.world.start_service()
        self.go_on()

    def go_on(self) -> None:
        """Let everybody do what they do for a while."""
        for _ in range(LOOKS):
            self.world.step()
            self.world.clock.advance(0.5)

    def status(self, namespace: str) -> dict[str, Any]:
        """Return what the RayJob of a namespace shows."""
        found = self.world.cluster.get(RAYJOBS, namespace, "train") or {}
        return dict(found.get("status") or {})  # type: ignore[arg-type]  # an object

    def assert_runs_on(self) -> None:
        """Nothing has become of the first one."""
        shown = self.status("ml")
        assert (shown["jobStatus"], shown["failed"]) == ("RUNNING", 0)
        assert len(self.world.plane.runs) == 1 + (self.status("staging") != {})
        told = self.world.ray.info(shown["dashboardURL"], shown["jobId"])
        assert told.status == "RUNNING"

    def _share(self, namespace: str) -> None:
        if self.is_shared:
            about: Manifest = {"name": "shared", "namespace": namespace}
            self.world.cluster.create(
                RAYCLUSTERS, {"metadata": about, "spec": {"headGroupSpec": HEAD}}
            )


@pytest.mark.parametrize("spec", [OWN, SHARED], ids=["its own", "shared"])
def test_a_copy_that_was_deleted_before_it_was_seen_stops_nothing_elsewhere(
    spec: dict[str, Any],
) -> None:
    copied = Copied(spec)
    copied.restore()
    copied.delete()
    copied.start()
    assert copied.status("staging") == {}
    copied.assert_runs_on()


def test_a_copy_on_a_shared_raycluster_asks_the_head_of_its_own_namespace() -> None:
    copied = Copied(SHARED)
    copied.restore()
    copied.start()
    shown = copied.status("staging")
    assert text(shown, "dashboardURL").startswith("shared-head-svc.staging.svc.")
    assert shown["jobDeploymentStatus"] == "Failed", shown
    copied.delete()
    copied.go_on()
    assert copied.status("staging") == {}
    copied.assert_runs_on()
