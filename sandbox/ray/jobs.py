"""The submissions of one head: real processes, from PENDING to their end.

Source: the states, messages and error types that a head of Ray 2.60 answers, and
python/ray/dashboard/modules/job/job_supervisor.py for the text of a failure.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time

from jobledger.sandbox.ray.paths import mounts_of_environment, with_places

MAX_MESSAGE_LOG_CHARS = 20_000
"""So much of the log, at most, goes into the message of a failed job."""

MESSAGE_LOG_LINES = 10
"""So many lines of it."""

STOP_GRACE_SECONDS = 3.0
"""Between SIGTERM and SIGKILL of a stopped job (Ray's RAY_JOB_STOP_WAIT_TIME_S)."""

UNAVAILABLE_RESOURCE = "sandbox.unavailable"
"""An entrypoint that asks for this resource waits for ever.

As one that asks a real cluster for more than it has.
"""

TERMINAL = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})

_MESSAGES = {
    "SETUP": "Job has not started yet. It may be waiting for the runtime environment to be set up.",
    "RESOURCES": (
        "Job has not started yet. It may be waiting for resources "
        "(CPUs, GPUs, memory, custom resources) to become available."
    ),
    "RUNNING": "Job is currently running.",
    "SUCCEEDED": "Job finished successfully.",
    "STOPPED": "Job was intentionally stopped.",
}


class Submission:
    """One submitted entrypoint."""

    def __init__(self, number: int, fields: dict[str, object], root: str, address: str) -> None:
        self.submission_id = str(fields["submission_id"])
        self.entrypoint = str(fields["entrypoint"])
        self.metadata: dict[str, object] = _mapping(fields.get("metadata"))
        self.runtime_env: dict[str, object] = _mapping(fields.get("runtime_env"))
        self.resources: dict[str, object] = _mapping(fields.get("entrypoint_resources"))
        self.directory = f"{root}/job-{number}"
        self.log_path = f"{root}/job-{number}.log"
        self.status, self.message, self.error_type = "PENDING", _MESSAGES["SETUP"], None
        self.started_ms = int(time.time() * 1000)
        self.ended_ms: int | None = None
        self.exit_code: int | None = None
        self.process: int | None = None
        self.stop_asked = False
        self._address = address
        self._lock = threading.Lock()

    def info(self) -> dict[str, object]:
        """Return what the job API says of it."""
        placed = self.process is not None
        return {
            "type": "SUBMISSION",
            "job_id": None,
            "submission_id": self.submission_id,
            "driver_info": None,
            "status": self.status,
            "entrypoint": self.entrypoint,
            "message": self.message,
            "error_type": self.error_type,
            "start_time": self.started_ms,
            "end_time": self.ended_ms,
            "metadata": self.metadata,
            "runtime_env": self.runtime_env,
            "driver_agent_http_address": f"http://{self._address}:52365" if placed else None,
            "driver_node_id": _node_id(self._address) if placed else None,
            "driver_exit_code": self.exit_code,
        }

    def run(self) -> None:
        """Start the entrypoint and see it to its end; the body of the submission's own thread."""
        if "/" in self.submission_id:
            return
        if self.resources.get(UNAVAILABLE_RESOURCE):
            self.message = _MESSAGES["RESOURCES"]
            return
        try:
            directory = self._prepare()
        except ValueError as refused:
            self._end("FAILED", f"runtime_env setup failed: {refused}", "RUNTIME_ENV_SETUP_FAILED")
            return
        with self._lock:
            if self.stop_asked:
                self._end("STOPPED", _MESSAGES["STOPPED"], None)
                return
            self.process = self._spawn(directory)
            self.status, self.message = "RUNNING", _MESSAGES["RUNNING"]
        _, wait_status = os.waitpid(self.process, 0)
        self._judge(os.waitstatus_to_exitcode(wait_status))

    def stop(self) -> bool:
        """Ask it to stop; False if it had ended. One that waits for resources stays PENDING."""
        with self._lock:
            if self.status in TERMINAL:
                return False
            self.stop_asked = True
            self.signal(signal.SIGTERM)
        if self.process is not None:
            later = threading.Timer(_stop_grace_seconds(), self.signal, (signal.SIGKILL,))
            later.daemon = True
            later.start()
        return True

    def signal(self, number: int) -> None:
        """Send a signal to its process group, if it runs."""
        if self.process is not None and self.status == "RUNNING":
            try:
                os.killpg(self.process, number)
            except ProcessLookupError:
                return

    def log_text(self) -> str:
        """Return the whole log."""
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as log:  # noqa: PTH123  # pathlib costs 8 ms per start
                return log.read()
        except FileNotFoundError:
            return ""

    def _prepare(self) -> str:
        directory = str(self.runtime_env.get("working_dir") or "")
        if "://" in directory:
            raise ValueError("the sandbox does not download a working_dir")
        os.makedirs(self.directory, exist_ok=True)  # noqa: PTH103  # pathlib costs 8 ms per start
        if directory:
            directory = with_places(directory, mounts_of_environment())
            if not os.path.isdir(directory):  # noqa: PTH112  # pathlib costs 8 ms per start
                raise ValueError(f"working_dir {directory} is not there")
        return directory or self.directory

    def _spawn(self, directory: str) -> int:
        mounts = mounts_of_environment()
        environment = dict(os.environ)
        environment["PYTHONUNBUFFERED"] = "1"
        environment["RAY_ADDRESS"] = f"{self._address}:6379"
        environment["RAY_JOB_SUBMISSION_ID"] = self.submission_id
        named = {"job_submission_id": self.submission_id, "job_name": self.submission_id}
        environment["RAY_JOB_CONFIG_JSON_ENV_VAR"] = json.dumps(
            {"runtime_env": self.runtime_env, "metadata": {**named, **self.metadata}}
        )
        wanted = self.runtime_env.get("env_vars")
        if isinstance(wanted, dict):
            environment.update({str(k): with_places(str(v), mounts) for k, v in wanted.items()})
        script = with_places(self.entrypoint, mounts)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        # posix_spawn knows no working directory: a first shell goes there and becomes the second
        return os.posix_spawn(
            "/bin/sh",
            ["/bin/sh", "-c", 'cd "$1" && exec /bin/sh -c "$2"', "sh", directory, script],
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, self.log_path, flags, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGTERM, signal.SIGINT),
        )

    def _judge(self, exit_code: int) -> None:
        with self._lock:
            if self.stop_asked:
                self._end("STOPPED", _MESSAGES["STOPPED"], None)
                return
            self.exit_code = exit_code
            if exit_code == 0:
                self._end("SUCCEEDED", _MESSAGES["SUCCEEDED"], None)
                return
            self._end("FAILED", self._failure(exit_code), "JOB_ENTRYPOINT_COMMAND_ERROR")

    def _failure(self, exit_code: int) -> str:
        lines = self.log_text().splitlines(keepends=True)
        tail = "".join(lines[-MESSAGE_LOG_LINES:])[-MAX_MESSAGE_LOG_CHARS:]
        text = f"Job entrypoint command failed with exit code {exit_code}"
        if not tail:
            return f"{text}. No logs available."
        return f"{text}, last available logs (truncated to 20,000 chars):\n{tail}"

    def _end(self, status: str, message: str, error_type: str | None) -> None:
        self.message, self.error_type = message, error_type  # type: ignore[assignment]  # starts as None
        self.ended_ms = int(time.time() * 1000)
        self.status = status  # last: a reader that sees the end sees all of it


