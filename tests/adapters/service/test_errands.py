"""From an effect to its outcome: when it is tried, when again, and what is told."""

from dataclasses import replace
from typing import Any

import pytest

from jobledger.adapters.kinds.rayjob.acting.effects import UNSHOWN
from jobledger.adapters.service.control.control_policy import FIRST_SIGHT, ControlPolicy
from jobledger.adapters.service.effects.carrying_out import (
    HEAD_PAUSE_MAX_SECONDS,
    LEASE_PAUSE_SECONDS,
    PAUSE_FIRST_SECONDS,
    PAUSE_MAX_SECONDS,
    UNSHOWN_FIRST_SECONDS,
    UNSHOWN_MAX_SECONDS,
    UNSHOWN_TOLD_AFTER,
    EffectTask,
)
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.core.errors import (
    ClusterUnreachable,
    ObjectExists,
    RequestForbidden,
    RequestInvalid,
    RequestThrottled,
)
from jobledger.core.jobs.observations import EffectEnded
from jobledger.core.jobs.pending.effects import EffectKind, Outcome
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.values.documents import child
from jobledger.core.values.instants import rfc3339
from tests.adapters.service.parts import SECRET, Bench, a_rayjob
from tests.rules.rayjob.jobs import HEAD_ENV
from tests.support.records import NOON

CREATE, STOP = EffectKind.CREATE_CLUSTER, EffectKind.STOP_ENTRYPOINT


class Refusing(Bench):
    """An API server that answers creations with these errors before it takes one."""

    def refuse(self, *errors: Exception) -> None:
        waiting, create = list(errors), self.cluster.create

        def refusing(*args: Any) -> Any:  # noqa: ANN401 passes everything on
            if waiting:
                raise waiting.pop(0)
            return create(*args)

        self.cluster.create = refusing  # type: ignore[method-assign,assignment]  # a refusal

    def told(self) -> list[tuple[Outcome, str]]:
        """Return outcome and trouble of every outcome that was told."""
        ended = [item for item in self.said() if isinstance(item, EffectEnded)]
        return [(item.outcome, item.trouble) for item in ended]

    def an_errand(self) -> EffectTask:
        return self.effect_task(self.job({HEAD_ENV: [{"name": "TOKEN", "value": SECRET}]}), CREATE)


def test_success_is_told_with_what_was_brought_about() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    assert effect_task() is None
    (ended,) = bench.said()
    made = bench.cluster.list(RAYCLUSTERS).items[0]
    assert isinstance(ended, EffectEnded)
    assert (ended.outcome, ended.uid) == (Outcome.SUCCEEDED, child(made, "metadata")["uid"])
    assert ended.effect_id == effect_task.effect.effect_id


@pytest.mark.parametrize("error", [RequestForbidden("quota"), RequestInvalid("no such field")])
def test_what_repeating_will_not_help_is_told_as_failed(error: Exception) -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    bench.refuse(error)
    assert effect_task() is None
    assert bench.told() == [(Outcome.FAILED, str(error))]


def test_what_may_pass_is_tried_again_with_growing_pauses_and_told_once_per_kind() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    silent, exists = ClusterUnreachable("no answer"), ObjectExists("going")
    bench.refuse(silent, silent, exists, silent, *[silent] * 9)
    pauses = [effect_task() for _ in range(13)]
    assert effect_task() is None
    expected = [min(PAUSE_FIRST_SECONDS * 2**n, PAUSE_MAX_SECONDS) for n in range(1, 14)]
    assert pauses == expected
    assert bench.told() == [
        (Outcome.FALTERED, "no answer"),
        (Outcome.FALTERED, "going"),
        (Outcome.FALTERED, "no answer"),
        (Outcome.SUCCEEDED, ""),
    ]


def test_troubles_that_come_back_are_observations_of_their_own() -> None:
    """Else the log would refuse the second: it knows the id."""
    bench = Refusing()
    effect_task = bench.an_errand()
    bench.refuse(ClusterUnreachable("a"), ClusterUnreachable("b"), ClusterUnreachable("a"))
    for _ in range(3):
        effect_task()
        bench.clock.advance(1)
    assert len({item.id for item in bench.said()}) == 3


@pytest.mark.parametrize(("dice", "pause"), [(0.0, 77.0), (1.0, 115.5)])
def test_a_pause_that_the_api_server_asks_for_is_never_cut_short(dice: float, pause: float) -> None:
    """Those that were sent away together come back one after the other."""
    bench = Refusing()
    effect_task = bench.an_errand()
    effect_task.context = replace(effect_task.context, dice=lambda: dice)
    bench.refuse(RequestThrottled("later", 77.0))
    assert effect_task() == pause


def test_a_silent_head_is_asked_again_later_each_time_and_often_enough() -> None:
    bench = Bench()
    job = bench.job(submissionMode="HTTPMode")
    effect_task = bench.effect_task(
        job, EffectKind.SUBMIT_ENTRYPOINT, "train-1", address="nowhere:8265"
    )
    assert [effect_task() for _ in range(9)][-1] == HEAD_PAUSE_MAX_SECONDS


def test_the_last_stop_is_tried_once() -> None:
    bench = Refusing()
    effect_task = bench.effect_task(bench.job(), STOP, "train-1", address="nowhere:8265")
    assert effect_task() is None
    ((outcome, _),) = bench.told()
    assert outcome is Outcome.FAILED


def test_what_was_decided_on_an_old_specification_is_told_as_superseded() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    bench.see(bench.cluster.edit(RAYJOBS, "ml", "train", spec={"entrypoint": "other"}))
    assert effect_task() is None
    ((outcome, _),) = bench.told()
    assert outcome is Outcome.SUPERSEDED
    assert bench.cluster.list(RAYCLUSTERS).items == []


