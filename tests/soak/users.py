"""Who creates jobs, changes their minds, and clears away what has ended. Seeded.

What has ended is deleted after a while, so that as many objects are there at the end as at the
beginning: what grows then is a leak.
"""

import threading
import time
from random import Random
from typing import Any

from bench.trainjobs import RUNTIME
from jobledger.core.errors import ClusterError, ObjectExists
from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    RAYJOBS,
    TRAINJOBS,
    Cluster,
    Resource,
)
from jobledger.core.values.documents import Manifest, child, items, text
from tests.acceptance.jobs import rayjob

KEPT_SECONDS = 20.0
"""How long an ended job is left before it is deleted."""

CHANGES_OF_A_HUNDRED = 6
TRAINS_OF_A_HUNDRED = 6


class Users:
    """One thread creates at a rate, one looks after what there is."""

    def __init__(self, cluster: Cluster, namespace: str, seed: int, per_second: float) -> None:
        self._cluster, self._namespace = cluster, namespace
        self._dice, self._other_dice = Random(seed), Random(seed + 1)
        self._pause = 1 / per_second
        self._over, self._cleared = threading.Event(), threading.Event()
        self._ended: dict[str, float] = {}
        self.created = self.deleted = 0
        self._threads = [
            threading.Thread(target=self._create_all, name="creating", daemon=True),
            threading.Thread(target=self._look_after_all, name="looking after", daemon=True),
        ]

    def start(self) -> None:
        """Begin."""
        self._cluster.create(CLUSTER_TRAINING_RUNTIMES, RUNTIME)
        for thread in self._threads:
            thread.start()

    def stop_creating(self) -> None:
        """Create and change no more; what has ended is still cleared away."""
        self._over.set()

    def stop(self) -> None:
        """End."""
        self._over.set()
        self._cleared.set()
        for thread in self._threads:
            thread.join()

    def there(self) -> int:
        """Return how many jobs are there; raises as the cluster."""
        return sum(len(self._all(resource)) for resource in (RAYJOBS, TRAINJOBS))

    def _create_all(self) -> None:
        number = 0
        while not self._over.wait(self._pause):
            number += 1
            resource, manifest = self._next(number)
            while not self._created(resource, manifest) and not self._over.wait(1.0):
                pass

    def _created(self, resource: Resource, manifest: Manifest) -> bool:
        """Create; a request whose answer was lost has created it, or is repeated."""
        try:
            self._cluster.create(resource, manifest)
        except ObjectExists:
            pass
        except ClusterError:
            return False
        self.created += 1
        return True

    def _next(self, number: int) -> tuple[Resource, dict[str, Any]]:
        dice = self._dice
        if dice.randrange(100) < TRAINS_OF_A_HUNDRED:
            return TRAINJOBS, {
                "apiVersion": TRAINJOBS.api_version,
                "kind": TRAINJOBS.kind,
                "metadata": {"name": f"train-{number}", "namespace": self._namespace},
                "spec": {
                    "runtimeRef": {"name": "torch-distributed"},
                    "trainer": {"numNodes": 2, "command": ["python", "train.py"]},
                },
            }
        spec: dict[str, Any] = {
            "backoffLimit": dice.choice((0, 1, 1, 2)),
            "shutdownAfterJobFinishes": dice.random() < 0.8,
        }
        if spec["shutdownAfterJobFinishes"]:
            spec["ttlSecondsAfterFinished"] = dice.choice((0, 0, 3))
        if dice.random() < 0.1:
            spec["activeDeadlineSeconds"] = dice.choice((3, 120))
        mode = dice.choice(("HTTPMode", "K8sJobMode"))
        made = rayjob(f"ray-{number}", "python train.py", mode=mode, **spec)
        made["metadata"]["namespace"] = self._namespace
        return RAYJOBS, made

    def _look_after_all(self) -> None:
        while not self._cleared.wait(1.0):
            for resource in (RAYJOBS, TRAINJOBS):
                try:
                    for item in self._all(resource):
                        self._look_after(resource, item)
                except ClusterError:
                    continue

    def _look_after(self, resource: Resource, item: Manifest) -> None:
        """Delete what ended a while ago; sometimes change what has not."""
        uid, name = text(item, "metadata", "uid"), text(item, "metadata", "name")
        if _has_ended(item):
            since = self._ended.setdefault(uid, time.monotonic())
            if time.monotonic() - since > KEPT_SECONDS and not _is_leaving(item):
                self._cluster.delete(resource, self._namespace, name, uid=uid)
                self._ended.pop(uid, None)
                self.deleted += 1
            return
        is_suspended = child(item, "spec").get("suspend") is True
        if self._over.is_set():  # nothing is left waiting for somebody
            if is_suspended:
                self._suspend(resource, name, suspend=False)
            return
        if self._other_dice.randrange(1000) < CHANGES_OF_A_HUNDRED * 2 or is_suspended:
            if self._other_dice.random() < 0.2:
                self._cluster.delete(resource, self._namespace, name, uid=uid)
                self.deleted += 1
            else:
                self._suspend(resource, name, suspend=not is_suspended)

    def _suspend(self, resource: Resource, name: str, *, suspend: bool) -> None:
        patch: Manifest = {"spec": {"suspend": suspend}}
        self._cluster.merge_patch(resource, self._namespace, name, patch)

    def _all(self, resource: Resource) -> list[Manifest]:
        return list(self._cluster.list(resource, namespace=self._namespace).items)


def _has_ended(item: Manifest) -> bool:
    phase = text(item, "status", "jobDeploymentStatus")
    if phase in ("Complete", "Failed", "ValidationFailed"):
        return True
    return any(
        text(one, "type") in ("Complete", "Failed") and text(one, "status") == "True"
        for one in items(item, "status", "conditions")
    )


def _is_leaving(item: Manifest) -> bool:
    return text(item, "metadata", "deletionTimestamp") != ""
