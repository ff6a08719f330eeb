"""What follows once events are in the log, and in which order."""

from collections.abc import Iterator
from functools import partial, reduce

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.loop.handover import Handover, statuses
from jobledger.adapters.service.work.slots import Slot
from jobledger.adapters.service.work.workers import Lane, Task, Workers
from jobledger.core.decider import Decided
from jobledger.core.jobs.pending.decisions import DecisionKind as Due
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.observations.observations import RayJobObservation, SeenStatus
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.documents import text
from jobledger.core.values.ids import DecisionId, StreamId
from jobledger.core.values.instants import Instant
from tests.adapters.service.turns import a_job, seen
from tests.support.rayjob_builders import (
    HTTP,
    cluster,
    cluster_gone,
    done,
    due,
    manifest,
    manifest_gone,
    named,
    poll,
)
from tests.support.rows import STREAM, Reply
from tests.support.service_world import Service, ServiceWorld


class Recorder(Workers):
    """Workers that note what they are asked for, by the name of the effect or `status`."""

    asked: list[str]

    def submit(self, stream: StreamId, task: Task, lane: Lane = Lane.OTHERS) -> None:
        begun = task.args[1] if isinstance(task, partial) else task  # as `lasting` has it
        effect = getattr(begun, "effect", None)
        self.asked.append(effect.desired.kind.value if effect is not None else "status")
        super().submit(stream, task, lane)


class NotedAlarms:
    """Alarms that note what they are told."""

    def __init__(self) -> None:
        self.woken: list[Instant | None] = []
        self.dealt_with: list[DecisionId] = []

    def start(self, on_due: object) -> None:
        pass

    def wake(self, due_at: Instant | None = None) -> None:
        self.woken.append(due_at)

    def done(self, decision: DecisionId) -> None:
        self.dealt_with.append(decision)

    def stop(self) -> None:
        pass

    def is_alive(self) -> bool:
        return True


def _never(*_: object) -> bool:
    return False


class Desk:
    """One job, decided step by step, each step handed over as a turn does."""

    def __init__(self) -> None:
        self.service: Service = ServiceWorld().service
        given = self.service.handover
        self.workers = Recorder(given.context.clock, 1)
        self.workers.asked = []
        self.alarms = NotedAlarms()
        self.heralded: list[RayJobEvent] = []
        self.handover = Handover(
            context=given.context,
            workers=self.workers,
            publisher=given.publisher,
            followers=given.followers,
            alarms=self.alarms,
            announce=lambda _, events, *__: self.heralded.extend(events),
        )
        self.service.turn._follower = self.handover  # noqa: SLF001 in place of the wired one
        self.service.leases.renew()
        self.service.turn.is_premature = _never  # there is no controller to ask

    def see(self, *what: RayJobObservation | Reply) -> list[str]:
        """Take observations in, each in a turn; return what the workers were asked for."""
        before = len(self.workers.asked)
        for one in what:
            observation = one(self.state) if callable(one) else one
            self.service.inbox.put(STREAM, observation)
            self.service.turn.run_once(wait_seconds=0)
        return self.workers.asked[before:]

    @property
    def state(self) -> RayJobState:
        state = self.service.slots.state(STREAM) or RayJobState()
        assert isinstance(state, RayJobState)
        return state

    @property
    def slot(self) -> Slot:
        slot = self.service.slots.held(STREAM)
        assert slot is not None
        return slot


@pytest.fixture
def desk() -> Desk:
    return Desk()


BUILT = (
    done(EffectKind.ADD_FINALIZER),
    done(EffectKind.CREATE_CLUSTER, uid="cluster-1"),
    cluster(),
)


def test_the_finalizer_comes_first_then_the_status_then_the_rest(desk: Desk) -> None:
    assert desk.see(manifest()) == ["add_finalizer", "status", "create_cluster"]


def test_an_effect_is_asked_for_once_although_several_turns_see_it_open(desk: Desk) -> None:
    desk.see(manifest())
    assert desk.see(manifest(generation=2), manifest(generation=3)) == []
    desk.handover.resume(desk.slot)
    assert desk.workers.asked.count("create_cluster") == 1


def test_an_effect_that_ended_is_forgotten(desk: Desk) -> None:
    desk.see(manifest(), *BUILT[:2])
    assert desk.handover.under_way == {STREAM: {}}


def test_a_status_is_asked_for_once_while_it_waits_to_be_written(desk: Desk) -> None:
    desk.see(manifest(submission_mode=HTTP), *BUILT)
    assert desk.workers.asked.count("status") == 1


def test_after_a_start_what_the_job_waits_for_is_asked_for(desk: Desk) -> None:
    desk.see(manifest())
    desk.handover.under_way.clear()
    desk.handover.publisher.forget(STREAM)
    desk.workers.asked.clear()
    desk.handover.resume(desk.slot)
    assert desk.workers.asked == ["add_finalizer", "status", "create_cluster"]


