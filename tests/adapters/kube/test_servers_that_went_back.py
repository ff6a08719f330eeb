"""An API server whose etcd was restored from a backup: all is listed anew, and the gap is told.

It opens a watch from a version that is still to come, says nothing, and sends nothing before its
versions have come as far again.
"""

from typing import Any, cast

import msgspec
import pytest

from jobledger.adapters.kube.decoding import ObjectDecoder
from jobledger.adapters.kube.transport import Request, Transport
from jobledger.adapters.kube.watching.listing import Selection
from jobledger.adapters.kube.watching.reflector import (
    VERSION_SECONDS,
    VERSION_SECONDS_MIN,
    Reflector,
)
from jobledger.adapters.kube.watching.timing import WatchPace, WatchTiming
from jobledger.core.errors import ClusterUnreachable
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.kube.samples import rayjob
from tests.contracts.cluster_listener import RecordingListener
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON


class QuietWatch:
    """The answer to a watch in which nothing happens."""

    chunked = True

    def __init__(self, clock: SimulatedClock, lasts: float) -> None:
        self._clock, self._lasts = clock, lasts

    def stream(self, *_: object, **__: object) -> list[bytes]:
        self._clock.advance(self._lasts)
        return []

    def close(self) -> None:
        """Nothing is held."""


class Server:
    """Shows what it is given, at the version it is given."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock, self.lasts = clock, 300.0
        self.version = "905"
        self.shown: list[dict[str, Any]] = [rayjob("a", 90), rayjob("b", 900)]
        self.is_down = False
        self.asked: list[str] = []

    def send(self, request: Request) -> bytes:
        self._note("version" if ("limit", "1") in request.query else "list")
        metadata = {"resourceVersion": self.version}
        page = {"kind": "RayJobList", "apiVersion": "ray.io/v1", "metadata": metadata}
        return msgspec.json.encode({**page, "items": self.shown})

    def open(self, request: Request, **_: object) -> QuietWatch:
        self._note(f"watch {dict(request.query)['resourceVersion']}")
        return QuietWatch(self.clock, self.lasts)

    def _note(self, what: str) -> None:
        if self.is_down:
            raise ClusterUnreachable("no answer")
        self.asked.append(what)


class Bench:
    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.server, self.listener = Server(self.clock), RecordingListener()
        self.reflector = Reflector(
            cast(Transport, self.server),
            Selection(resource=RAYJOBS, labels="a=b"),
            self.listener,
            ObjectDecoder(RAYJOBS),
            WatchTiming(clock=self.clock, random=lambda: 0.0, pace=WatchPace()),
        )

    def run(self, times: int) -> list[str]:
        """Let it list or watch so often; return what it asked."""
        self.server.asked.clear()
        for _ in range(times):
            self.clock.advance(self.reflector.run_once())
        return self.server.asked


def test_a_server_that_went_back_is_listed_anew() -> None:
    bench = Bench()
    assert bench.run(2) == ["list", "watch 905"]
    bench.server.version, bench.server.shown = "100", [rayjob("a", 90), rayjob("c", 98)]
    assert bench.run(3) == ["version", "list", "watch 100"]
    told = bench.listener.told
    assert [one.short for one in told] == [
        "seen a",
        "seen b",
        "synced",
        "interrupted",
        "seen a",
        "seen c",
        "gone b",
        "synced",
    ]
    reason = "the API server is at version 100 and was at 905: its etcd was restored"
    assert told[3].reason == reason
    assert bench.reflector.health.relists == 1
    assert bench.reflector.health.synced


def test_it_is_asked_as_soon_as_it_answers_again() -> None:
    bench = Bench()
    bench.server.lasts = VERSION_SECONDS_MIN
    bench.run(2)
    bench.server.is_down = True
    assert bench.run(3) == []
    assert bench.reflector.health.last_error == "no answer"
    bench.server.is_down, bench.server.version = False, "100"
    assert bench.run(2) == ["version", "list"]


@pytest.mark.parametrize("version", ["905", "2000", "", "not a number"])
def test_a_server_that_did_not_is_watched_on(version: str) -> None:
    bench = Bench()
    bench.run(2)
    bench.server.version = version
    assert bench.run(2) == ["version", "watch 905"] * 2
    assert bench.reflector.health.relists == 0


def test_a_watch_that_ends_again_and_again_asks_now_and_then() -> None:
    bench = Bench()
    bench.server.lasts = VERSION_SECONDS / 3
    asked = bench.run(11)
    assert asked.count("version") == 3
    assert asked.count("watch 905") == 10
