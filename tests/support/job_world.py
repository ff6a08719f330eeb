"""A world with batch Jobs that are given to this controller, and what runs those of attempts."""

from typing import Any

from jobledger.adapters.service.observing.mapper import identify
from jobledger.core.catalogue import NAMES, read_event
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.support.service_world import DOOR, ServiceWorld

MANAGED_BY = "jobledger.dev/job-controller"
ENDED_AT = "2026-11-21T12:30:00Z"


def a_job(*, retries: int = 0, **spec: Json) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "etl",
            "namespace": "ml",
            "annotations": {"jobledger.dev/backoff-limit": str(retries)},
        },
        "spec": {
            "managedBy": MANAGED_BY,
            "ttlSecondsAfterFinished": 60,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "etl:1"}],
                }
            },
            **spec,
        },
    }


class JobWorld(ServiceWorld):
    """A service that controls Jobs, beside Kubernetes' own controller for those of attempts."""

    def __post_init__(self) -> None:
        self.job_kinds = ("RayJob", "Job")
        self.ends: list[str] = []
        """How attempts end, one after the other: Failed, or the reason of that; then Complete."""
        self.holds = False
        self.made: list[str] = []
        super().__post_init__()

    def give(self, manifest: Manifest) -> StreamId:
        """Create a user's Job; return its stream."""
        made = self.cluster.create(BATCH_JOBS, manifest)
        return identify(DOOR.cluster, made).stream_id

    def step(self) -> bool:
        """Let everybody do one thing."""
        moved = super().step()
        ran = [self._run(job) for job in self.attempts()]
        return any(ran) or moved

    def attempts(self) -> list[Manifest]:
        """Return the Jobs of attempts that are there."""
        return [
            job
            for job in self.cluster.peek(BATCH_JOBS)
            if text(job, "metadata", "labels", "jobledger.dev/job")
        ]

    def _run(self, job: Manifest) -> bool:
        name, status = text(job, "metadata", "name"), child(job, "status")
        if name not in self.made:
            self.made.append(name)
        if status.get("conditions") or text(job, "metadata", "deletionTimestamp"):
            return False
        suspended = child(job, "spec").get("suspend") is True
        now: dict[str, Json] = {"active": 0} if suspended else {"active": 1, "ready": 1}
        if not suspended and status.get("active") and not self.holds:
            end = self.ends.pop(0) if self.ends else "Complete"
            kind = "Complete" if end == "Complete" else "Failed"
            reason = "" if end in ("Complete", "Failed") else end
            counter = "succeeded" if kind == "Complete" else "failed"
            condition: Json = {
                "type": kind,
                "status": "True",
                "reason": reason or "BackoffLimitExceeded",
                "message": "as the test has it",
                "lastTransitionTime": ENDED_AT,
            }
            now = {"active": 0, counter: 1, "conditions": [condition]}
        elif {key: status.get(key) for key in now} == now:
            return False
        self.cluster.edit(BATCH_JOBS, "ml", name, status=now)
        return True

    @property
    def etl(self) -> Manifest:
        """The user's Job, empty if there is none."""
        return self.cluster.get(BATCH_JOBS, "ml", "etl") or {}

    def condition(self, kind: str) -> str:
        """Return the reason of a condition that is True; empty if none is."""
        for item in items(self.etl, "status", "conditions"):
            if text(item, "type") == kind and text(item, "status") == "True":
                return text(item, "reason")
        return ""

    def told(self, stream: StreamId) -> list[str]:
        """Return the names of the events of a job."""
        return [NAMES[type(read_event(item.record))] for item in self.store.read_stream(stream)]
