"""Writes the newest status of each Pod, in a thread of its own, only where it differs."""

import threading

from jobledger.core.errors import ObjectChanged, ObjectNotFound
from jobledger.core.ports.cluster import PODS, Cluster
from jobledger.core.values.documents import Json, Manifest, child, text
from jobledger.sandbox.agent.logs import LOG_ANNOTATION
from jobledger.sandbox.agent.pods.status import holds
from jobledger.sandbox.controllers.loop import ControllerLoop
from jobledger.sandbox.controllers.store import Key, Store, uid_of


class StatusWriter:
    """Level-triggered: what is asked for last is written, what lies between may be skipped."""

    def __init__(self, cluster: Cluster, pods: Store) -> None:
        self._cluster, self._pods, self._log_url = cluster, pods, ""
        self._wanted: dict[Key, tuple[str, Manifest]] = {}
        self._lock = threading.Lock()
        self._loop = ControllerLoop("sandbox-pod-status")

    def start(self, log_url: str) -> None:
        """Start the thread; `log_url` is where the Pods' logs are served."""
        self._log_url = log_url
        self._loop.start()

    def stop(self) -> None:
        """Finish the write at hand and end the thread."""
        self._loop.stop()

    def write(self, key: Key, uid: str, status: Manifest) -> None:
        """Have the status written."""
        with self._lock:
            self._wanted[key] = (uid, status)
        self._loop.add((self, *key))

    def reconcile(self, namespace: str, name: str) -> float | None:
        """Write what was asked for last, if the Pod is still there and says something else."""
        with self._lock:
            wanted = self._wanted.get((namespace, name))
        if wanted is None:
            return None
        uid, status = wanted
        known = self._pods.get(namespace, name)
        if known is not None and uid_of(known) == uid:
            self._bring(namespace, name, known, status)
        with self._lock:
            if self._wanted.get((namespace, name)) is wanted:
                del self._wanted[namespace, name]
        return None

    def _bring(self, namespace: str, name: str, known: Manifest, status: Manifest) -> None:
        address = f"{self._log_url}/{namespace}/{name}/{uid_of(known)}"
        try:
            if text(known, "metadata", "annotations", LOG_ANNOTATION) != address:
                known = self._patch(known, {"annotations": {LOG_ANNOTATION: address}}, None)
            if not holds(child(known, "status"), status):
                self._patch(known, {}, status)
        except (ObjectNotFound, ObjectChanged):
            return  # the Pod is gone, or another has its name: the watch will say so

    def _patch(
        self, known: Manifest, metadata: dict[str, Json], status: Manifest | None
    ) -> Manifest:
        patch: dict[str, Json] = {"metadata": {**metadata, "uid": uid_of(known)}}
        if status is not None:
            patch["status"] = status
        written = self._cluster.merge_patch(
            PODS,
            text(known, "metadata", "namespace"),
            text(known, "metadata", "name"),
            patch,
            subresource="status" if status is not None else "",
        )
        self._pods.note(written)
        return written
