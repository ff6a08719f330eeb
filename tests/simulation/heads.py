"""Ray heads that answer, fall silent, talk nonsense, or come back without a memory."""

from collections.abc import Callable

from jobledger.core.errors import RayApiError, RayApiUnreachable
from jobledger.core.ports.ray_jobs import RayJobInfo, RayJobs, Submission
from jobledger.core.values.instants import Instant
from tests.support.memory.ray_jobs import TERMINAL, MemoryRayJobs


class SimulatedHeads(RayJobs):
    """All heads of the cluster, by address; the inside is `MemoryRayJobs`."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        self.inside = MemoryRayJobs(now)
        self.up: dict[str, dict[str, None]] = {}
        """Address -> submission ids that the head knows, in order."""
        self.silent: dict[str, str] = {}
        """Address -> what a caller meets instead of an answer."""

    def start(self, address: str) -> None:
        """Start a head, or restart it: what it knew is forgotten."""
        self.inside.start_head(address)
        self.up[address] = {}
        self.silent.pop(address, None)

    def stop_head(self, address: str) -> None:
        """Stop a head for good."""
        self.inside.stop_head(address)
        self.up.pop(address, None)
        self.silent.pop(address, None)

    def running(self) -> list[tuple[str, str]]:
        """Return address and submission id of every job that runs."""
        return [
            (address, job_id)
            for address, known in self.up.items()
            for job_id in known
            if self.inside.info(address, job_id).status not in TERMINAL
        ]

    def end(self, address: str, job_id: str, exit_code: int) -> None:
        """Let an entrypoint end."""
        self.inside.write_log(address, job_id, "loss is NaN\n")
        self.inside.end(address, job_id, exit_code)

    def status(self, address: str, job_id: str) -> str:
        """Return how far a job is, as one inside of the cluster sees it; empty: unknown."""
        try:
            return self.inside.info(address, job_id).status
        except RayApiError:
            return ""

    def take(self, address: str, job_id: str) -> None:
        """Take a submission from inside of the cluster."""
        submission = Submission(
            entrypoint="python train.py",
            submission_id=job_id,
            metadata={},
            runtime_env={},
            resources={},
        )
        self.inside.submit(address, submission)
        self.up[address].setdefault(job_id)

    def info(self, address: str, submission_id: str, token: str = "") -> RayJobInfo:
        """See `core.ports.ray_jobs.RayJobs.info`."""
        self._require_answer(address)
        return self.inside.info(address, submission_id, token)

    def submit(self, address: str, submission: Submission, token: str = "") -> None:
        """See `core.ports.ray_jobs.RayJobs.submit`."""
        self._require_answer(address)
        self.inside.submit(address, submission, token)
        self.up[address].setdefault(submission.submission_id)

    def stop(self, address: str, submission_id: str, token: str = "") -> bool:
        """See `core.ports.ray_jobs.RayJobs.stop`."""
        self._require_answer(address)
        return self.inside.stop(address, submission_id, token)

    def log_tail(self, address: str, submission_id: str, token: str = "") -> str:
        """See `core.ports.ray_jobs.RayJobs.log_tail`."""
        self._require_answer(address)
        return self.inside.log_tail(address, submission_id, token)

    def _require_answer(self, address: str) -> None:
        if address in self.silent:
            raise RayApiUnreachable(self.silent[address])
