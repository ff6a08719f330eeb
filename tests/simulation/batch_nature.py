"""The Jobs of attempts and what runs as them, one thing at a time, and what goes wrong."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.instants import rfc3339
from tests.simulation.batch_users import attempts_jobs
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move, Nature


@dataclass
class BatchNature:
    """Kubernetes' own Job controller, with the Pods under it."""

    api: SimulatedApi
    nature: Nature

    def possible(self) -> list[Move]:
        """Return what can happen next."""
        return list(self._of_jobs())

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        return list(self._of_trouble())

    def _of_jobs(self) -> Iterator[Move]:
        for job in attempts_jobs(self.api):
            name, status = text(job, "metadata", "name"), child(job, "status")
            active, ready = bool(number(status, "active")), bool(number(status, "ready"))
            if text(job, "metadata", "deletionTimestamp"):
                yield f"Job {name} goes", partial(self.nature.let_go, BATCH_JOBS, job)
            elif ended(job):
                continue
            elif child(job, "spec").get("suspend") is True:
                if active:
                    yield f"Job {name} is suspended", partial(self._show, job, active=0, ready=0)
            elif not active:
                yield f"Job {name} has a Pod", partial(self._show, job, active=1)
            elif not ready:
                yield f"Job {name} has a ready Pod", partial(self._show, job, active=1, ready=1)
            else:
                good = self.nature.dice.random() < self.nature.success
                end = partial(self._end, job, "" if good else "BackoffLimitExceeded")
                yield f"Job {name}: {'Complete' if good else 'Failed'}", end

    def _of_trouble(self) -> Iterator[Move]:
        for job in attempts_jobs(self.api):
            name, status = text(job, "metadata", "name"), child(job, "status")
            yield f"somebody deletes Job {name}", partial(self.nature.remove, BATCH_JOBS, job)
            if ended(job) or text(job, "metadata", "deletionTimestamp"):
                continue
            yield f"Job {name}: PodFailurePolicy", partial(self._end, job, "PodFailurePolicy")
            yield f"Job {name}: DeadlineExceeded", partial(self._end, job, "DeadlineExceeded")
            if number(status, "ready"):
                failed = (number(status, "failed") or 0) + 1
                yield f"a Pod of Job {name} fails", partial(self._show, job, ready=0, failed=failed)

    def _show(self, job: Manifest, **changed: Any) -> None:  # noqa: ANN401 any JSON
        status: dict[str, Any] = {**child(job, "status"), **changed}
        status.setdefault("startTime", rfc3339(self.nature.now()))
        metadata = child(job, "metadata")
        self.api.replace(BATCH_JOBS, {"metadata": metadata, "status": status}, "status")

    def _end(self, job: Manifest, reason: str) -> None:
        """Let a Job end; without a reason it is complete."""
        counter = "failed" if reason else "succeeded"
        condition = {
            "type": "Failed" if reason else "Complete",
            "status": "True",
            "reason": reason or "CompletionsReached",
            "message": "the Job has ended",
            "lastTransitionTime": rfc3339(self.nature.now()),
        }
        count = (number(job, "status", counter) or 0) + 1
        self._show(job, active=0, ready=0, conditions=[condition], **{counter: count})


def ended(job: Manifest) -> bool:
    """Return whether the Job of an attempt has ended."""
    return bool(items(job, "status", "conditions"))
