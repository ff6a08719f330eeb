"""A small Ray head: the job API over HTTP as Ray 2.60 answers it, oddities included.

What happens to a job is decided in memory (`MemoryRayJobs`); here stands how a head says it.
"""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote

from jobledger.core.errors import RayJobNotFound, RayJobRefused
from jobledger.core.ports.ray_jobs import RayJobInfo, Submission
from jobledger.core.values.instants import EPOCH, Instant
from tests.support.memory.ray_jobs import TERMINAL, MemoryRayJobs

FIELDS: dict[str, type | tuple[type, ...]] = {
    "entrypoint": str,
    "submission_id": str,
    "metadata": dict,
    "runtime_env": dict,
    "entrypoint_num_cpus": (int, float),
    "entrypoint_num_gpus": (int, float),
    "entrypoint_resources": dict,
}
"""What a submission may hold; a head refuses all else."""


@dataclass(frozen=True)
class Said:
    """An answer: JSON, or the text of an error."""

    status: int
    body: dict[str, Any] | str


class FakeRayHead:
    """Serves the job API on a free port of the loopback, as a context manager."""

    def __init__(self, token: str = "") -> None:
        self.token = token
        self.inside = MemoryRayJobs(lambda: Instant(2026, 11, 21, 3, tzinfo=EPOCH.tzinfo))
        self.requests: list[str] = []
        self._server = _Server(self)
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self.restart()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def restart(self) -> None:
        """Forget all jobs, as a head does that was started again."""
        self.inside.start_head(self.address)

    def answer(self, method: str, path: str, token: str, body: bytes) -> Said:
        """Answer one request (called by a connection's thread)."""
        self.requests.append(f"{method} {path}")
        if self.token and token != f"Bearer {self.token}":
            return Said(401, f"Unauthorized: invalid token {token}")
        match method, path.strip("/").split("/"):
            case "GET", ["api", "gcs_healthz"]:
                return Said(200, "success")
            case "GET", ["api", "version"]:
                return Said(200, {"version": "4", "ray_version": "2.60.0"})
            case "POST", ["api", "jobs"]:
                return self._submit(body)
            case _, ["api", "jobs", quoted, *rest]:
                return self._about(method, unquote(quoted), rest)
            case _:
                return Said(404, "404: Not Found")

    def _submit(self, body: bytes) -> Said:
        try:
            submission = _submission(json.loads(body))
            known = self._info(submission.submission_id) is not None
            self.inside.submit(self.address, submission)
        except (KeyError, TypeError, ValueError, RayJobRefused) as error:
            return Said(400, f"Traceback (most recent call last):\n  File ...\n{error!r}\n")
        name = submission.submission_id
        if known:
            return Said(500, f"Traceback ...\nRuntimeError: 400: Job with id {name} already exists")
        return Said(200, {"job_id": name, "submission_id": name})

    def _about(self, method: str, name: str, rest: list[str]) -> Said:
        info = self._info(name)
        if info is None:
            return Said(404, f"Job {name} does not exist")
        match method, rest:
            case "GET", []:
                return Said(200, _details(name, self.inside.submission(self.address, name), info))
            case "GET", ["logs"]:
                return Said(200, {"logs": self.inside.log_tail(self.address, name)})
            case "POST", ["stop"]:
                if info.status in TERMINAL:
                    return Said(200, {"stopped": False})
                return Said(200, {"stopped": self.inside.stop(self.address, name)})
            case _:
                return Said(405, "405: Method Not Allowed")

    def _info(self, name: str) -> RayJobInfo | None:
        try:
            return self.inside.info(self.address, name)
        except RayJobNotFound:
            return None


def _submission(document: dict[str, Any]) -> Submission:
    """Return what was handed in, if every field is known and of its type."""
    for name, value in document.items():
        if not isinstance(value, FIELDS[name]):
            raise TypeError(f"{name} must not be {value!r}")
    return Submission(
        entrypoint=document["entrypoint"],
        submission_id=document["submission_id"],
        metadata=document.get("metadata", {}),
        runtime_env=document.get("runtime_env", {}),
        num_cpus=document.get("entrypoint_num_cpus", 0),
        num_gpus=document.get("entrypoint_num_gpus", 0),
        resources=document.get("entrypoint_resources", {}),
    )


def _details(name: str, submission: Submission, info: RayJobInfo) -> dict[str, Any]:
    """Return a job as a head describes it."""
    node = None if info.status == "PENDING" else "node-1"
    return {
        "type": "SUBMISSION",
        "job_id": None,
        "submission_id": name,
        "driver_info": None,
        "status": info.status,
        "entrypoint": submission.entrypoint,
        "message": info.message,
        "error_type": info.error_type or None,
        "start_time": _milliseconds(info.started_at),
        "end_time": _milliseconds(info.ended_at),
        "metadata": dict(submission.metadata),
        "runtime_env": dict(submission.runtime_env),
        "driver_agent_http_address": node and f"http://{node}:52365",
        "driver_node_id": node,
        "driver_exit_code": info.exit_code,
    }


def _milliseconds(instant: Instant | None) -> int | None:
    return None if instant is None else int(instant.timestamp() * 1000)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing the server waits for them
    request_queue_size = 64

    def __init__(self, head: FakeRayHead) -> None:
        self.head = head
        super().__init__(("127.0.0.1", 0), _Connection)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401  # theirs
        """Say nothing: a client may leave whenever it likes."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"  # each connection ends with its answer, so no thread lingers

    @property
    def head(self) -> FakeRayHead:
        assert isinstance(self.server, _Server)
        return self.server.head

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        token = self.headers.get("x-ray-authorization", "")
        said = self.head.answer(self.command, self.path, token, body)
        content = said.body if isinstance(said.body, str) else json.dumps(said.body)
        self.send_response(said.status)
        self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())

    do_GET = do_POST = do_DELETE = answer  # noqa: N815  # their names
