"""In-memory Ray heads: the port `core.ports.ray_jobs`, and the jobs inside a head.

A job runs as soon as the head has the CPUs it asks for; it ends when `end` says so.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from jobledger.core.errors import RayApiUnreachable, RayJobNotFound, RayJobRefused
from jobledger.core.ports.ray_jobs import RayJobInfo, Submission
from jobledger.core.values.instants import Instant

LOG_TAIL_CHARACTERS = 256 * 1024
"""As much of a log as is handed on."""

WAITING = "Job has not started yet. It may be waiting for resources."
RUNNING = "Job is currently running."
SUCCEEDED = "Job finished successfully."
STOPPED = "Job was intentionally stopped."
COMMAND_FAILED = "JOB_ENTRYPOINT_COMMAND_ERROR"
"""Source: Ray's `JobErrorType`."""

TERMINAL = frozenset({"STOPPED", "SUCCEEDED", "FAILED"})


@dataclass(slots=True)
class _Job:
    """One submission and how far it got."""

    submission: Submission
    info: RayJobInfo
    log: str = ""


@dataclass(slots=True)
class _Head:
    """One head and all it knows; gone with it."""

    cpus: float
    jobs: dict[str, _Job] = field(default_factory=dict)


class MemoryRayJobs:
    """Implements `core.ports.ray_jobs.RayJobs`; at first there is no head anywhere."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        self._now = now
        self._heads: dict[str, _Head] = {}
        self._lock = threading.Lock()

    def start_head(self, address: str, cpus: float = 4) -> None:
        """Start a head; one that was there is replaced, and what it knew is forgotten."""
        with self._lock:
            self._heads[address] = _Head(cpus)

    def stop_head(self, address: str) -> None:
        """Stop a head: it answers no more."""
        with self._lock:
            self._heads.pop(address, None)

    def submission(self, address: str, submission_id: str) -> Submission:
        """Return what was handed in; raises as `info`."""
        with self._lock:
            return self._job(address, submission_id).submission

    def write_log(self, address: str, submission_id: str, text: str) -> None:
        """Let the driver write to its log; raises as `info`."""
        with self._lock:
            self._job(address, submission_id).log += text

    def end(self, address: str, submission_id: str, exit_code: int) -> None:
        """Let the driver end, unless the job has ended already; raises as `info`."""
        with self._lock:
            job = self._job(address, submission_id)
            if job.info.status in TERMINAL:
                return
            failed = exit_code != 0
            job.info = replace(
                job.info,
                status="FAILED" if failed else "SUCCEEDED",
                message=f"exit code {exit_code}; log:\n{job.log}" if failed else SUCCEEDED,
                error_type=COMMAND_FAILED if failed else "",
                exit_code=exit_code,
                ended_at=self._now(),
            )

    def info(self, address: str, submission_id: str, token: str = "") -> RayJobInfo:  # noqa: ARG002 -- no head here asks for one
        """See `core.ports.ray_jobs.RayJobs.info`."""
        with self._lock:
            return self._job(address, submission_id).info

    def submit(self, address: str, submission: Submission, token: str = "") -> None:  # noqa: ARG002 -- as above
        """See `core.ports.ray_jobs.RayJobs.submit`."""
        with self._lock:
            head = self._head(address)
            if not submission.submission_id or "/" in submission.submission_id:
                raise RayJobRefused(f"{submission.submission_id!r} cannot be the id of a Ray job")
            if not all(isinstance(value, str) for value in submission.metadata.values()):
                raise RayJobRefused(f"metadata of {submission.submission_id!r} must be strings")
            fits = submission.num_cpus <= head.cpus
            info = RayJobInfo(
                status="RUNNING" if fits else "PENDING",
                message=RUNNING if fits else WAITING,
                started_at=self._now(),
            )
            head.jobs.setdefault(submission.submission_id, _Job(submission, info))

    def stop(self, address: str, submission_id: str, token: str = "") -> bool:  # noqa: ARG002 -- as above
        """See `core.ports.ray_jobs.RayJobs.stop`.

        A job that waits for resources is not stopped by it. Source: observed with Ray 2.60.
        """
        with self._lock:
            job = self._job(address, submission_id)
            if job.info.status == "RUNNING":
                job.info = replace(
                    job.info, status="STOPPED", message=STOPPED, ended_at=self._now()
                )
            return True

    def log_tail(self, address: str, submission_id: str, token: str = "") -> str:  # noqa: ARG002 -- as above
        """See `core.ports.ray_jobs.RayJobs.log_tail`."""
        with self._lock:
            return self._job(address, submission_id).log[-LOG_TAIL_CHARACTERS:]

    def _head(self, address: str) -> _Head:
        """Return the head at this address, if there is one."""
        head = self._heads.get(address)
        if head is None:
            raise RayApiUnreachable(f"there is no Ray head at {address}")
        return head

    def _job(self, address: str, submission_id: str) -> _Job:
        """Return a job that the head knows."""
        job = self._head(address).jobs.get(submission_id)
        if job is None:
            raise RayJobNotFound(
                f"the Ray head at {address} does not know the job {submission_id!r}"
            )
        return job
