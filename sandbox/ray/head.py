"""The job API of a head: what it answers to which request.

Source: the answers of a head of Ray 2.60, among them the ones that surprise (a duplicate id is
500, an unknown field 400, an id with a slash 500 and a job that waits for ever).
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time

from jobledger.sandbox.ray.http_text import Request, read_request, send_head
from jobledger.sandbox.ray.jobs import TERMINAL, Submission, Submissions

RAY_VERSION = "2.60.0"
"""The version whose behaviour this stands in for."""

LOG_POLL_SECONDS = 0.1
"""How often a followed log is looked at."""

_KNOWN_FIELDS = {
    "entrypoint": str,
    "submission_id": str,
    "job_id": str,
    "runtime_env": dict,
    "metadata": dict,
    "entrypoint_num_cpus": (int, float),
    "entrypoint_num_gpus": (int, float),
    "entrypoint_memory": int,
    "entrypoint_resources": dict,
    "entrypoint_label_selector": dict,
}
_TEXT, _JSON = "text/plain; charset=utf-8", "application/json; charset=utf-8"


class Head:
    """Serves the job API on one address, one thread per connection."""

    def __init__(self, host: str, port: int, root: str) -> None:
        self.submissions = Submissions(root, host)
        self._listener = socket.create_server((host, port), backlog=128)
        # no part of an answer waits until another was acknowledged
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def serve(self) -> None:
        """Answer until the process ends."""
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.settimeout(60.0)
                request = read_request(connection)
                if request is not None:
                    self._answer(connection, request)
            except (OSError, ValueError):
                return  # the client went away or spoke no HTTP: nobody is left to tell

    def _answer(self, connection: socket.socket, request: Request) -> None:
        path = request.path.partition("?")[0]
        if request.method == "GET" and path.endswith("/logs/tail"):
            self._follow(connection, _unquoted(path[len("/api/jobs/") : -len("/logs/tail")]))
            return
        status, content_type, text = self._answer_text(request, path)
        body = text.encode()
        send_head(connection, status, content_type, len(body))
        connection.sendall(body)

    def _answer_text(self, request: Request, path: str) -> tuple[int, str, str]:
        if path == "/api/jobs/":
            if request.method == "POST":
                return self._submit(request.body)
            return 200, _JSON, json.dumps([one.info() for one in self.submissions.all()])
        if path.startswith("/api/jobs/"):
            return self._of_one(request.method, path[len("/api/jobs/") :])
        if path == "/api/gcs_healthz":
            return 200, _TEXT, "success"
        if path == "/api/version":
            named = {"version": "4", "ray_version": RAY_VERSION, "ray_commit": "sandbox"}
            return 200, _JSON, json.dumps(named)
        if path == "/api/cluster_status":
            data = {"autoscalingStatus": None, "autoscalingError": None, "clusterStatus": None}
            found = {"result": True, "msg": "Got cluster status.", "data": data}
            return 200, _JSON, json.dumps(found)
        return 404, _TEXT, "404: Not Found"

    def _of_one(self, method: str, rest: str) -> tuple[int, str, str]:
        name, _, verb = rest.partition("/")
        name = _unquoted(name)
        one = self.submissions.get(name)
        if one is None:
            return 404, _TEXT, f"Job {name} does not exist"
        if method == "POST" and verb == "stop":
            return 200, _JSON, json.dumps({"stopped": one.stop()})
        if method == "DELETE" and not verb:
            return self._delete(one)
        if method == "GET" and verb == "logs":
            return 200, _JSON, json.dumps({"logs": one.log_text()})
        if method == "GET" and not verb:
            return 200, _JSON, json.dumps(one.info())
        return 404, _TEXT, "404: Not Found"

    def _submit(self, body: bytes) -> tuple[int, str, str]:
        try:
            fields = _checked(body)
        except ValueError as refused:
            return 400, _TEXT, _as_traceback(str(refused))
        try:
            one = self.submissions.submit(fields)
        except ValueError as taken:
            return 500, _TEXT, _as_traceback(f"Request failed with status code 400: {taken}.")
        if "/" in one.submission_id:
            return 500, _TEXT, _as_traceback(f"{one.submission_id!r} names no log file")
        named = {"job_id": one.submission_id, "submission_id": one.submission_id}
        return 200, _JSON, json.dumps(named)

    def _delete(self, one: Submission) -> tuple[int, str, str]:
        if one.status not in TERMINAL:
            said = (
                f"Attempted to delete job '{one.submission_id}', "
                f"but it is in a non-terminal state {one.status}."
            )
            return 500, _TEXT, _as_traceback(said)
        self.submissions.forget(one.submission_id)
        return 200, _JSON, json.dumps({"deleted": True})

    def _follow(self, connection: socket.socket, name: str) -> None:
        one = self.submissions.get(name)
        if one is None:
            body = f"Job {name} does not exist".encode()
            send_head(connection, 404, _TEXT, len(body))
            connection.sendall(body)
            return
        send_head(connection, 200, _TEXT, None)
        position = 0
        while True:
            ended = one.status in TERMINAL  # asked before reading, so that nothing is missed
            piece = _piece(one.log_path, position)
            position += len(piece)
            if piece:
                connection.sendall(piece)
            elif ended:
                return
            else:
                time.sleep(LOG_POLL_SECONDS)


def _checked(body: bytes) -> dict[str, object]:
    """Return the fields of a submission; raise ValueError for what Ray refuses with 400."""
    fields = json.loads(body or b"null")
    if not isinstance(fields, dict):
        raise ValueError("the body must be a JSON object")  # noqa: TRY004  # answered as 400
    if not fields.get("entrypoint"):
        raise ValueError("JobSubmitRequest.__init__() missing required argument: 'entrypoint'")
    for name, value in fields.items():
        wanted = _KNOWN_FIELDS.get(name)
        if wanted is None:
            raise ValueError(f"JobSubmitRequest got an unexpected keyword argument '{name}'")
        if value is not None and not isinstance(value, wanted):  # type: ignore[arg-type]  # a table of types
            raise ValueError(f"{name} has the wrong type: {type(value).__name__}")
    metadata = fields.get("metadata") or {}
    if not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("metadata values must be strings")
    name = fields.get("submission_id") or fields.get("job_id") or f"raysubmit_{os.urandom(8).hex()}"
    return {**fields, "submission_id": name}


def _as_traceback(said: str) -> str:
    return f"Traceback (most recent call last):\n  (the sandbox's job API)\nValueError: {said}\n"


def _piece(path: str, position: int) -> bytes:
    try:
        with open(path, "rb") as log:  # noqa: PTH123  # pathlib costs 8 ms per start
            log.seek(position)
            return log.read(65536)
    except FileNotFoundError:
        return b""


def _unquoted(text: str) -> str:
    """Return `text` without percent escapes (`urllib.parse` costs 6 ms per start)."""
    first, *parts = text.split("%")
    data = first.encode()
    for part in parts:
        try:
            data += bytes([int(part[:2], 16)]) + part[2:].encode()
        except ValueError:
            data += b"%" + part.encode()
    return data.decode(errors="replace")
