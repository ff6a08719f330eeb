"""A watch that fails while others work is told, and what it holds back is listed."""

from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.kube import answering
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from tests.adapters.kube.conftest import Watched
from tests.adapters.kube.samples import rayjob, transport_to
from tests.adapters.kube.test_pauses import SLOW, Start
from tests.contracts.cluster_listener import RecordingListener
from tests.support.canned_server import CannedServer, Stream, list_of, refusal
from tests.support.memory.clock import SimulatedClock
from tests.support.waiting import wait_until

FAILS = refusal(500, "InternalError", "etcdserver: request timed out")


def test_one_that_ends_at_once_and_brings_nothing_is_a_trouble_and_is_listed_anew(
    watched: Start,
) -> None:
    """Who ends it holds back what there is to be told; everything else may go well."""
    slow: Watched = watched(list_of(), Stream(), pace=SLOW)
    wait_until(lambda: "ended at once" in slow.reflector.health.last_error, "it is a trouble")
    quick = watched(list_of(), Stream(), Stream(), Stream(), list_of(rayjob("a", 101)))
    assert quick.listener.wait_for("seen a")


@pytest.mark.parametrize("is_optional", [False, True])
def test_one_that_fails_for_a_while_is_told_once_a_minute(is_optional: bool) -> None:
    clock = SimulatedClock(datetime(2026, 11, 28, tzinfo=UTC))
    told = []
    with CannedServer(FAILS, list_of()) as server, capture_logs() as lines:
        watches = KubernetesWatches(transport_to(server), pace=SLOW, clock=clock)
        failing = watches.watch(RAYCLUSTERS, RecordingListener(), is_optional=is_optional)
        wait_until(lambda: failing.health.last_error != "", "the failure")
        well = watches.watch(RAYJOBS, RecordingListener())
        wait_until(lambda: well.health.synced, "the other one works")
        for _ in range(8):
            watches.tell_troubles()
            told.append(len(lines))
            clock.advance(15)
        for one in (failing, well):
            one.stop()
    assert told == ([0] * 8 if is_optional else [0, 1, 1, 1, 1, 2, 2, 2])
    assert all(line["event"] == "watch_failing" for line in lines)
    assert all("GET rayclusters in all namespaces: 500" in line["error"] for line in lines)


def test_nothing_is_told_of_a_single_failure() -> None:
    with CannedServer(FAILS) as server, capture_logs() as lines:
        watches = KubernetesWatches(transport_to(server), pace=SLOW)
        watch = watches.watch(RAYCLUSTERS, RecordingListener())
        wait_until(lambda: watch.health.pause_seconds > 0, "the failure")
        watches.tell_troubles()
        watch.health.last_error = ""
        watches.tell_troubles()
        watch.stop()
    assert lines == []


def test_nothing_is_told_of_each_watch_of_a_server_that_answers_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answering, "UNANSWERED_SECONDS", 0.0)
    with CannedServer() as server:
        transport = transport_to(server)
    with capture_logs() as lines:
        watches = KubernetesWatches(transport, pace=SLOW)
        watch = watches.watch(RAYCLUSTERS, RecordingListener())
        wait_until(lambda: watch.health.pause_seconds > 0, "the failure")
        watches.tell_troubles()
        watches.tell_troubles()
        watch.stop()
    assert [line for line in lines if line["event"] == "watch_failing"] == []
