"""Jobs (batch/v1) that are given to this controller: each attempt is a Job of its own."""

from typing import Any

import pytest

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


def test_a_job_that_fails_is_retried_on_a_new_job_until_one_completes() -> None:
    world = JobWorld()
    world.ends = ["Failed", "Failed"]
    stream = world.give(a_job(retries=2))
    world.run(lambda: world.condition("Complete") != "", "the job is complete")
    assert len(world.made) == 3, "an attempt each"
    assert len(world.attempts()) == 1, "the Job of a failed attempt is deleted, the last one stays"
    (last,) = world.attempts()
    assert "managedBy" not in child(last, "spec")
    assert "ttlSecondsAfterFinished" not in child(last, "spec")
    status = child(world.etl, "status")
    assert (status["succeeded"], status["failed"]) == (1, 2), "Pods, over all attempts"
    told = world.told(stream)
    assert told.count("BatchAttemptStarted") == 3
    assert told.count("BatchRetryGranted") == 2
    assert told.count("EvidenceCaptured") == 0, "this world has nobody who captures any"


def test_without_retries_left_it_has_failed_and_its_last_job_stays() -> None:
    world = JobWorld()
    world.ends = ["Failed"] * 3
    stream = world.give(a_job(retries=1))
    world.run(lambda: world.condition("Failed") != "", "the job has failed")
    assert len(world.made) == 2
    assert len(world.attempts()) == 1
    assert "BatchRetryRefused" in world.told(stream)


def test_an_exceeded_deadline_is_not_retried() -> None:
    world = JobWorld()
    world.ends = ["DeadlineExceeded"]
    world.give(a_job(retries=5))
    world.run(lambda: world.condition("Failed") == "DeadlineExceeded", "the job has failed")
    assert len(world.made) == 1


def test_a_job_of_anybody_else_is_neither_touched_nor_written_down() -> None:
    world = JobWorld()
    theirs = a_job()
    del theirs["spec"]["managedBy"]
    stream = world.give(theirs)
    world.run(lambda: True, "nothing happens")
    assert world.store.read_stream(stream) == []
    assert world.made == []
    assert not child(world.etl, "status")


def test_suspension_is_passed_on_to_the_job_of_the_attempt_and_begins_no_other() -> None:
    world = JobWorld()
    world.holds = True
    world.give(a_job())
    world.run(lambda: child(world.etl, "status").get("ready") == 1, "its Pod is ready")
    spec = dict(child(world.etl, "spec"))
    world.cluster.edit(BATCH_JOBS, "ml", "etl", spec={**spec, "suspend": True})
    world.run(lambda: world.condition("Suspended") != "", "it says that it is suspended")
    (attempt,) = world.attempts()
    assert child(attempt, "spec")["suspend"] is True
    world.cluster.edit(BATCH_JOBS, "ml", "etl", spec={**spec, "suspend": False})
    world.holds = False
    world.run(lambda: world.condition("Complete") != "", "it is complete")
    assert len(world.made) == 1


def test_a_job_of_an_attempt_that_somebody_deletes_is_a_failed_attempt() -> None:
    world = JobWorld()
    world.holds = True
    stream = world.give(a_job(retries=1))
    world.run(lambda: child(world.etl, "status").get("ready") == 1, "its Pod is ready")
    world.cluster.delete(BATCH_JOBS, "ml", world.made[0])
    world.run(lambda: len(world.made) == 2, "another attempt has begun")
    world.holds = False
    world.run(lambda: world.condition("Complete") != "", "it is complete")
    assert world.told(stream).count("BatchAttemptStarted") == 2


def test_what_goes_while_nobody_watches_is_noticed_after_a_restart() -> None:
    world = JobWorld()
    world.holds = True
    world.give(a_job(retries=1))
    world.run(lambda: child(world.etl, "status").get("ready") == 1, "its Pod is ready")
    world.cluster.disconnect()
    world.cluster.delete(BATCH_JOBS, "ml", world.made[0])
    world.restart()
    world.run(lambda: len(world.made) == 2, "another attempt has begun")
    world.holds = False
    world.run(lambda: world.condition("Complete") != "", "it is complete")


def test_a_user_who_deletes_the_job_ends_its_stream() -> None:
    world = JobWorld()
    world.holds = True
    stream = world.give(a_job(retries=3))
    world.run(lambda: child(world.etl, "status").get("ready") == 1, "its Pod is ready")
    world.cluster.delete(BATCH_JOBS, "ml", "etl")
    world.run(lambda: "BatchJobDeleted" in world.told(stream), "its end is written down")
    assert len(world.made) == 1


@pytest.mark.parametrize("dies_after", [1, 2, 3, 5, 8, 13, 21])
def test_wherever_it_dies_the_end_is_the_same(dies_after: int) -> None:
    world = JobWorld()
    world.ends = ["Failed"]
    world.give(a_job(retries=1))
    for _ in range(dies_after):
        world.step()
    world.restart()
    world.run(lambda: world.condition("Complete") != "", "the job is complete")
    assert len(world.made) == 2
    assert child(world.etl, "status")["failed"] == 1
