"""How long a watch waits before it tries again."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from jobledger.adapters.kube.watching.timing import Backoff, WatchPace
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.kube.conftest import Watched
from tests.adapters.kube.samples import rayjob, transport_to
from tests.contracts.cluster_listener import RecordingListener
from tests.support.canned_server import (
    Answer,
    CannedServer,
    Gate,
    Scripted,
    Stream,
    list_of,
    refusal,
    watch_line,
)
from tests.support.memory.clock import SimulatedClock
from tests.support.waiting import wait_until

SLOW = WatchPace(first_pause_seconds=100.0, longest_pause_seconds=150.0)
CHANGE = watch_line("MODIFIED", rayjob("a", 101))

Start = Callable[..., Watched]


def test_pauses_double_up_to_a_cap() -> None:
    backoff = Backoff(lambda: 1.0, first_seconds=1, cap_seconds=10)
    assert [backoff.next_seconds() for _ in range(6)] == [1, 2, 4, 8, 10, 10]


def test_the_dice_cut_a_pause_by_a_half_at_most() -> None:
    backoff = Backoff(lambda: 0.0, first_seconds=1, cap_seconds=10)
    assert [backoff.next_seconds() for _ in range(3)] == [0.5, 1, 2]


def test_success_begins_with_the_first_pause_again() -> None:
    backoff = Backoff(lambda: 1.0, first_seconds=1, cap_seconds=10)
    backoff.next_seconds()
    backoff.reset()
    assert backoff.next_seconds() == 1


def test_a_pause_stays_capped_for_ever() -> None:
    backoff = Backoff(lambda: 1.0, first_seconds=1, cap_seconds=10)
    assert {backoff.next_seconds() for _ in range(5000)} == {1, 2, 4, 8, 10}


@pytest.mark.parametrize(
    ("answer", "least", "most"),
    [
        (refusal(429, "TooManyRequests", retryAfterSeconds=120), 120, 120),
        (Answer(429, b"slow down", {"Retry-After": "140"}), 140, 140),
        (Answer(503, b"", {"Retry-After": "99999999"}), 300, 300),
        (refusal(429, "TooManyRequests", retryAfterSeconds=1), 50, 100),
        (Answer(500), 50, 100),
        (Stream(), 50, 100),
    ],
    ids=[
        "as the Status asks",
        "as the header asks",
        "never as long as a server likes",
        "not shorter than the backoff",
        "a failure",
        "a watch that ends at once and brings nothing",
    ],
)
def test_the_pause_after_a_watch_ends(
    watched: Start, answer: Scripted, least: float, most: float
) -> None:
    one = watched(list_of(), answer, pace=SLOW)
    wait_until(lambda: one.reflector.health.pause_seconds > 0, "a pause")
    assert least <= one.reflector.health.pause_seconds <= most


def test_a_watch_that_brought_something_is_resumed_at_once(watched: Start) -> None:
    one = watched(list_of(), Stream((CHANGE,)), pace=SLOW)
    assert one.watches(2) == ["100", "101"]


def test_a_watch_that_lasted_is_resumed_at_once_though_nothing_happened() -> None:
    clock, gate = SimulatedClock(datetime(2026, 11, 21, tzinfo=UTC)), Gate()
    at_which_version = list_of()
    with CannedServer(list_of(), Stream((gate,)), at_which_version) as server:
        watches = KubernetesWatches(transport_to(server), pace=SLOW, clock=clock)
        reflector = watches.watch(RAYJOBS, RecordingListener())
        wait_until(lambda: reflector.health.resource_version == "100", "the watch")
        server.wait_for_requests(2)
        # It lasts from when it is open, which is later than the request for it is there.
        wait_until(lambda: reflector._stream is not None, "it to be open")  # noqa: SLF001
        clock.advance(300)
        gate.set()
        assert server.wait_for_requests(4)[3].query["resourceVersion"] == "100"
        reflector.stop()


def test_a_first_failure_is_named_and_a_success_clears_it(watched: Start) -> None:
    one = watched(refusal(403, "Forbidden", "rayjobs is forbidden"), list_of())
    one.listener.wait_for("synced")
    wait_until(lambda: one.reflector.health.last_error == "", "the error to be cleared")
    slow = watched(refusal(403, "Forbidden", "rayjobs is forbidden"), pace=SLOW)
    wait_until(lambda: slow.reflector.health.pause_seconds > 0, "a pause")
    assert "rayjobs is forbidden" in slow.reflector.health.last_error
    assert slow.reflector.health.synced is False


@pytest.mark.parametrize("is_optional", [False, True])
def test_an_optional_watch_that_is_refused_is_no_trouble(is_optional: bool) -> None:
    refused = refusal(403, "Forbidden", "rayjobs is forbidden")
    with CannedServer(refused) as server:
        watches = KubernetesWatches(transport_to(server), pace=SLOW)
        watch = watches.watch(RAYJOBS, RecordingListener(), is_optional=is_optional)
        wait_until(lambda: watch.health.last_error != "", "the refusal")
        assert (watches.troubles() == []) is is_optional
        watch.stop()
