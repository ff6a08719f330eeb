"""Conditions that plugins of others make of PodGroups, in the whole service; and bad plugins."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.kinds.trainjob.watching import plugin_conditions
from jobledger.adapters.kinds.trainjob.watching.listeners import DependentListener
from jobledger.core.catalogue import read_event
from jobledger.core.ports.cluster import JOBSETS, POD_GROUPS, TRAINJOBS, Resource
from jobledger.core.trainjob.building.framework import Plugin, PluginCondition
from jobledger.core.trainjob.events import PluginConditionsObserved
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.support.memory_kinds import WORKLOADS
from tests.support.service_world import DOOR
from tests.support.set_back import kept
from tests.support.train_world import Document, TrainWorld, torch_runtime

SECRET = "xK9-planted-runtime-secret"


class Gang(Plugin):
    """Shows what a PodGroup says."""

    name = "gang"
    conditions_from: tuple[Resource, ...] = (POD_GROUPS, WORKLOADS)
    condition_types: tuple[str, ...] = ("GangScheduled",)

    def __init__(self) -> None:
        self.shown: list[tuple[Manifest, Manifest]] = []

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:
        self.shown.append((job, observed))
        phase = text(observed, "status", "phase")
        status = {"": "Unknown", "Scheduled": "True"}.get(phase, "False")
        said = f"it says {phase} {SECRET}" if phase else ""
        yield PluginCondition(
            type="GangScheduled", status=status, reason=phase or "NotSeenYet", message=said
        )


# The service trusts what comes with it; these stand for what was installed beside it.
assert not Gang.__module__.startswith("jobledger.")


def a_gang(*plugins: Plugin, propagates: bool = True) -> tuple[TrainWorld, StreamId]:
    """Return a world with such plugins, and a job that waits as a gang."""
    policy = TrainPolicy(propagates=propagates)
    mapper = DOOR.knowing(TrainInstallation(plugins=all_plugins(*plugins), policy=policy))
    world = TrainWorld(mapper=mapper)
    world.jobsets.holds = True
    runtime = torch_runtime()
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    world.install_runtime(runtime)
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    return world, stream


def says(world: TrainWorld, phase: str) -> None:
    world.cluster.edit(POD_GROUPS, "ml", "train", status={"phase": phase})


def reached(world: TrainWorld, status: str, reason: str) -> Callable[[], bool]:
    return lambda: world.condition("GangScheduled") == (status, reason)


def contributions(world: TrainWorld, stream: StreamId) -> list[PluginConditionsObserved]:
    found = [read_event(item.record) for item in world.store.read_stream(stream)]
    return [event for event in found if isinstance(event, PluginConditionsObserved)]


def test_what_a_pod_group_says_is_a_condition_of_the_job() -> None:
    world, stream = a_gang(Gang())
    world.run(reached(world, "Unknown", "NotSeenYet"), "the first look")
    says(world, "Unschedulable")
    world.run(reached(world, "False", "Unschedulable"), "it waits")
    says(world, "Scheduled")
    world.run(reached(world, "True", "Scheduled"), "it runs")
    group = world.cluster.get(POD_GROUPS, "ml", "train")
    last = contributions(world, stream)[-1].contribution
    assert last.plugin == "gang"
    assert (last.source.kind, last.source.name) == ("PodGroup.scheduling.x-k8s.io", "train")
    assert last.source.uid == text(group, "metadata", "uid")
    assert last.source.version == text(group, "metadata", "resourceVersion")


def test_a_plugin_sees_no_secret_and_its_messages_have_none() -> None:
    plugin = Gang()
    world, stream = a_gang(plugin)
    says(world, SECRET)
    world.run(world.is_so("GangScheduled", "False"), "it waits")
    assert SECRET not in repr(plugin.shown)
    told = [
        item.message
        for event in contributions(world, stream)
        for item in event.contribution.conditions
    ]
    assert "redacted:" in told[-1]
    assert SECRET not in repr(told)
    assert all("managedFields" not in str(one) for pair in plugin.shown for one in pair)


def test_nor_has_what_is_refused_of_a_plugin_a_secret() -> None:
    """A plugin reads what it likes: here it raises with a secret that it has from elsewhere."""
    world, stream = a_gang(Bad(raising(RuntimeError(f"no access with {SECRET}"))))
    world.run(lambda: contributions(world, stream) != [], "its failure")
    (refused,) = contributions(world, stream)[-1].contribution.refused
    assert refused.problem.startswith("it fails: RuntimeError: no access with redacted:")


def test_without_the_setting_no_plugin_is_asked() -> None:
    plugin = Gang()
    world, stream = a_gang(plugin, propagates=False)
    says(world, "Unschedulable")
    world.run(lambda: True, "what follows")
    assert plugin.shown == []
    assert contributions(world, stream) == []


class Runs(Gang):
    """Shows how a JobSet has ended."""

    name = "runs"
    conditions_from: tuple[Resource, ...] = (JOBSETS,)


@pytest.mark.parametrize("is_held", [True, False])
def test_an_end_is_told_after_what_a_plugin_makes_of_it_or_both_are_passed_over(
    is_held: bool,
) -> None:
    """A shard that is gained just after must not bring the end alone, from the inbox."""
    world, stream = a_gang(Runs())
    around = replace(
        world.service.controller._parts.handlers,  # noqa: SLF001 what its listeners have
        concerns_us=lambda _: is_held,
    )
    around.inbox.take(1000, 0)
    jobset = world.cluster.get(JOBSETS, "ml", "train")
    assert jobset is not None
    later = {**child(jobset, "metadata"), "resourceVersion": "999999"}
    ended = {"conditions": [{"type": "Completed", "status": "True"}]}
    DependentListener(around, JOBSETS.kind).seen(
        {**jobset, "metadata": later, "status": ended}, world.clock.now()
    )
    told = list(
        dict.fromkeys(
            type(item).__name__ for of, item in around.inbox.take(1000, 0) if of == stream
        )
    )
    assert told == (["PluginConditionsSeen", "JobSetSeen"] if is_held else [])


def test_after_a_restart_nothing_is_told_twice() -> None:
    world, stream = a_gang(Gang())
    says(world, "Unschedulable")
    world.run(reached(world, "False", "Unschedulable"), "it waits")
    known = contributions(world, stream)
    world.restart()
    world.run(world.service.controller.knows_all, "the watches")
    world.run(lambda: True, "what follows")
    assert contributions(world, stream) == known
    says(world, "Scheduled")
    world.run(reached(world, "True", "Scheduled"), "what comes later")


def test_what_is_lost_of_it_is_told_anew() -> None:
    """While the job is held, as the ledger was set back, nothing that it is told of counts."""
    world, stream = a_gang(Gang())
    world.run(reached(world, "Unknown", "NotSeenYet"), "the first look")
    set_back = kept(world.store, world.lease_table)
    says(world, "Scheduled")
    world.run(reached(world, "True", "Scheduled"), "it runs")
    set_back()
    world.service.controller.keep_leases()
    world.run(lambda: len(contributions(world, stream)) > 1, "it is told anew")
    assert [item.reason for item in contributions(world, stream)[-1].contribution.conditions] == [
        "Scheduled"
    ]
    assert reached(world, "True", "Scheduled")()


def workload(owner: str, namespace: str = "ml") -> Document:
    reference = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": "train",
        "uid": owner,
        "controller": True,
    }
    return {
        "metadata": {"namespace": namespace, "name": "queued", "ownerReferences": [reference]},
        "status": {"phase": "Admitted"},
    }


def test_an_object_that_nobody_here_builds_is_not_made_again() -> None:
    world, stream = a_gang(Gang())
    world.run(reached(world, "Unknown", "NotSeenYet"), "the first look")
    world.cluster.plant(WORKLOADS, workload(text(world.trainjob, "metadata", "uid")))
    world.run(reached(world, "False", "Admitted"), "what the Workload says")
    world.cluster.delete(WORKLOADS, "ml", "queued")
    world.run(reached(world, "Unknown", "ObjectGone"), "that it is gone")
    assert "DependentVanished" not in world.told(stream)


def test_an_object_that_goes_while_nobody_looks_is_missed_afterwards() -> None:
    world, stream = a_gang(Gang())
    world.cluster.plant(WORKLOADS, workload(text(world.trainjob, "metadata", "uid")))
    world.run(reached(world, "False", "Admitted"), "what the Workload says")
    world.cluster.delete(WORKLOADS, "ml", "queued")
    world.restart()
    world.run(reached(world, "Unknown", "ObjectGone"), "that it is gone")
    assert contributions(world, stream)[-1].gone


@pytest.mark.parametrize(
    ("owner", "namespace"), [("of-another", "ml"), ("", "ml"), ("of-this", "elsewhere")]
)
def test_an_object_that_is_not_the_jobs_is_shown_to_no_plugin(owner: str, namespace: str) -> None:
    plugin = Gang()
    world, stream = a_gang(plugin)
    uid = text(world.trainjob, "metadata", "uid") if owner == "of-this" else owner
    world.cluster.plant(WORKLOADS, workload(uid, namespace))
    world.run(lambda: True, "what follows")
    assert {text(seen, "metadata", "name") for _, seen in plugin.shown} == {"train"}
    assert {event.contribution.source.name for event in contributions(world, stream)} == {"train"}


class Bad(Gang):
    """Does what it is made with, about the job of one name."""

    name = "bad"
    condition_types: tuple[str, ...] = ("Bad",)

    def __init__(self, deed: Callable[[], Any]) -> None:
        super().__init__()
        self._deed = deed

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:
        self.shown.append((job, observed))
        observed.clear()  # type: ignore[attr-defined] # what it was given is its own
        found: Iterable[PluginCondition] = self._deed()
        return found


def raising(error: BaseException) -> Callable[[], Any]:
    def deed() -> Any:  # noqa: ANN401 nothing at all
        raise error

    return deed


def going_round() -> None:
    while True:
        pass


def waiting_for_ever() -> None:
    never = threading.Event()
    while not never.wait(0.01):
        pass


DEEDS: dict[str, tuple[Callable[[], Any], str]] = {
    "raises": (raising(RuntimeError("no\nidea")), "it fails: RuntimeError: no idea"),
    "leaves": (raising(SystemExit(3)), "it gives no answer (10 s are waited)"),
    "loops": (waiting_for_ever, "it gives no answer (10 s are waited)"),
    "gives no list": (lambda: 7, "it fails: TypeError: 'int' object is not iterable"),
    "gives garbage": (lambda: [object()], "it gives object in place of a condition"),
    "takes what is ours": (
        lambda: [PluginCondition(type="Complete", status="True", reason="Mine")],
        "the condition Complete belongs to the controller",
    ),
}


@pytest.mark.parametrize("name", DEEDS)
def test_a_bad_plugin_harms_nobody_but_its_own_condition(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    deed, why = DEEDS[name]
    monkeypatch.setattr(plugin_conditions, "ANSWER_SECONDS", 10.0)  # for the one that is in order
    plugin_conditions.say_refused.cache_clear()
    with capture_logs() as lines:
        world, stream = a_gang(Bad(deed), Gang())
        says(world, "Unschedulable")
        world.run(reached(world, "False", "Unschedulable"), "the other plugin's")
        world.jobsets.holds = False
        world.run(world.is_so("Complete"), "the end of the job")
    refused = [
        one.problem
        for event in contributions(world, stream)
        for one in event.contribution.refused
        if event.contribution.plugin == "bad"
    ]
    assert refused[0] == why or refused[0].startswith(f"{why}; ")
    assert world.condition("Bad") == ("", "")
    said = [line for line in lines if line["event"] == "plugin_condition_refused"]
    assert [line["plugin"] for line in said][:1] == ["bad"]
    name_of_metric = "jobledger_plugin_conditions_refused_total"
    counted = world.service.metrics.registry.get_sample_value(name_of_metric, {"plugin": "bad"})
    assert counted == len(refused)


def test_one_that_loops_is_not_asked_again_and_does_not_go_on_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plugin_conditions, "ANSWER_SECONDS", 0.2)
    plugin = Bad(going_round)
    world, stream = a_gang(plugin)
    for phase in ("Pending", "Unschedulable", "Scheduled"):
        says(world, phase)
        world.run(lambda: True, "what follows")
    assert len(plugin.shown) <= 1, "on a busy machine it is stopped before it has begun"
    (refused,) = contributions(world, stream)[-1].contribution.refused
    assert refused.problem.endswith("; it is asked about this job again after a restart")
    for thread in threading.enumerate():
        if thread.name == plugin_conditions.THREAD:
            thread.join(20)
            assert not thread.is_alive()


def test_one_that_loops_about_several_jobs_is_not_asked_about_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plugin_conditions, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(plugin_conditions, "OVERDUE_MAX", 1)
    plugin = Bad(going_round)
    world, _ = a_gang(plugin)
    world.cluster.delete(TRAINJOBS, "ml", "train")
    world.run(lambda: world.trainjob == {}, "the end of the first job")
    second = world.train()
    world.run(world.is_so("Created"), "the objects of the second")
    (refused,) = contributions(world, second)[-1].contribution.refused
    assert refused.problem == (
        "it gives no answer (0.2 s are waited) about 1 jobs; it is asked again after a restart"
    )
    assert len(plugin.shown) <= 1


def test_an_object_that_is_too_large_is_shown_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_conditions, "OBJECT_BYTES_MAX", 100)
    plugin = Gang()
    world, stream = a_gang(plugin)
    world.run(lambda: contributions(world, stream) != [], "the refusal")
    assert plugin.shown == []
    (refused,) = contributions(world, stream)[0].contribution.refused
    assert refused.problem == "the object is larger than 100 bytes"
