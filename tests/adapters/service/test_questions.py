"""Questions to the API server that stay without an answer: one at a time, less and less often."""

from collections.abc import Callable
from uuid import UUID

import pytest

from jobledger.adapters.service.work.questions import (
    PAUSE_FIRST_SECONDS,
    PAUSE_MAX_SECONDS,
    Questions,
)
from jobledger.adapters.service.work.workers import Workers
from jobledger.core.errors import ClusterUnreachable, RequestForbidden
from jobledger.core.jobs.observations import DecisionDue
from jobledger.core.ports.cluster import JOBSETS, RAYCLUSTERS, Resource
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP
from tests.adapters.service.test_replicas import TwoReplicas
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

STREAM = StreamId(UUID(int=7))
MINUTES = 60


class Asked:
    """Someone who asks, and workers who carry it there."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.workers = Workers(self.clock, 1)
        self.workers.open_gate()
        self.epoch: int | None = 1
        self.is_wanted = True
        self.passed_over: list[StreamId] = []
        self.questions = Questions(self.workers, lambda _: self.epoch, self.passed_over.append)
        self.asked: list[str] = []
        self.answer: Callable[[], bool] = lambda: False

    def ask(self, about: str = "a cluster", name: str = "first") -> None:
        def question() -> bool:
            self.asked.append(name)
            return self.answer()

        self.questions.ask(STREAM, about, question, lambda: self.is_wanted)

    def work(self, seconds: float = 0.0) -> None:
        self.clock.advance(seconds)
        while self.workers.run_once():
            pass


def test_the_same_is_asked_once_at_a_time() -> None:
    one = Asked()
    one.ask()
    one.ask()
    one.ask("another cluster", "second")
    one.work()
    assert one.asked == ["first", "second"]
    assert len(one.workers) == 2


def test_what_is_not_asked_as_the_shard_is_not_held_is_noted() -> None:
    """The shard may be back under the same epoch before anybody looks: then it is read anew."""
    one = Asked()
    one.ask()
    one.epoch = None
    one.work()
    assert (one.asked, one.passed_over) == ([], [STREAM])


def test_nothing_is_noted_of_what_another_epoch_begins_anew() -> None:
    one = Asked()
    one.ask()
    one.epoch = 2
    one.work()
    assert (one.asked, one.passed_over) == ([], [])


def test_what_was_answered_may_be_asked_again() -> None:
    one = Asked()
    one.answer = lambda: True
    one.ask()
    one.work()
    assert (len(one.workers), one.questions.under_way) == (0, {})
    one.ask()
    one.work()
    assert one.asked == ["first", "first"]


def test_it_is_asked_again_after_pauses_that_grow_to_a_limit() -> None:
    one = Asked()
    one.ask()
    one.work()
    pause = PAUSE_FIRST_SECONDS
    for _ in range(10):
        before = len(one.asked)
        one.work(pause - 0.001)
        assert len(one.asked) == before
        one.work(0.001)
        assert len(one.asked) == before + 1
        pause = min(pause * 2, PAUSE_MAX_SECONDS)


def test_a_shard_that_comes_back_brings_a_new_question_and_the_old_one_ends() -> None:
    one = Asked()
    one.ask(name="old")
    one.work()
    one.epoch = None
    one.epoch = 3
    one.ask(name="new")
    one.work(PAUSE_MAX_SECONDS)
    assert one.asked == ["old", "new"]
    assert len(one.workers) == 1
    one.ask(name="newer")
    assert len(one.workers) == 1, "the new one is under way still"


def test_of_a_shard_that_was_lost_nothing_more_is_asked() -> None:
    one = Asked()
    one.ask()
    one.work()
    one.epoch = None
    one.work(PAUSE_MAX_SECONDS)
    assert (one.asked, len(one.workers), one.questions.under_way) == (["first"], 0, {})


def test_what_nobody_wants_to_know_any_more_is_let_go() -> None:
    one = Asked()
    one.ask()
    one.work()
    one.is_wanted = False
    one.work(PAUSE_MAX_SECONDS)
    assert (len(one.workers), one.questions.under_way) == (0, {})


def test_a_question_that_breaks_may_be_asked_anew() -> None:
    one = Asked()

    def broken() -> bool:
        raise ValueError("a bug")

    one.answer = broken
    one.ask()
    one.work()
    one.answer = lambda: True
    one.ask()
    one.work()
    assert one.asked == ["first", "first"]


def refuse(
    world: ServiceWorld, refused: Resource, error: Exception, patch: pytest.MonkeyPatch
) -> list[str]:
    """Let a kind of object be unreadable; return the names that are asked for from now on."""
    asked: list[str] = []
    get = world.cluster.get

    def refusing(resource: Resource, namespace: str, name: str) -> Manifest | None:
        if resource != refused:
            return get(resource, namespace, name)
        asked.append(name)
        raise error

    patch.setattr(world.cluster, "get", refusing)
    return asked


def test_an_object_that_may_not_be_read_is_looked_for_by_one_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=HTTP))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    service = world.service
    (shown,) = world.cluster.peek(RAYCLUSTERS)
    service.live.drop_child("RayCluster", text(shown, "metadata", "uid"))
    with monkeypatch.context() as outage:
        asked = refuse(world, RAYCLUSTERS, RequestForbidden("no"), outage)
        for _ in range(MINUTES):
            service.controller.look_around()
            for _ in range(12):
                world.clock.advance(5)
                service.controller.renew_leases()
                while service.workers.run_once():
                    pass
        assert len(service.workers) == 1
        assert 0 < len(asked) < 3 * MINUTES
    world.cluster.delete(RAYCLUSTERS, "ml", text(shown, "metadata", "name"))
    world.run(
        lambda: "ClusterVanished" in [e.record.type for e in world.store.read_stream(stream)],
        "the loss to be told",
    )


def test_of_a_job_that_is_no_longer_known_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    stream = world.train(activeDeadlineSeconds=30)
    world.run(lambda: bool(text(world.jobset, "metadata", "uid")), "the JobSet to be there")
    world.run(lambda: len(world.service.workers) == 0, "everything to be made")
    (row,) = world.history.decisions(stream)
    service = world.service
    service.live.drop_child("JobSet", text(world.jobset, "metadata", "uid"))
    asked = refuse(world, JOBSETS, ClusterUnreachable("no answer"), monkeypatch)
    service.controller._on_due(row)  # noqa: SLF001 as the alarms do
    service.controller.look_around()
    for known in (True, False):
        asked.clear()
        if not known:
            service.slots.drop([stream])
        world.clock.advance(PAUSE_MAX_SECONDS)
        service.controller.renew_leases()
        while service.workers.run_once():
            pass
        assert len(asked) == 2, "for the deadline, and because no watch shows it"
    assert len(service.workers) == 0


def test_a_shard_that_was_lost_and_came_back_is_looked_after_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At once, not after the pause of the question from before."""
    two = TwoReplicas()
    two.create()
    two.settle(two.a, two.b)
    (shown,) = two.world.cluster.peek(RAYCLUSTERS)
    two.a.live.drop_child("RayCluster", text(shown, "metadata", "uid"))
    asked = refuse(two.world, RAYCLUSTERS, RequestForbidden("no"), monkeypatch)
    two.a.controller.look_around()
    two.settle(two.a)
    assert len(asked) == 1
    two.hand_over()
    two.give_back()
    two.settle(two.a)
    assert len(asked) == 2
    assert len(two.a.workers) == 1
    two.pass_by(PAUSE_MAX_SECONDS, two.a)
    two.settle(two.a)
    assert len(asked) == 3, "one question, not two"


