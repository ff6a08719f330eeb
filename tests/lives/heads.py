"""The Ray job API of all heads of a cluster, as an HTTP proxy: they say what they are told."""

import json
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.support.json_handler import JsonHandler

ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
JOBS_PATH = "/api/jobs"


class _Server(ThreadingHTTPServer):
    """Keeps quiet where a controller is stopped in the middle of a question."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


@dataclass(slots=True)
class Heads:
    """What each head knows, and what it was asked to do; heads are known by their RayCluster."""

    known: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """What is said of a Ray job: RayCluster and submission id -> answer."""
    silent: set[str] = field(default_factory=set)
    """RayClusters whose head does not answer."""
    gone: set[str] = field(default_factory=set)
    """RayClusters that are no more."""
    refusing: set[str] = field(default_factory=set)
    """RayClusters whose head takes no Ray job."""
    submissions: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """What was handed in: RayCluster and the body of the request."""
    stops: list[tuple[str, str]] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    """What a head wants to be shown: RayCluster -> token."""
    named: dict[str, str] = field(default_factory=dict)
    """Names of Services that their users gave: the Service -> its RayCluster."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Return the address for the proxy variables."""
        assert self._server is not None, "it was started"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Serve on a free port."""
        heads = self

        class Handler(JsonHandler):
            def do_GET(self) -> None:  # noqa: N802  # the name is the library's
                if heads.cluster_of(self.path) in heads.silent:
                    self.close_connection = True  # and nothing is said
                    return
                super().do_GET()

            do_POST = do_GET  # noqa: N815  # the name is the library's

            def answer(self, body: bytes) -> tuple[int, object]:
                token = heads.tokens.get(heads.cluster_of(self.path))
                if token and self.headers.get("x-ray-authorization") != f"Bearer {token}":
                    return HTTPStatus.UNAUTHORIZED, {"error": "who are you"}
                return heads.told(self.command, self.path, body)

        self._server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, name="heads", daemon=True).start()

    def stop(self) -> None:
        """End it."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def says(self, cluster: str, submission: str, status: str, message: str = "") -> None:
        """Have a head say from now on that a Ray job has a status."""
        with self._lock:
            info = self.known.setdefault((cluster, submission), _new(submission))
            info |= {"status": status, "message": message or f"simulated {status}"}
            now = int(time.time() * 1000)
            if status != "PENDING":
                info.setdefault("start_time", now)
            if status in ENDED:
                info.setdefault("end_time", now)

    def forget(self, cluster: str) -> None:
        """Have a head know no Ray job any more."""
        with self._lock:
            self.known = {key: info for key, info in self.known.items() if key[0] != cluster}

    def told(self, method: str, url: str, body: bytes) -> tuple[int, object]:
        """Return the answer to a request."""
        cluster, path = self.cluster_of(url), urlsplit(url).path.rstrip("/")
        if method == "POST" and path == JOBS_PATH:
            return self._submit(cluster, json.loads(body))
        submission, _, rest = path.removeprefix(f"{JOBS_PATH}/").partition("/")
        with self._lock:
            info = dict(self.known.get((cluster, submission), {}))
        if method == "POST" and rest == "stop":
            if submission and cluster not in self.gone:  # upstream names none in Waiting
                self.stops.append((cluster, submission))
            return HTTPStatus.OK, {"stopped": bool(info)}
        if not info or rest:
            return HTTPStatus.NOT_FOUND, {"error": "Job does not exist"}
        return HTTPStatus.OK, info

    def cluster_of(self, url: str) -> str:
        """Return which RayCluster's head an address is of."""
        service = (urlsplit(url).hostname or "").partition(".")[0]
        return self.named.get(service) or service.removesuffix("-head-svc")

    def _submit(self, cluster: str, wanted: dict[str, Any]) -> tuple[int, object]:
        submission = str(wanted["submission_id"])
        if cluster in self.refusing:
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "no room"}
        if (cluster, submission) in self.known:
            return HTTPStatus.INTERNAL_SERVER_ERROR, {
                "error": "Please use a different submission_id"
            }
        self.submissions.append((cluster, submission))
        self.bodies.append((cluster, wanted))
        self.says(cluster, submission, "PENDING")
        return HTTPStatus.OK, {"job_id": submission, "submission_id": submission}


def _new(submission: str) -> dict[str, Any]:
    return {"type": "SUBMISSION", "submission_id": submission, "entrypoint": "x", "metadata": {}}
