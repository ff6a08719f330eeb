"""What is below the controllers: RayClusters get ready, submitters and JobSets end, heads answer.

It looks at what there is every second and writes what is due, so that a restart of the API server
loses nothing. Nothing is started: an hour of thousands of jobs fits on a small machine.
"""

import hashlib
import json
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

from jobledger.core.errors import ClusterError, RequestInvalid
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, RAYCLUSTERS, Cluster, Resource
from jobledger.core.rayjob.names import LABEL_ORIGIN_NAME
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import parse_rfc3339, rfc3339
from tests.support.json_handler import JsonHandler
from tests.support.ray_job_info import told_info

LOOK_SECONDS = 1.0
READY_SECONDS, RUN_SECONDS = 1.0, 2.0
FAILS_OF_TEN = 3
HEAD_SERVICE = "-head-svc"
FAILED, SUCCEEDED = ("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")
"""Conditions of a batch Job that has ended."""


def fails(cluster: str) -> bool:
    """Return whether the entrypoint on a RayCluster fails; it follows from the name."""
    return hashlib.sha256(cluster.encode()).digest()[0] % 10 < FAILS_OF_TEN


class Heads:
    """The Ray job API of every head at once, as an HTTP proxy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: dict[str, float] = {}
        self.doubles = 0
        """How often somebody submitted what had been submitted before. It was refused."""
        heads = self

        class Handler(JsonHandler):
            def answer(self, body: bytes) -> tuple[int, object]:
                return heads.told(self.command, self.path, body)

        self._server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, name="heads", daemon=True).start()

    @property
    def url(self) -> str:
        """Return the address for the proxy variables."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def begin(self, cluster: str) -> bool:
        """Let an entrypoint run on a RayCluster; return whether none did."""
        with self._lock:
            is_new = cluster not in self._started
            self._started.setdefault(cluster, time.time())
            return is_new

    def forget(self, there: set[str]) -> None:
        """Keep only the heads of RayClusters that are there."""
        with self._lock:
            for name in set(self._started) - there:
                del self._started[name]

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def told(self, method: str, url: str, body: bytes) -> tuple[int, Json]:
        """Return what a head answers."""
        parts = urlsplit(url)
        cluster = (parts.hostname or "").partition(".")[0].removesuffix(HEAD_SERVICE)
        if method == "POST" and parts.path.rstrip("/") == "/api/jobs":
            asked = json.loads(body).get("submission_id", "")
            if self.begin(cluster):
                return HTTPStatus.OK, {"submission_id": asked, "job_id": asked}
            self.doubles += 1
            message = f"Job with submission_id {asked} already exists."
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": message}
        if method == "POST":
            return HTTPStatus.OK, {"stopped": True}
        if parts.path.endswith(("/logs", "/logs/tail")):
            return HTTPStatus.NOT_FOUND, {"error": "there are no logs"}
        return self._info(cluster, parts.path.rstrip("/").rpartition("/")[2])

    def _info(self, cluster: str, submission: str) -> tuple[int, Json]:
        with self._lock:
            started = self._started.get(cluster)
        if started is None:
            return HTTPStatus.NOT_FOUND, {"error": "Job does not exist"}
        info = told_info(submission, started, RUN_SECONDS, fails=fails(cluster))
        return HTTPStatus.OK, info


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: replicas are killed in the middle of a question."""


class Nature:
    """Looks around on a thread of its own until it is stopped."""

    def __init__(self, cluster: Cluster, heads: Heads, namespace: str) -> None:
        self._cluster, self._heads, self._namespace = cluster, heads, namespace
        self._over = threading.Event()
        self.refused: list[str] = []
        """What the API server would not have: a mistake here, and no soak."""
        self._thread = threading.Thread(target=self._run, name="nature", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            for work in (self._clusters, self._submitters, self._jobsets):
                try:
                    work()
                except ClusterError:  # the API server is away; what is due is due again
                    continue

    def _clusters(self) -> None:
        found = self._all(RAYCLUSTERS)
        for item in found:
            if text(item, "status", "state") != "ready" and _age(item) >= READY_SECONDS:
                name = text(item, "metadata", "name")
                head: dict[str, Json] = {"podIP": "10.1.1.1", "serviceName": name + HEAD_SERVICE}
                self._write(RAYCLUSTERS, item, {"state": "ready", "head": head})
        self._heads.forget({text(item, "metadata", "name") for item in found})

    def _submitters(self) -> None:
        waiting = [item for item in self._all(BATCH_JOBS) if not _shown(item)]
        clusters = {
            text(item, "metadata", "labels", LABEL_ORIGIN_NAME): text(item, "metadata", "name")
            for item in (self._all(RAYCLUSTERS) if waiting else ())
        }
        for item in waiting:
            cluster = clusters.get(_owner_name(item), "")
            self._heads.begin(cluster)
            if _age(item) >= RUN_SECONDS + 1:
                self._write(BATCH_JOBS, item, _ended(fails(cluster)))

    def _jobsets(self) -> None:
        for item in self._all(JOBSETS):
            is_over = any(text(one, "type") == "Completed" for one in _shown(item))
            is_suspended = child(item, "spec").get("suspend") is True
            if not is_over and not is_suspended and _age(item) >= RUN_SECONDS:
                over = {"terminalState": "Completed", **_conditions("Completed")}
                self._write(JOBSETS, item, over)

    def _all(self, resource: Resource) -> list[Manifest]:
        return list(self._cluster.list(resource, namespace=self._namespace).items)

    def _write(self, resource: Resource, item: Manifest, status: Manifest) -> None:
        if text(item, "metadata", "deletionTimestamp"):
            return
        name = text(item, "metadata", "name")
        try:
            self._cluster.merge_patch(
                resource, self._namespace, name, {"status": status}, subresource="status"
            )
        except RequestInvalid as error:
            self.refused.append(str(error))
        except ClusterError:  # it is due again at the next look, or has gone meanwhile
            return


def _ended(failed: bool) -> dict[str, Json]:
    """Return the status of a batch Job, as the API server takes it."""
    now = _now()
    if failed:
        return {"startTime": now, **_conditions(*FAILED)}
    return {"startTime": now, "completionTime": now, **_conditions(*SUCCEEDED)}


def _shown(item: Manifest) -> Sequence[Json]:
    return items(item, "status", "conditions")


def _owner_name(item: Manifest) -> str:
    owners = items(item, "metadata", "ownerReferences")
    return text(owners[0], "name") if owners else ""


def _conditions(*kinds: str) -> dict[str, Json]:
    now = _now()
    return {
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "lastTransitionTime": now,
                "reason": "Simulated",
                "message": "simulated",
            }
            for kind in kinds
        ]
    }


def _now() -> str:
    return rfc3339(datetime.now(UTC))


def _age(item: Manifest) -> float:
    created = parse_rfc3339(text(item, "metadata", "creationTimestamp"))
    return (datetime.now(UTC) - created).total_seconds() if created is not None else 0.0