def test_before_a_deadline_one_task_looks_and_once_it_is_answered_the_deadline_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    stream = world.train(activeDeadlineSeconds=30)
    world.run(lambda: bool(world.history.decisions(stream)), "the deadline to be known")
    world.run(lambda: len(world.service.workers) == 0, "everything to be made")
    (row,) = world.history.decisions(stream)
    service = world.service
    world.clock.advance(31)
    service.controller.renew_leases()
    with monkeypatch.context() as outage:
        asked = refuse(world, JOBSETS, ClusterUnreachable("no answer"), outage)
        for _ in range(MINUTES):
            service.controller._on_due(row)  # noqa: SLF001 as the alarms do, again and again
            world.clock.advance(PAUSE_MAX_SECONDS)
            service.controller.renew_leases()
            while service.workers.run_once():
                pass
        assert len(service.workers) == 1
        assert 0 < len(asked) <= MINUTES + 1
        assert [item for _, item in service.inbox.take(1000, 0)] == []
    world.clock.advance(PAUSE_MAX_SECONDS)
    service.controller.renew_leases()
    assert service.workers.run_once()
    *_, (_, due) = service.inbox.take(1000, 0)
    assert isinstance(due, DecisionDue)
    assert (due.decision_id, due.looked) == (row.decision_id, True)
    assert len(service.workers) == 0
