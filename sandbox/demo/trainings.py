"""The four TrainJobs of the demonstration.

One trains, one waits for its runtime, one cannot be built, and one has a JobSet that restarts.
"""

import threading
from pathlib import Path
from typing import Any

import yaml

from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    TRAINING_RUNTIMES,
    TRAINJOBS,
    Cluster,
)
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.instants import Instant
from jobledger.sandbox.demo.samples import sample_directory
from jobledger.sandbox.demo.watching import LiveTable

TRAINS, EARLY, UNBUILDABLE, RESTARTS = "fits-a-line", "too-early", "cannot-be-built", "second-wind"
MESSAGE_SHOWN = 90
"""How much of a message is printed."""

ENDS = {
    TRAINS: ("Complete", 1, 0),
    EARLY: ("Complete", 1, 0),
    UNBUILDABLE: ("JobsBuildFailed", 0, 0),
    RESTARTS: ("Complete", 2, 1),
}
"""Name -> phase, attempts and failed attempts at the end."""


def training_sample(name: str) -> dict[str, Any]:
    """Return a manifest under `ops/samples/trainjob`."""
    path: Path = sample_directory() / "trainjob" / f"{name}.yaml"
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


class Trainings:
    """A listener of a watch that prints each new condition and remembers it."""

    def __init__(self, table: LiveTable, cluster: Cluster, namespace: str) -> None:
        self._table, self._cluster, self._namespace = table, cluster, namespace
        self._lock = threading.Lock()
        self._conditions: dict[str, dict[str, str]] = {}

    def begin(self) -> None:
        """Create the jobs, and the runtime of all but one."""
        self._cluster.create(CLUSTER_TRAINING_RUNTIMES, training_sample("runtime"))
        for name in ("fit", "early", "unbuildable", "restarts"):
            self._cluster.create(TRAINJOBS, self._placed(training_sample(name)))

    def bring_the_runtime(self) -> None:
        """Create the runtime that one of them waits for."""
        self._cluster.create(TRAINING_RUNTIMES, self._placed(training_sample("later")))

    def _placed(self, manifest: Manifest) -> Manifest:
        metadata = {**child(manifest, "metadata"), "namespace": self._namespace}
        return {**manifest, "metadata": metadata}

    def has(self, name: str, condition: str, reason: str = "") -> bool:
        """Return whether a job shows a condition such as `Created=False`, for a reason."""
        with self._lock:
            found = self._conditions.get(name, {}).get(condition)
        return found is not None and reason in ("", found)

    def have_ended(self) -> bool:
        """Return whether every job is where it is to end, or one has failed and never will be."""
        if any(self.has(name, "Failed=True") for name in ENDS):
            return True
        done = all(self.has(name, "Complete=True") for name in (TRAINS, EARLY, RESTARTS))
        return done and self.has(UNBUILDABLE, "Created=False", "JobsBuildFailed")

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Print the conditions of a TrainJob that are new."""
        del at
        name = text(manifest, "metadata", "name")
        for item in items(manifest, "status", "conditions"):
            shown = f"{text(item, 'type')}={text(item, 'status')}"
            reason, message = text(item, "reason"), text(item, "message")
            with self._lock:
                known = self._conditions.setdefault(name, {})
                is_new = known.get(shown) != reason
                known[shown] = reason
                opposite = f"{text(item, 'type')}={'False' if 'True' in shown else 'True'}"
                known.pop(opposite, None)
            if is_new:
                short = message if len(message) <= MESSAGE_SHOWN else f"{message[:MESSAGE_SHOWN]}…"
                style = "red" if shown == "Created=False" else "blue"
                self._table.say(f"{name:<18}{shown:<16}{reason}: {short}", style)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Take no note."""

    def synced(self, at: Instant) -> None:
        """Take no note."""

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Take no note."""