class Submissions:
    """All submissions of one head. Safe for many threads."""

    def __init__(self, root: str, address: str) -> None:
        self._root, self._address = root, address
        self._by_id: dict[str, Submission] = {}
        self._lock = threading.Lock()

    def submit(self, fields: dict[str, object]) -> Submission:
        """Take an entrypoint and start it; raise ValueError if its id is taken."""
        with self._lock:
            name = str(fields["submission_id"])
            if name in self._by_id:
                raise ValueError(
                    f"Job with submission_id {name} already exists. "
                    "Please use a different submission_id."
                )
            one = Submission(len(self._by_id) + 1, fields, self._root, self._address)
            self._by_id[name] = one
        threading.Thread(target=one.run, daemon=True).start()
        return one

    def get(self, submission_id: str) -> Submission | None:
        """Return the submission of that id, if there is one."""
        return self._by_id.get(submission_id)

    def all(self) -> list[Submission]:
        """Return every submission, oldest first."""
        return list(self._by_id.values())

    def forget(self, submission_id: str) -> None:
        """Drop a finished submission."""
        self._by_id.pop(submission_id, None)

    def kill(self) -> None:
        """End every process at once; the head goes down."""
        for one in self.all():
            one.signal(signal.SIGKILL)


def _mapping(found: object) -> dict[str, object]:
    return found if isinstance(found, dict) else {}


def _node_id(address: str) -> str:
    return "".join(f"{int(part):02x}" for part in address.split(".") if part.isdigit()) * 7


def _stop_grace_seconds() -> float:
    try:
        return float(os.environ.get("RAY_JOB_STOP_WAIT_TIME_S") or STOP_GRACE_SECONDS)
    except ValueError:
        return STOP_GRACE_SECONDS
