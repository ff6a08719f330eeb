"""A ledger that is set back under a service that goes on: it acts on nothing that is lost."""

import itertools
from datetime import timedelta

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.objects.packing import pack_status
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import SHARDS, StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, is_over
from tests.support.service_world import ServiceWorld
from tests.support.set_back import kept
from tests.support.train_world import TrainWorld, torch_runtime


def told(world: ServiceWorld, stream: StreamId) -> list[str]:
    return [item.record.type for item in world.store.read_stream(stream)]


def running(**spec: object) -> tuple[ServiceWorld, StreamId]:
    world = ServiceWorld()
    world.plane.holds = True
    fields = {"submissionMode": HTTP, "shutdownAfterJobFinishes": True, **spec}
    stream = world.create(a_rayjob(**fields))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    return world, stream


def made(world: ServiceWorld) -> list[str]:
    """Return the RayClusters that were ever made, in order."""
    return [item[2] for item in world.cluster.writes if item[:2] == ("create", "rayclusters")]


def test_an_end_that_is_lost_is_noticed_without_any_news_of_the_job() -> None:
    world, stream = running(activeDeadlineSeconds=60)
    set_back = kept(world.store, world.lease_table)
    world.plane.holds = False
    world.run(lambda: is_over(world, stream), "the job to be over")
    ended = dict(child(world.job("train"), "status"))
    set_back()
    world.service.controller.keep_leases()
    world.run(lambda: "RecoveredFromCluster" in told(world, stream), "it is taken over")
    world.clock.advance(3600)
    world.run(lambda: is_over(world, stream), "it is over again")
    assert world.phase("train") == "Complete"
    assert child(world.job("train"), "status")["endTime"] == ended["endTime"]
    assert len(made(world)) == 1
    assert "DecisionFired" not in told(world, stream)[-3:]


def test_a_deadline_of_the_lost_past_does_not_end_a_job_that_is_over() -> None:
    world, stream = running(activeDeadlineSeconds=60)
    set_back = kept(world.store, world.lease_table)
    world.plane.holds = False
    world.run(lambda: is_over(world, stream), "the job to be over")
    set_back()
    world._renewed = float("inf")  # noqa: SLF001 it falls due before anybody has looked at the log
    world.clock.advance(3600)
    world.run(lambda: "LedgerBehindFound" in told(world, stream), "it is held")
    world._renewed = 0.0  # noqa: SLF001 and then somebody does
    world.run(lambda: "RecoveredFromCluster" in told(world, stream), "it is taken over")
    world.run(lambda: is_over(world, stream), "it is over again")
    assert world.phase("train") == "Complete"
    assert "JobFailed" not in told(world, stream)


