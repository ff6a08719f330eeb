"""Kubernetes Events: a courtesy that never holds up anything."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from jobledger.adapters.service.status import event_recorder as heralding
from jobledger.adapters.service.status.event_recorder import REST_FACTOR, EventRecorder
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.errors import RequestForbidden
from jobledger.core.kinds import KINDS, NOTHING
from jobledger.core.ports.cluster import KUBERNETES_EVENTS, NAMESPACES, Resource
from jobledger.core.rayjob.events.lifecycle import ManifestRejected, RayJobEvent
from jobledger.core.values.documents import Manifest, text
from tests.adapters.service.parts import Bench, run_all
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON
from tests.support.stepped_cluster import SteppedCluster

REJECTED: list[RayJobEvent] = [
    ManifestRejected(at=NOON, generation=1, kind="InvalidRayJobSpec", message="no entrypoint")
]


class Desk(Bench):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.event_recorder = EventRecorder(self.cluster, self.metrics, "a/1", self.clock)
        self.identity = self.job().identity

    def announce(self, number: int = 0) -> None:
        event = ManifestRejected(at=NOON, generation=1, kind="Invalid", message=f"{number}")
        self.event_recorder.announce(self.identity, [event], KINDS["RayJob"], NOTHING)

    def count(self, outcome: str) -> float:
        return float(self.metrics.kubernetes_events.labels(outcome)._value.get())  # noqa: SLF001 the count


def test_what_happened_is_sent_once_with_a_name_that_follows_from_it() -> None:
    desk = Desk()
    for _ in range(2):
        desk.event_recorder.announce(desk.identity, REJECTED, KINDS["RayJob"], NOTHING)
    while desk.event_recorder.run_once():
        pass
    (sent,) = desk.cluster.list(KUBERNETES_EVENTS).items
    assert (text(sent, "reason"), text(sent, "regarding", "uid")) == (
        "InvalidRayJobSpec",
        desk.identity.uid,
    )
    assert (desk.count("sent"), desk.count("already")) == (1, 1)


def test_namespaces_take_turns_whatever_waits_in_each() -> None:
    desk = Desk()
    made: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "calm"}}
    desk.cluster.create(NAMESPACES, made)
    for number in range(500):
        desk.announce(number)
    calm = replace(desk.identity, namespace="calm", name="other", uid="other")
    desk.event_recorder.announce(calm, REJECTED, KINDS["RayJob"], NOTHING)
    for _ in range(2):
        assert desk.event_recorder.run_once()
    sent = desk.cluster.list(KUBERNETES_EVENTS).items
    assert sorted(text(one, "metadata", "namespace") for one in sent) == ["calm", "ml"]


def test_stopping_sends_what_is_queued_in_every_namespace() -> None:
    desk = Desk()
    made: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "calm"}}
    desk.cluster.create(NAMESPACES, made)
    desk.announce(1)
    desk.announce(2)
    calm = replace(desk.identity, namespace="calm", name="other", uid="other")
    desk.event_recorder.announce(calm, REJECTED, KINDS["RayJob"], NOTHING)
    desk.event_recorder.start()
    desk.event_recorder.stop()
    assert desk.count("sent") == 3


@pytest.mark.parametrize("error", [RequestForbidden("no"), ZeroDivisionError("a bug")])
def test_one_that_is_refused_or_broken_does_not_silence_the_others(error: Exception) -> None:
    desk = Desk()
    create, errors = desk.cluster.create, [error]

    def refusing(*args: Any) -> Any:  # noqa: ANN401 passes everything on
        if errors:
            raise errors.pop()
        return create(*args)

    desk.cluster.create = refusing  # type: ignore[method-assign,assignment]  # a refusal
    desk.announce(1)
    desk.announce(2)
    desk.event_recorder.start()
    desk.event_recorder.stop()
    assert (desk.count("refused"), desk.count("sent")) == (1, 1)


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        ('User "jobledger" cannot create resource "events"', 1),
        ("unable to create new content in namespace ml because it is being terminated", 0),
    ],
    ids=["a right is missing", "its namespace is being deleted"],
)
def test_who_refuses_all_of_them_is_told_and_not_each_time(refusal: str, told: int) -> None:
    desk = Desk()

    def refusing(*_: Any) -> Any:  # noqa: ANN401 takes everything
        raise RequestForbidden(f"403 Forbidden: {refusal}")

    desk.cluster.create = refusing  # type: ignore[method-assign,assignment]  # a refusal
    with capture_logs() as lines:
        for number in range(3):
            desk.announce(number)
        while desk.event_recorder.run_once():
            pass
    said = [line for line in lines if line["event"] == "kubernetes_events_refused"]
    assert [line["namespace"] for line in said] == ["ml"] * told
    assert desk.count("refused") == 3


def test_a_full_queue_drops_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heralding, "QUEUE_MAX", 2)
    desk = Desk()
    for number in range(5):
        desk.announce(number)
    assert desk.count("dropped") == 3


def test_of_a_full_queue_those_are_dropped_of_whoever_has_the_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tenant whose jobs are told much of takes the room of no other."""
    monkeypatch.setattr(heralding, "QUEUE_MAX", 5)
    desk = Desk()
    made: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "calm"}}
    desk.cluster.create(NAMESPACES, made)
    calm = replace(desk.identity, namespace="calm", name="other", uid="other")
    for number in range(10):
        desk.announce(number)
    desk.event_recorder.announce(calm, REJECTED, KINDS["RayJob"], NOTHING)
    for number in range(10):
        desk.announce(number)
    while desk.event_recorder.run_once():
        pass
    sent = [
        text(one, "metadata", "namespace") for one in desk.cluster.list(KUBERNETES_EVENTS).items
    ]
    assert (sent.count("calm"), sent.count("ml")) == (1, 4)
    assert desk.count("dropped") == 16


