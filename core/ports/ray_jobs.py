"""Port: the Ray job API of one head (submit, status, stop, log).

Source: Ray's job submission REST API (`/api/jobs/`), as KubeRay's dashboard client uses it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from jobledger.core.values.documents import Json
from jobledger.core.values.instants import Instant

TOKEN_KEY = "auth_token"  # noqa: S105 the name of a key
"""Key of a head's token in the Secret that KubeRay makes for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayJobInfo:
    """What the head says of one submission."""

    status: str
    """PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED."""
    message: str = ""
    started_at: Instant | None = None
    ended_at: Instant | None = None
    error_type: str = ""
    exit_code: int | None = None
    """Exit code of the driver; negative for a signal; None while unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """An entrypoint to run, in the words of the Ray job API.

    What is empty or 0 is left out of the request.
    """

    entrypoint: str
    submission_id: str
    metadata: Mapping[str, str]
    runtime_env: Mapping[str, Json]
    num_cpus: float = 0
    num_gpus: float = 0
    resources: Mapping[str, float]


class RayJobs(Protocol):
    """The Ray job API at an address `host:port`.

    Every call ends within a limited time. Safe to call from many threads.
    """

    def info(self, address: str, submission_id: str, token: str = "") -> RayJobInfo:
        """Return what the head says; raise `RayJobNotFound` (404) or `RayApiUnreachable`."""

    def submit(self, address: str, submission: Submission, token: str = "") -> None:
        """Hand in the entrypoint; a submission that is already there under this id is success.

        Raises `RayJobRefused` if the head will not run it, `RayApiUnreachable` if nobody can tell.
        """

    def stop(self, address: str, submission_id: str, token: str = "") -> bool:
        """Ask the head to stop it; True if it is stopped or had ended. Raises as `info`."""

    def log_tail(self, address: str, submission_id: str, token: str = "") -> str:
        """Return the last part of the driver's log, limited in size. Raises as `info`."""
