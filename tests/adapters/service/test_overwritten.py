"""What others write over a status is written anew: at once, and ever more rarely in a fight."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from jobledger.adapters.service.status.drift import CALM_SECONDS, PAUSE_MAX_SECONDS, Kept
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.observations import StatusWritten
from jobledger.core.log.chain import data_sha
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.desk import Desk, a_status
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, assert_whole, is_let_go
from tests.support.service_world import ServiceWorld


class WatchedDesk(Desk):
    """A desk whose watch tells the publisher, as the wiring has it."""

    def told(self, manifest: Manifest) -> None:
        """Let the watch tell of a version of the job."""
        metadata = child(manifest, "metadata")
        self.see(manifest)
        task = self.publisher.seen(
            self.a_job.identity.stream_id,
            text(metadata, "resourceVersion"),
            child(manifest, "status"),
        )
        if task is not None:
            self.tasks.append(task)

    def overwrite(self, status: Manifest) -> None:
        """Let somebody else write the status, and the watch tell it."""
        self.told(self.cluster.edit(RAYJOBS, "ml", "train", status=status))


@pytest.fixture
def desk() -> WatchedDesk:
    """Return a desk at which a job runs, as users can see."""
    made = WatchedDesk()
    made.offer(a_status("Running"))
    made.work()
    return made


def test_an_overwritten_status_is_written_anew_at_once(desk: WatchedDesk) -> None:
    desk.overwrite({"jobDeploymentStatus": "Failed", "reason": "of another"})
    assert desk.work() == []
    assert desk.shown() == a_status("Running")


def test_so_is_one_that_was_emptied(desk: WatchedDesk) -> None:
    desk.overwrite({})
    assert desk.work() == []
    assert desk.shown() == a_status("Running")


def test_our_own_writes_told_by_the_watch_are_no_news(desk: WatchedDesk) -> None:
    desk.told(desk.cluster.get(RAYJOBS, "ml", "train") or {})
    assert desk.tasks == []


def test_what_others_keep_beside_our_fields_is_theirs(desk: WatchedDesk) -> None:
    desk.overwrite({**a_status("Running"), "foreign": "kept"})
    known = desk.cluster.get(RAYJOBS, "ml", "train") or {}
    metadata = {**child(known, "metadata"), "labels": {"team": "vision"}}
    desk.told(desk.cluster.edit(RAYJOBS, "ml", "train", metadata=metadata))
    assert desk.tasks == []


def test_what_the_crd_prunes_is_not_missed() -> None:
    desk = WatchedDesk()
    desk.cluster.prune("failed")
    desk.offer(a_status("Running"))
    desk.work()
    known = desk.cluster.get(RAYJOBS, "ml", "train") or {}
    desk.overwrite({**child(known, "status"), "foreign": "x"})
    assert desk.tasks == []


def test_the_log_knows_a_status_by_what_was_kept_of_it() -> None:
    """Else the next run would take what an older definition has pruned for another's."""
    desk = WatchedDesk()
    desk.cluster.prune("failed")
    desk.offer(a_status("Running", failed=1))
    desk.work()
    (told,) = desk.said()
    assert isinstance(told, StatusWritten)
    assert "failed" not in desk.shown()
    assert told.status_sha == data_sha(desk.shown()).hex()


def test_a_watch_that_is_quicker_than_the_answer_tells_no_overwriting(desk: WatchedDesk) -> None:
    def tells(*args: Any, **kwargs: Any) -> Manifest:  # noqa: ANN401 passes everything on
        answer = maybe(*args, **kwargs)
        desk.told(answer)
        return answer

    maybe: Callable[..., Manifest] = desk.cluster.apply
    desk.cluster.apply = tells  # type: ignore[method-assign]  # the watch is quick
    desk.offer(a_status("Retrying"))
    assert desk.work() == []
    assert desk.written() == ["Running", "Retrying"]


def test_what_is_overwritten_while_a_write_is_under_way_is_mended_after_it(
    desk: WatchedDesk,
) -> None:
    def tells(*args: Any, **kwargs: Any) -> Manifest:  # noqa: ANN401 passes everything on
        answer = maybe(*args, **kwargs)
        desk.cluster.apply = maybe  # type: ignore[method-assign]  # once
        desk.overwrite({"jobDeploymentStatus": "Waiting"})
        return answer

    maybe: Callable[..., Manifest] = desk.cluster.apply
    desk.cluster.apply = tells  # type: ignore[method-assign]  # somebody is quick
    desk.offer(a_status("Retrying"))
    assert desk.work() == []
    assert desk.shown() == a_status("Retrying")


def test_with_another_writer_there_is_no_fight(desk: WatchedDesk) -> None:
    """The pauses double; so a day sees some three hundred writes, and not millions."""
    pauses = []
    for _ in range(14):
        desk.overwrite({"jobDeploymentStatus": "Failed"})
        pauses += [desk.work() or [0.0]]
        desk.clock.advance(sum(pauses[-1]))
        assert desk.work() == []
        assert desk.shown() == a_status("Running")
    waited = [pause for (pause,) in pauses]
    assert waited == sorted(waited)
    assert (waited[0], waited[-1]) == (0.0, PAUSE_MAX_SECONDS)
    desk.clock.advance(CALM_SECONDS + 1)
    desk.overwrite({})
    assert desk.work() == []


def test_news_of_the_job_is_not_held_up_by_a_fight(desk: WatchedDesk) -> None:
    pauses: list[float] = []
    for _ in range(3):
        desk.overwrite({"jobDeploymentStatus": "Failed"})
        pauses = desk.work()
    assert pauses == [1.0]
    desk.offer(a_status("Complete"))
    assert desk.work() == []
    assert desk.shown() == a_status("Complete")