def test_a_namespace_whose_events_take_long_keeps_no_other_waiting() -> None:
    """A webhook of the tenant's that sleeps is asked for each."""
    desk = Desk()
    made: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "calm"}}
    desk.cluster.create(NAMESPACES, made)
    calm = replace(desk.identity, namespace="calm", name="other", uid="other")
    create = desk.cluster.create

    def slow(resource: Resource, manifest: Manifest) -> Any:  # noqa: ANN401 passes everything on
        if text(manifest, "metadata", "namespace") == "ml":
            desk.clock.advance(25.0)
        return create(resource, manifest)

    desk.cluster.create = slow  # type: ignore[method-assign]  # a webhook that sleeps
    for number in range(3):
        desk.announce(number)
    assert desk.event_recorder.run_once()
    desk.event_recorder.announce(calm, REJECTED, KINDS["RayJob"], NOTHING)
    assert desk.event_recorder.run_once()
    assert not desk.event_recorder.run_once(), "the rest of the others wait"
    namespaces = [
        text(one, "metadata", "namespace") for one in desk.cluster.list(KUBERNETES_EVENTS).items
    ]
    assert sorted(namespaces) == ["calm", "ml"]
    desk.clock.advance(25.0 * REST_FACTOR)
    assert desk.event_recorder.run_once(), "and have their turn"
    desk.event_recorder.start()
    desk.event_recorder.stop()
    assert desk.count("sent") == 4, "at the end they are sent without"


def test_stopping_does_not_wait_for_room_in_a_full_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heralding, "QUEUE_MAX", 1)
    desk = Desk()
    asked, may_answer, create = threading.Event(), threading.Event(), desk.cluster.create

    def slow(*args: Any) -> Any:  # noqa: ANN401 passes everything on
        asked.set()
        may_answer.wait(30)
        return create(*args)

    desk.cluster.create = slow  # type: ignore[method-assign,assignment]  # an API server that hangs
    desk.announce(1)
    desk.event_recorder.start()
    assert asked.wait(30)
    desk.announce(2)
    stopping = threading.Thread(target=lambda: desk.event_recorder.stop(0))
    stopping.start()
    stopping.join(30)
    assert not stopping.is_alive()
    may_answer.set()
    desk.event_recorder.stop(30)


def test_starting_and_stopping_from_many_threads_leaves_no_thread_behind() -> None:
    for _ in range(10):
        clock = SimulatedClock(NOON)
        cluster = SteppedCluster(clock.now)
        event_recorder = EventRecorder(cluster, Metrics(CollectorRegistry()), "a/1", clock)
        calls: list[Callable[[], None]] = [
            event_recorder.start,
            event_recorder.stop,
            event_recorder.start,
            event_recorder.stop,
        ]
        run_all(calls)
        event_recorder.stop()
        thread = event_recorder._thread  # noqa: SLF001 the leak
        assert thread is None or not thread.is_alive()
