"""Jobs (batch/v1) that are given to this controller: each attempt is a Job of its own."""

import pytest

from jobledger.core.errors import RequestInvalid
from jobledger.core.ports.cluster import BATCH_JOBS, Resource
from jobledger.core.values.documents import Manifest, child
from tests.adapters.service.chosen_steps import chosen
from tests.adapters.service.job_lives import JOB_LIVES, Life, retried
from tests.support.crash_points import Fuse, Mode
from tests.support.effectful_steps import knowing_effects
from tests.support.job_status_rules import problems
from tests.support.job_world import JobWorld, a_job


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


def test_a_start_is_taken_as_it_is_shown_by_a_clock_that_is_behind() -> None:
    """As after a failover: another start would be a sign of lost events, and refused for ever."""
    world = JobWorld()
    world.holds = True
    stream = world.give(a_job())
    world.run(lambda: "startTime" in child(world.etl, "status"), "its start is shown")
    start = child(world.etl, "status")["startTime"]
    world.clock.advance(1.0)
    world.clock.set_back(5.0)
    world.cluster.edit(BATCH_JOBS, "ml", "etl", metadata=edited(world.etl, limit="3"))
    world.run(lambda: world.told(stream).count("BatchJobReceived") > 1, "it is looked at again")
    world.holds = False
    world.run(lambda: world.condition("Complete") != "", "the job is complete")
    assert child(world.etl, "status")["startTime"] == start
    assert {"LedgerBehindFound", "StatusWriteFailed"}.isdisjoint(world.told(stream))


def test_what_may_not_change_stays_as_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a ledger has lost its last events: no counter falls, and a start stays."""
    world = JobWorld()
    world.ends = ["Failed"]
    stream = world.give(a_job(retries=0))
    world.run(lambda: world.condition("Failed") != "", "the job has failed")
    patch = world.cluster.merge_patch

    def strictly(
        resource: Resource, namespace: str, name: str, sent: Manifest, *, subresource: str = ""
    ) -> Manifest:
        there = child(world.etl, "status") if resource is BATCH_JOBS and name == "etl" else {}
        found = problems(there, child(sent, "status")) if subresource else []
        if any("falls" in one or one == "startTime changes" for one in found):
            raise RequestInvalid(str(found))
        return patch(resource, namespace, name, sent, subresource=subresource)

    monkeypatch.setattr(world.cluster, "merge_patch", strictly)
    shown = {**child(world.etl, "status"), "failed": 5, "startTime": "2026-11-21T11:59:00Z"}
    world.cluster.edit(BATCH_JOBS, "ml", "etl", status={**shown, "ready": 1})
    world.run(lambda: child(world.etl, "status").get("ready") == 0, "the rest is mended")
    assert child(world.etl, "status") == shown
    assert "StatusWriteFailed" not in world.told(stream)


def edited(job: Manifest, limit: str) -> Manifest:
    annotations = {"jobledger.dev/backoff-limit": limit}
    return {**child(job, "metadata"), "annotations": annotations}


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


@pytest.mark.parametrize(
    ("life", "mode"),
    [*((life, "die before") for life in JOB_LIVES.values()), (retried, "die after")],
)
def test_wherever_it_dies_the_end_is_the_same(life: Life, mode: Mode) -> None:
    """Who dies after a step leaves what somebody leaves who dies before the next."""
    with knowing_effects():
        undisturbed = life(Fuse(steps_only=True))
    end, steps = end_of(undisturbed), list(chosen(undisturbed.fuse.kinds))
    assert len(steps) > 10, "a life of some steps"
    for number in steps:
        world = life(Fuse(number, mode, steps_only=True))
        assert end_of(world) == end, f"call {number}, {mode} {world.fuse.blown}"


def end_of(world: JobWorld) -> tuple[object, ...]:
    """Return what users see at the end, and how many attempts there were."""
    status = child(world.etl, "status")
    return (
        status.get("succeeded", 0),
        status.get("failed", 0),
        world.condition("Complete"),
        len(world.made),
    )