@pytest.mark.parametrize("unanswered", [0, 1, 2])
def test_nor_does_one_that_fell_due_before_the_loss_was_noticed(
    unanswered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits in the inbox already when everything is read anew.

    And goes on waiting while the ledger does not answer the first, or the second, question how far
    it goes.
    """
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    stream = world.train(activeDeadlineSeconds=60)
    world.run(lambda: "TrainAttemptStarted" in told(world, stream), "the job to run")
    set_back = kept(world.store, world.lease_table)
    world.jobsets.holds = False
    world.run(lambda: "DecisionCancelled" in told(world, stream), "the job to be over")
    world.run(world.is_so("Complete"), "users see it")
    set_back()
    world.clock.advance(3600)
    while world.service.alarms.run_once():  # type: ignore[attr-defined]  # stepped ones
        pass
    world.service.controller.keep_leases()
    asked, answer = itertools.count(1), world.store.last_position

    def last_position() -> int:
        if next(asked) == unanswered:
            raise LedgerUnavailable("it does not answer")
        return answer()

    monkeypatch.setattr(world.store, "last_position", last_position)
    world.run(lambda: "RecoveredFromCluster" in told(world, stream), "it is taken over")
    assert next(asked) > unanswered
    assert (world.condition("Complete")[0], world.condition("Failed")[0]) == ("True", "")
    assert "TrainJobFailed" not in told(world, stream)


def test_nothing_is_held_before_the_leases_are_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was held before is of the lost past: another may hold it by the ledger of now."""
    world, _ = running()
    set_back = kept(world.store, world.lease_table)
    world.cluster.merge_patch(RAYJOBS, "ml", "train", {"spec": {"backoffLimit": 3}})
    world.run(lambda: True, "the edit to be in the log")
    set_back()

    def acquire(*_: object) -> object:
        raise LedgerUnavailable("it does not answer")

    with monkeypatch.context() as outage:
        outage.setattr(world.lease_table, "acquire", acquire)
        world.service.controller.renew_leases()
        assert world.service.leases.held() == {}
    world.service.controller.renew_leases()
    assert len(world.service.leases.held()) == SHARDS


def test_a_change_of_the_runtime_that_is_lost_is_noticed_anew() -> None:
    """Else a build that fails for good is tried again for ever, as if the change still came."""
    world = TrainWorld()
    world.install_runtime()
    stream = world.train(trainer={"env": [{"name": "PET_NNODES", "value": "9"}]})
    world.run(lambda: "JobsBuildFailed" in told(world, stream), "the build to fail")
    set_back = kept(world.store, world.lease_table)
    runtime = torch_runtime()
    runtime["spec"]["mlPolicy"]["numNodes"] = 3
    world.install_runtime(runtime)
    world.run(lambda: told(world, stream).count("JobsBuildFailed") == 2, "it to fail again")
    set_back()
    world.service.controller.keep_leases()
    world.run(lambda: "RecoveredFromCluster" in told(world, stream), "it is taken over")
    world.run(lambda: True, "nothing is left to do")
    (row,) = world.history.jobs(JobFilter(), 2)
    waiting = [one for one in world.history.decisions(row.stream_id) if one.state == "pending"]
    assert waiting == []


def test_a_retry_that_is_lost_goes_on_on_its_raycluster() -> None:
    world, stream = running(backoffLimit=1)
    set_back = kept(world.store, world.lease_table)
    world.exit_codes.append(1)
    world.plane.holds = False

    def second_runs() -> bool:
        world.plane.holds = len(made(world)) > 1
        return len(made(world)) == 2 and world.phase("train") == "Running"

    world.run(second_runs, "the second attempt to run")
    set_back()
    world.service.controller.keep_leases()
    world.run(lambda: "RecoveredFromCluster" in told(world, stream), "it is taken over")
    alive = [
        child(item, "metadata")["name"] for item in world.cluster.list(RAYCLUSTERS, "ml").items
    ]
    assert alive == made(world)[1:]
    world.plane.holds = False
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert world.phase("train") == "Complete"
    assert child(world.job("train"), "status")["failed"] == 1
    assert len(made(world)) == 2


@pytest.mark.parametrize("news", [0, 5])
def test_a_ledger_that_only_lost_the_connection_is_not_read_anew(news: int) -> None:
    world, stream = running()
    for _ in range(news):
        world.clock.advance(1)
        world.step()
    before = told(world, stream)
    world.service.controller.keep_leases()
    world.run(lambda: True, "nothing is left to do")
    assert told(world, stream) == before


def test_a_held_job_waits_until_the_watch_has_told_what_was_written_last() -> None:
    """What it shows may be older than the end that this very process has written."""
    world, stream = running(shutdownAfterJobFinishes=False)
    set_back = kept(world.store, world.lease_table)
    world.plane.holds = False
    world.run(lambda: world.phase("train") == "Complete", "users see the end")
    world.plane.holds = True
    live, uid = world.service.live, child(world.job("train"), "metadata")["uid"]
    newest = int(str(child(world.job("train"), "metadata")["resourceVersion"])) + 100
    live.note_version(str(uid), str(newest))
    job = live.job(str(uid))
    assert job is not None
    live.put_job(replace(job, shown=pack_status({"status": {"jobDeploymentStatus": "Running"}})))
    set_back()
    world.service.controller.keep_leases()
    world.run(lambda: "LedgerBehindFound" in told(world, stream), "it is held")
    world.clock.advance(2)
    world.run(lambda: True, "it is looked at again")
    assert "RecoveredFromCluster" not in told(world, stream)
    live.put_job(replace(job, version=str(newest), told=str(newest), shown=job.shown))
    world.clock.advance(2)
    world.run(lambda: "RecoveredFromCluster" in told(world, stream), "it is taken over")
    assert world.phase("train") == "Complete"


def test_a_job_in_no_log_is_asked_for_before_what_a_watch_shows_of_it_is_decided_on() -> None:
    """Else one that has ended would run again, as its watch shows it from before it began."""
    world = ServiceWorld()
    set_back = kept(world.store, world.lease_table)
    stream = world.create(a_rayjob(submissionMode=HTTP, shutdownAfterJobFinishes=True))
    world.run(lambda: world.phase("train") == "Complete", "the job to be over")
    world.run(lambda: is_over(world, stream), "nothing is left to do")
    show_from_before(world.service.live, world.job("train"))
    set_back()
    world.clock.advance(60)
    world.service.controller.keep_leases()
    world.run(lambda: "RecoveredFromCluster" in told(world, stream), "it is taken over")
    assert "EffectRequested" not in told(world, stream)
    assert world.phase("train") == "Complete"
    assert len(made(world)) == 1


def test_nor_is_what_it_shows_of_a_trainjob() -> None:
    world = TrainWorld()
    world.install_runtime()
    set_back = kept(world.store, world.lease_table)
    stream = world.train()
    world.run(world.is_so("Complete"), "users see the end")
    show_from_before(world.service.live, world.trainjob)
    set_back()
    world.clock.advance(60)
    world.service.controller.keep_leases()
    world.run(lambda: "RecoveredFromCluster" in told(world, stream), "it is taken over")
    assert "EffectRequested" not in told(world, stream)
    assert world.condition("Complete")[0] == "True"


def show_from_before(live: ObjectCache, job: Manifest) -> None:
    """Let a job show no status yet, as by a watch that lags."""
    known = live.job(text(job, "metadata", "uid"))
    assert known is not None
    live.put_job(replace(known, shown=pack_status({}), phase="", told="", observed_generation=0))


def test_nothing_of_the_lost_past_is_kept_where_others_hold_every_shard_by_now() -> None:
    world, _ = running()
    set_back = kept(world.store, world.lease_table)
    for _ in range(3):
        world.clock.advance(20)
        world.service.controller.renew_leases()
    world.cluster.merge_patch(RAYJOBS, "ml", "train", {"metadata": {"labels": {"a": "b"}}})
    world.cluster.merge_patch(RAYJOBS, "ml", "train", {"spec": {"backoffLimit": 3}})
    world.run(lambda: True, "the edit to be in the log")
    set_back()
    world.lease_table.release("a/1")
    world.lease_table.acquire("b/1", timedelta(hours=1), SHARDS)
    world.service.controller.keep_leases()
    world.service.controller.renew_leases()
    world.service.step()
    assert world.service.leases.held() == {}
    assert len(world.service.slots) == 0


def test_nobody_is_told_that_an_empty_status_was_published() -> None:
    """A merge of nothing changes nothing: users go on seeing what the last try had failed by."""
    world = TrainWorld()
    stream = world.train()
    while "EffectRequested" not in told(world, stream):
        world.step()
    set_back = kept(world.store, world.lease_table)
    world.run(world.is_so("Created", "False"), "the build to fail, as there is no runtime")
    set_back()
    world.restart()
    world.run(lambda: "JobsBuildFailed" in told(world, stream), "it is tried again")
    shown = [
        item.record.data["phase"]
        for item in world.store.read_stream(stream)
        if item.record.type == "StatusPublished"
    ]
    assert "" not in shown