def test_an_effect_that_is_no_longer_open_is_not_done() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    bench.hold(bench.live.jobs()[0])
    assert effect_task() is None
    assert (bench.told(), bench.cluster.list(RAYCLUSTERS).items) == ([], [])


def test_an_effect_of_a_job_that_is_not_held_or_was_dropped_is_not_done() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    effect_task.is_dropped = True
    assert effect_task() is None
    effect_task.is_dropped = False
    bench.slots.drop([effect_task.stream])
    assert effect_task() is None
    assert (bench.told(), bench.cluster.list(RAYCLUSTERS).items) == ([], [])


def test_without_the_lease_nothing_is_sent_but_it_is_not_forgotten() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    bench.acts = False
    assert effect_task() == LEASE_PAUSE_SECONDS
    assert (bench.told(), bench.cluster.list(RAYCLUSTERS).items) == ([], [])
    bench.acts = True
    assert effect_task() is None
    assert len(bench.cluster.list(RAYCLUSTERS).items) == 1


def test_where_another_controller_was_met_nothing_is_sent_any_more() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    world, control_policy = effect_task.context.world, ControlPolicy()
    effect_task.context = replace(
        effect_task.context,
        world=replace(world, mapper=replace(world.mapper, control_policy=control_policy)),
    )
    theirs = {
        "manager": "ray-operator",
        "subresource": "status",
        "time": rfc3339(NOON),
        "fieldsV1": {"f:status": {"f:jobDeploymentStatus": {}}},
    }
    other = a_rayjob(
        {
            "metadata.name": "other",
            "metadata.managedFields": [theirs],
            "status": {"jobDeploymentStatus": "Running"},
        }
    )
    control_policy.note("RayJob", other, FIRST_SIGHT, NOON)
    assert control_policy.is_refused("RayJob", "ml")
    assert not control_policy.is_refused("RayJob", "elsewhere")
    assert effect_task() == LEASE_PAUSE_SECONDS
    assert (bench.told(), bench.cluster.list(RAYCLUSTERS).items) == ([], [])


def test_without_the_object_nothing_is_sent_but_it_is_not_forgotten() -> None:
    """The log knows the job; the watch has not told of it yet."""
    bench = Refusing()
    job = bench.job()
    bench.live = ObjectCache()
    effect_task = bench.effect_task(job, CREATE)
    assert effect_task() == PAUSE_MAX_SECONDS
    bench.live.put_job(job)
    assert effect_task() is None
    assert len(bench.cluster.list(RAYCLUSTERS).items) == 1


def shown(bench: Refusing, phase: str, **labels: str) -> EffectTask:
    """Return the creation of a RayCluster for a job whose status shows a phase."""
    made = bench.cluster.create(RAYJOBS, a_rayjob({"metadata.labels": labels}))
    job = bench.see({**made, "status": {"jobDeploymentStatus": phase}})
    return bench.effect_task(job, CREATE)


@pytest.mark.parametrize(
    ("phase", "labels"), [("Suspended", {}), ("", {"kueue.x-k8s.io/queue-name": "research"})]
)
def test_no_raycluster_is_made_while_a_queue_takes_the_job_for_stopped(
    phase: str, labels: dict[str, str]
) -> None:
    """Kueue would give its quota to another; that it waits is told once, if it lasts."""
    bench = Refusing()
    effect_task = shown(bench, phase, **labels)
    pauses = [effect_task() for _ in range(UNSHOWN_TOLD_AFTER + 1)]
    assert bench.told() == [(Outcome.FALTERED, UNSHOWN)]
    assert pauses[0] == UNSHOWN_FIRST_SECONDS * 2
    assert pauses[-1] == UNSHOWN_MAX_SECONDS
    assert not bench.cluster.list(RAYCLUSTERS).items
    now = bench.cluster.get(RAYJOBS, "ml", "train")
    assert now is not None
    bench.see({**now, "status": {"jobDeploymentStatus": "Initializing"}})
    assert effect_task() is None
    assert len(bench.cluster.list(RAYCLUSTERS).items) == 1


@pytest.mark.parametrize("phase", ["", "Initializing", "Retrying"])
def test_a_job_of_no_queue_does_not_wait_for_its_status(phase: str) -> None:
    bench = Refusing()
    assert shown(bench, phase)() is None
    assert len(bench.cluster.list(RAYCLUSTERS).items) == 1


def test_a_lost_outcome_is_brought_about_again_without_a_double() -> None:
    """The process stopped between the act and the append: the next one asks again."""
    bench = Refusing()
    first = bench.an_errand()
    first()
    bench.said()
    again = EffectTask(first.context, first.stream, first.effect)
    assert again() is None
    (ended,) = bench.said()
    assert isinstance(ended, EffectEnded)
    assert (ended.outcome, ended.already) == (Outcome.SUCCEEDED, True)
    assert len(bench.cluster.list(RAYCLUSTERS).items) == 1


def test_trouble_is_told_without_secrets() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    bench.refuse(RequestInvalid(f"spec.env[0]: {SECRET} is no number"))
    effect_task()
    ((_, trouble),) = bench.told()
    assert SECRET not in trouble
    assert "redacted:" in trouble


def test_a_bug_of_ours_is_told_and_tried_again_seldom() -> None:
    bench = Refusing()
    effect_task = bench.an_errand()
    bench.refuse(KeyError(SECRET), KeyError(SECRET))
    assert [effect_task(), effect_task()] == [PAUSE_MAX_SECONDS] * 2
    assert bench.told() == [
        (Outcome.FALTERED, "an internal error (KeyError), see the controller's log")
    ]
    assert effect_task() is None