def test_nothing_is_known_of_a_status_that_nobody_here_has_written() -> None:
    kept = Kept()
    kept.see("7", {"jobDeploymentStatus": "Running"})
    assert not kept.is_drifted()


def test_what_was_seen_before_etcd_went_back_is_no_overwriting() -> None:
    """Else the same would be written for ever: an earlier version can be later than all seen."""
    theirs, ours = {"jobDeploymentStatus": "Waiting"}, {"jobDeploymentStatus": "Running"}
    kept = Kept()
    kept.see("900", theirs)
    kept.sends(ours)
    kept.note("101", ours, b"meant")
    assert not kept.is_drifted()
    kept.see("102", theirs)
    assert kept.is_drifted()


def test_what_is_shown_once_etcd_went_back_is_mended() -> None:
    """Its versions are before ours, and stay so for long."""
    theirs, ours = {"jobDeploymentStatus": "Waiting"}, {"jobDeploymentStatus": "Running"}
    kept = Kept()
    kept.sends(ours)
    kept.note("900", ours, b"meant")
    kept.see("101", theirs)
    assert not kept.is_drifted(), "told late"
    kept.see("101", theirs, went_back=True)
    assert kept.is_drifted()
    kept.see("102", ours)
    assert not kept.is_drifted()


def test_what_is_told_while_a_write_is_under_way_is_overwriting() -> None:
    theirs, ours = {"jobDeploymentStatus": "Waiting"}, {"jobDeploymentStatus": "Running"}
    kept = Kept()
    kept.sends(ours)
    kept.see("102", theirs)
    kept.note("101", ours, b"meant")
    assert kept.is_drifted()


def over(**spec: object) -> tuple[ServiceWorld, StreamId]:
    """Return a world with a job that has ended."""
    world = ServiceWorld()
    stream = world.create(a_rayjob(submissionMode=HTTP, **spec))
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert world.phase("train") == "Complete"
    return world, stream


@pytest.mark.parametrize("is_new_process", [False, True])
def test_the_end_of_a_job_stays_to_be_seen(is_new_process: bool) -> None:
    """Also for a process that has not written it."""
    world, stream = over()
    if is_new_process:
        world.restart()
        assert world.service.handover.publisher.remembered() == []
        world.run(lambda: is_let_go(world, stream), "the start to be over")
    ended = child(world.job("train"), "status")
    for theirs in ({"jobDeploymentStatus": "Running"}, {}, {**ended, "failed": 7}):
        world.cluster.edit(RAYJOBS, "ml", "train", status=theirs)
        world.run(lambda: child(world.job("train"), "status") == ended, "it to be mended")
    assert is_let_go(world, stream)


def test_what_does_not_concern_us_brings_no_write_to_a_job_that_has_ended() -> None:
    world, stream = over()
    ended = child(world.job("train"), "status")
    before = len(world.cluster.statuses)
    world.cluster.edit(RAYJOBS, "ml", "train", status={**ended, "foreign": "x"})
    world.run(lambda: is_let_go(world, stream), "it to be looked at")
    assert len(world.cluster.statuses) == before


def test_a_running_job_is_mended_though_nothing_happens_to_it() -> None:
    world = ServiceWorld()
    world.plane.holds = True
    world.create(a_rayjob(submissionMode=HTTP))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    theirs: Manifest = {"status": {"jobDeploymentStatus": "Complete"}}
    world.cluster.patch_as("kubectl-edit", RAYJOBS, "ml", "train", theirs, subresource="status")
    world.run(lambda: world.phase("train") == "Running", "it to be mended")


def test_jobs_of_another_controller_are_left_alone() -> None:
    world = ServiceWorld()
    world.create(a_rayjob(managedBy="kueue.x-k8s.io/multikueue"))
    for phase in ("Running", "Complete"):
        world.cluster.edit(RAYJOBS, "ml", "train", status={"jobDeploymentStatus": phase})
        for _ in range(20):
            world.step()
    assert world.cluster.statuses == []
    assert world.service.handover.publisher.remembered() == []


def test_the_copy_of_a_raycluster_that_went_while_nobody_watched_is_not_written_again() -> None:
    world, stream = over()
    shown = child(world.job("train"), "status")
    assert shown["rayClusterStatus"]
    world.cluster.disconnect()
    world.cluster.delete(RAYCLUSTERS, "ml", text(shown, "rayClusterName"))
    world.service = world.start_service()
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    assert child(world.job("train"), "status") == shown
    assert_whole(world, stream)


def test_a_ledger_that_could_not_be_read_once_is_no_trouble_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, _ = over()
    controller, slots = world.service.controller, world.service.slots
    load, troubles = slots.load, list[list[str]]()

    def fails_once(streams: Iterable[StreamId]) -> None:
        wanted = list(streams)
        if wanted and not troubles:
            troubles.append([])
            raise LedgerUnavailable("connection refused")
        load(wanted)

    def waits(seconds: float) -> bool:
        world.clock.advance(seconds)
        troubles.append(controller.waits_for())
        return False

    monkeypatch.setattr(slots, "load", fails_once)
    monkeypatch.setattr(controller._parts.stopping, "wait", waits)  # noqa: SLF001 it must not sleep
    ended = child(world.job("train"), "status")
    world.cluster.edit(RAYJOBS, "ml", "train", status={**ended, "jobDeploymentStatus": "Running"})
    world.run(lambda: child(world.job("train"), "status") == ended, "the status to be mended")
    assert troubles == [[], ["the ledger is not available"]]
    assert controller.waits_for() == []
