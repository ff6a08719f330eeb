"""Which watches run: kinds of job that are not served, forbidden, or installed later."""

import threading
import time
from collections.abc import Mapping, Sequence

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.kinds.rayjob.watching.listeners import ChildListener
from jobledger.adapters.kinds.registry import ADAPTERS
from jobledger.adapters.service.watches import ending
from jobledger.adapters.service.watches.event_handlers import WatchedKind
from jobledger.core.errors import ClusterUnreachable, ObjectNotFound, RequestForbidden
from jobledger.core.ports.cluster import (
    JOBSETS,
    POD_GROUPS,
    PODS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    VOLCANO_POD_GROUPS,
    Resource,
)
from tests.adapters.service.watching_desk import Desk
from tests.contracts.cluster_listener import RecordingListener
from tests.support.memory_cluster import Told
from tests.support.records import NOON

TRAINJOB_KINDS = {"TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "JobSet", "ConfigMap"}


def test_of_several_kinds_each_is_watched_once_it_is_known_to_be_served() -> None:
    desk = Desk()
    before = desk.watches.needs_no_look, desk.synced.has_listed("RayJob"), desk.synced.all.is_set()
    desk.ask()
    assert (before, desk.watches.needs_no_look) == ((False, False, False), True)
    assert desk.synced.has_listed("RayJob")
    assert desk.synced.has_listed("TrainJob")
    assert desk.synced.all.is_set()


def test_the_only_kind_is_watched_at_once() -> None:
    desk = Desk(job_kinds=("RayJob",))
    assert desk.watches.needs_no_look
    assert desk.synced.all.is_set()


def test_with_trainjobs_as_the_only_kind_what_plugins_look_at_is_watched() -> None:
    desk = Desk(job_kinds=("TrainJob",))
    assert (desk.watches.needs_no_look, desk.synced.all.is_set()) == (False, True)
    desk.ask()
    assert desk.watches.needs_no_look
    told = {(resource.kind, resource.group) for resource in desk.server.watched}
    assert told >= {("PodGroup", "scheduling.x-k8s.io"), ("PodGroup", "scheduling.volcano.sh")}
    assert desk.synced.all.is_set()


@pytest.mark.parametrize("error", [ObjectNotFound("no"), RequestForbidden("no")])
@pytest.mark.parametrize(
    ("missing", "job_kind", "other"),
    [(RAYJOBS, "RayJob", "TrainJob"), (TRAINJOBS, "TrainJob", "RayJob")],
)
def test_a_cluster_may_serve_either_kind_alone(
    missing: Resource, job_kind: str, other: str, error: Exception
) -> None:
    desk = Desk()
    desk.server.errors[missing] = error
    desk.ask()
    assert desk.synced.has_listed(other)
    assert not desk.synced.has_listed(job_kind)
    assert (desk.synced.all.is_set(), desk.watches.waits_for()) == (True, [])
    del desk.server.errors[missing]
    desk.ask()
    assert desk.synced.has_listed(job_kind), "a definition that is installed later is found"


def test_where_no_kind_is_served_the_service_says_what_it_waits_for() -> None:
    desk = Desk()
    desk.server.errors |= {RAYJOBS: ObjectNotFound("no"), TRAINJOBS: ObjectNotFound("no")}
    desk.ask()
    assert not desk.synced.all.is_set()
    assert desk.watches.waits_for() == [
        "none of the kinds of job is served, or may be listed: RayJob, TrainJob"
    ]


def test_what_plugins_look_at_is_watched_once_it_is_served() -> None:
    desk = Desk()
    desk.server.errors[POD_GROUPS] = ObjectNotFound("no such kind")
    desk.ask()
    assert POD_GROUPS not in desk.server.watched
    assert VOLCANO_POD_GROUPS in desk.server.watched
    del desk.server.errors[POD_GROUPS]
    desk.ask()
    assert POD_GROUPS in desk.server.watched
    assert desk.synced.all.is_set()


def test_of_what_can_be_done_without_nobody_says_that_jobs_are_left_alone() -> None:
    desk = Desk()
    desk.server.errors[VOLCANO_POD_GROUPS] = RequestForbidden("podgroups is forbidden")
    with capture_logs() as lines:
        desk.ask()
    (told,) = (line for line in lines if line["event"] == "kind_forbidden")
    assert told["kind"] == "PodGroup.scheduling.volcano.sh"
    assert told["remedy"].startswith("TrainJobs can do without")
    assert told["log_level"] == "info", "it may not be installed at all"


def test_a_kind_that_is_not_served_keeps_nobody_waiting_and_is_found_later() -> None:
    desk = Desk()
    desk.server.errors[JOBSETS] = ObjectNotFound("no such kind")
    desk.ask()
    assert desk.watches.needs_no_look
    assert desk.synced.all.is_set()
    assert not desk.synced.has_listed("TrainJob")
    del desk.server.errors[JOBSETS]
    desk.ask()
    assert desk.synced.has_listed("TrainJob")


def test_one_that_is_forbidden_is_as_one_that_is_not_served() -> None:
    desk = Desk()
    desk.server.errors[JOBSETS] = RequestForbidden("jobsets is forbidden")
    desk.ask()
    assert desk.watches.needs_no_look


def test_what_is_forbidden_is_said_once_and_taken_up_when_it_is_allowed() -> None:
    desk = Desk()
    desk.server.errors[TRAINJOBS] = RequestForbidden("trainjobs is forbidden")
    with capture_logs() as lines:
        for _ in range(3):
            desk.ask()
    (told,) = (line for line in lines if line["event"] == "kind_forbidden")
    assert (told["kind"], told["log_level"]) == ("TrainJob", "warning")
    assert "ops/rbac.yaml" in told["remedy"]
    assert "JOBLEDGER_JOB_KINDS" in told["remedy"]
    del desk.server.errors[TRAINJOBS]
    desk.ask()
    assert desk.synced.has_listed("TrainJob")


@pytest.mark.parametrize("error", [ObjectNotFound("no"), RequestForbidden("no")])
def test_what_a_plugin_would_like_to_be_watched_can_be_done_without(error: Exception) -> None:
    desk = Desk()
    desk.server.errors[POD_GROUPS] = error
    desk.ask()
    assert desk.synced.has_listed("TrainJob")


def test_an_api_server_that_does_not_answer_is_asked_again() -> None:
    desk = Desk()
    desk.server.errors[JOBSETS] = ClusterUnreachable("no answer")
    desk.ask()
    before = desk.watches.needs_no_look
    del desk.server.errors[JOBSETS]
    desk.watches.ask_once()
    assert (before, desk.watches.needs_no_look) == (False, True)


def test_while_a_kind_is_being_listed_the_gates_stay_shut() -> None:
    desk = Desk()
    desk.watches.ask()
    assert not desk.synced.all.is_set()
    assert set(desk.synced.missing()) >= TRAINJOB_KINDS


def test_kinds_without_namespace_are_listed_once_whatever_is_watched() -> None:
    desk = Desk(("a", "b"))
    desk.ask()
    assert desk.synced.has_listed("TrainJob")


def test_a_namespace_that_is_listed_twice_does_not_stand_for_another() -> None:
    """Its watches may expire (410) before those of the other have listed at all."""
    desk = Desk(("a", "b"), ("RayJob",))
    desk.synced.expect(ADAPTERS["RayJob"].watching.watched)
    for listener in desk.server.listeners["a"] * 2:
        listener.synced(NOON)
    assert desk.synced.missing() == sorted(
        kind.name for kind in ADAPTERS["RayJob"].watching.watched
    )
    assert not desk.synced.all.is_set()
    for listener in desk.server.listeners["b"]:
        listener.synced(NOON)
    assert desk.synced.missing() == []
    assert desk.synced.all.is_set()


def test_a_namespace_that_was_named_twice_is_listed_twice() -> None:
    desk = Desk(("a", "a"), ("RayJob",))
    assert desk.synced.has_listed("RayJob")


@pytest.mark.parametrize(
    ("namespaces", "place"), [((), ""), (("red", "blue"), "red"), (("red", "blue"), "blue")]
)
def test_a_kind_is_asked_for_wherever_it_would_be_watched(
    namespaces: tuple[str, ...], place: str
) -> None:
    """Else the watch that is refused keeps the whole service from being ready."""
    desk = Desk(namespaces)
    desk.server.errors_in[TRAINJOBS, place] = RequestForbidden("trainjobs is forbidden")
    with capture_logs() as lines:
        desk.ask()
    assert desk.synced.all.is_set(), desk.synced.missing()
    assert not desk.synced.has_listed("TrainJob")
    assert [line["kind"] for line in lines if line["event"] == "kind_forbidden"] == ["TrainJob"]
    del desk.server.errors_in[TRAINJOBS, place]
    desk.ask()
    assert desk.synced.has_listed("TrainJob")


def test_what_is_forbidden_in_a_namespace_that_is_not_watched_forbids_nothing() -> None:
    desk = Desk()
    desk.server.errors_in[TRAINJOBS, "default"] = RequestForbidden("trainjobs is forbidden")
    desk.ask()
    assert desk.synced.has_listed("TrainJob")


POD_WATCH = WatchedKind(
    resource=PODS,
    listener=lambda _: RecordingListener(),
    selector=RAYCLUSTERS.pod_label,
    is_optional=True,
    called="Pods of RayClusters",
)


def of_pods(lines: Sequence[Mapping[str, object]]) -> list[tuple[object, object]]:
    """Return what was said of Pods, and whether it was said what to do."""
    told = [line for line in lines if line.get("kind") == POD_WATCH.name]
    return [(line["event"], "remedy" in line) for line in told]


def test_why_pods_are_not_watched_is_said_once_and_when_it_changes() -> None:
    """A right that comes late is found, also where all kinds of job are watched."""
    desk = Desk(job_kinds=("RayJob",), pods={RAYCLUSTERS: (POD_WATCH,)})
    before = len(desk.server.listeners[""])
    with capture_logs() as lines:
        for error in (RequestForbidden("no"), ClusterUnreachable("gone"), RequestForbidden("no")):
            desk.server.errors[PODS] = error
            for _ in range(3):
                desk.look_around()
        assert len(desk.server.listeners[""]) == before
        del desk.server.errors[PODS]
        for _ in range(3):
            desk.look_around()
    refused = "pods_not_watched"
    said = [(refused, True), (refused, False), (refused, True), ("kind_watched", False)]
    assert of_pods(lines) == said
    assert len(desk.server.listeners[""]) == before + 1


def test_all_watches_are_ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may wait for an answer: one after the other they took the whole grace of a Pod."""
    desk, together = Desk(), threading.Barrier(3)
    desk.ask()

    def end(_: object) -> None:
        together.wait(30)  # for the others, which come at the same time

    monkeypatch.setattr(Told, "stop", end)
    desk.watches._subscriptions = desk.watches._subscriptions[:3]  # noqa: SLF001 a few will do
    desk.watches.stop()
    assert not together.broken


def test_a_watch_that_does_not_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, is_over = Desk(), threading.Event()
    desk.ask()
    monkeypatch.setattr(Told, "stop", lambda _: is_over.wait(60))
    monkeypatch.setattr(ending, "STOP_SECONDS_MAX", 0.1)
    began = time.monotonic()
    desk.watches.stop()
    assert time.monotonic() - began < 30
    is_over.set()


def test_watches_are_ended_also_where_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk, ended = Desk(), list[object]()
    desk.ask()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def end(one: Told) -> None:
        ended.append(one)

    monkeypatch.setattr(Told, "stop", end)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    desk.watches.stop()
    assert ended == desk.watches._subscriptions  # noqa: SLF001 all of them


def test_a_list_of_one_namespace_says_nothing_of_what_lies_in_another() -> None:
    """What the one does not tell of is there all the same: it was forgotten until it changed."""
    desk = Desk(("red", "blue"), job_kinds=("RayJob",))
    live, about = desk.around.live, {"name": "c", "namespace": "blue", "uid": "u-1"}
    clusters = {
        place: next(one for one in told if isinstance(one, ChildListener))
        for place, told in desk.server.listeners.items()
    }
    clusters["blue"].seen({"kind": "RayCluster", "metadata": about}, NOON)
    for place, is_there in (("red", True), ("blue", False)):
        clusters[place].interrupted(NOON, NOON, "410 Gone")
        clusters[place].synced(NOON)
        assert (live.child_named("RayCluster", "blue", "c") is not None) is is_there