def test_a_running_job_is_asked_about_and_an_ended_one_is_not(desk: Desk) -> None:
    desk.see(manifest(submission_mode=HTTP), *BUILT, done(EffectKind.SUBMIT_ENTRYPOINT))
    assert desk.service.polls.streams() == [STREAM]
    desk.see(poll("SUCCEEDED"))
    assert desk.service.polls.streams() == []


def test_alarms_are_woken_for_the_earliest_decision_once_polls_are_in_place(desk: Desk) -> None:
    desk.see(manifest(active_deadline_seconds=300, pre_running_deadline_seconds=60))
    (woken,) = desk.alarms.woken
    assert woken == min(item.due_at for item in desk.state.decisions)


def test_alarms_are_told_of_every_decision_that_ended(desk: Desk) -> None:
    desk.see(manifest(active_deadline_seconds=300, pre_running_deadline_seconds=60))
    ids = {item.kind: item.decision_id for item in desk.state.decisions}
    desk.see(due(Due.PRE_RUNNING_DEADLINE))
    assert set(desk.alarms.dealt_with) == set(ids.values()), "one fired, one was cancelled"


def test_whatever_happened_is_heralded(desk: Desk) -> None:
    desk.see(manifest())
    assert len(desk.heralded) == desk.slot.tail.version


def test_of_a_deleted_job_nothing_is_left(desk: Desk) -> None:
    desk.see(manifest(submission_mode=HTTP), *BUILT, done(EffectKind.SUBMIT_ENTRYPOINT))
    under_way = [item for items in desk.handover.under_way.values() for item in items.values()]
    desk.see(manifest_gone())
    assert desk.handover.under_way == {}
    assert desk.service.polls.streams() == desk.handover.publisher.streams() == []
    assert all(effect_task.is_dropped for effect_task in under_way)


def test_of_abandoned_shards_everything_is_dropped_and_of_others_nothing(desk: Desk) -> None:
    desk.see(manifest())
    (effect_tasks,) = desk.handover.under_way.values()
    desk.handover.abandon(frozenset(range(16)) - {desk.slot.shard})
    assert desk.handover.publisher.streams() == [STREAM]
    desk.handover.abandon(frozenset({desk.slot.shard}))
    assert (desk.handover.under_way, desk.handover.publisher.streams()) == ({}, [])
    assert all(effect_task.is_dropped for effect_task in effect_tasks.values())


def test_an_unknown_job_is_nobodys_business(desk: Desk) -> None:
    desk.service.inbox.put(STREAM, manifest_gone())
    desk.service.turn.run_once(wait_seconds=0)
    assert desk.workers.asked == []
    assert a_job("one") not in desk.handover.under_way
    assert seen("one").identity.stream_id == a_job("one")


def taken(*what: RayJobObservation | Reply) -> Iterator[Decided[RayJobState, RayJobEvent]]:
    """Yield what each observation brought."""
    state = RayJobState()
    for one in what:
        decided = RAYJOB.decide(state, one(state) if callable(one) else one)
        yield decided
        state = decided.state


def phases_shown(decided: Decided[RayJobState, RayJobEvent]) -> list[str]:
    shown = statuses(decided.before, decided.states)
    return [text(item, "jobDeploymentStatus") for item in shown]


def test_statuses_are_one_per_phase_and_the_last() -> None:
    steps = list(
        taken(
            manifest(submission_mode=HTTP, backoff_limit=1),
            *BUILT,
            done(EffectKind.SUBMIT_ENTRYPOINT),
            poll("FAILED"),
            due(Due.RETRY),
            cluster_gone(),
        )
    )
    shown = [phases_shown(step) for step in steps]
    assert shown == [
        ["Initializing"],
        ["Initializing"],
        ["Initializing"],
        ["Running"],
        ["Running"],
        ["Retrying"],
        ["Retrying"],
        ["", "Initializing"],
    ]


def test_phases_that_follow_each_other_in_one_turn_are_all_shown() -> None:
    first, *later = taken(manifest(submission_mode=HTTP), *BUILT)
    assert phases_shown(reduce(Decided.then, later, first)) == ["Initializing", "Running"]


def test_nothing_from_before_is_shown_of_a_job_that_was_held_and_let_go_in_one_turn(
    desk: Desk,
) -> None:
    """What waits may be of a past that the log has lost: it would be written over the end."""
    desk.see(manifest(submission_mode=HTTP))
    (box,) = desk.handover.publisher.outboxes.values()
    assert [text(one, "jobDeploymentStatus") for one in box.waiting] == ["Initializing"]
    end = SeenStatus(
        phase="Failed", reason="DeadlineExceeded", failed=1, job_id="j", cluster_name="c"
    )
    shown = replace(manifest(60, submission_mode=HTTP, status=end), written_here=True)
    assert desk.see(named(shown))[-1:] == ["status"]
    told = [type(event).__name__ for event in desk.heralded]
    assert "LedgerBehindFound" in told
    assert desk.state.recorded is None, "it is let go in the same turn"
    (box,) = desk.handover.publisher.outboxes.values()
    assert [text(one, "jobDeploymentStatus") for one in box.waiting] == ["Failed"]
