"""Whatever an API server answers to lists and watches, an hour of it has few requests.

Time is simulated: an answer takes milliseconds, and a pause passes at once.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from jobledger.adapters.kube.decoding import ObjectDecoder
from jobledger.adapters.kube.transport import Request, Transport
from jobledger.adapters.kube.watching.listing import PAGES_MAX, Selection
from jobledger.adapters.kube.watching.reflector import Reflector
from jobledger.adapters.kube.watching.timing import WatchPace, WatchTiming
from jobledger.core.errors import (
    ClusterUnreachable,
    RequestForbidden,
    RequestInvalid,
    RequestThrottled,
    VersionExpired,
)
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.kube.samples import bookmark, rayjob
from tests.contracts.cluster_listener import RecordingListener
from tests.properties.effort import lighter
from tests.support.memory.clock import SimulatedClock

pytestmark = pytest.mark.faults

HOURS = 2
ANSWER_SECONDS = 0.004
REQUESTS_PER_HOUR_MAX = 1600
"""Of one watch. A pause is 2.5 s at least once it has grown as far as it does after news."""
MIXED_REQUESTS_PER_HOUR_MAX = 3200
"""The same where watches of several sorts follow each other: one that breaks off after five seconds
lets those that fail after it begin with the first pauses."""
LISTS_PER_HOUR_MAX = 500
"""Fifteen seconds lie between two at least, once the pause has grown; some take two requests."""
QUESTIONS_PER_HOUR_MAX = 361
"""At which version the server is: one in ten seconds."""


@dataclass
class Stream:
    """The answer to a watch: lines, one after the other, and how long it lasts around them."""

    clock: SimulatedClock
    lines: list[bytes]
    lasts: float
    breaks: bool
    silent: float = 0.0
    """So long nothing comes at first."""
    chunked: bool = True

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        self.clock.advance(self.silent)
        for line in self.lines:
            self.clock.advance(ANSWER_SECONDS)
            yield line + b"\n"
        self.clock.advance(self.lasts)
        if self.breaks:
            raise urllib3.exceptions.ProtocolError("Connection broken")

    def close(self) -> None:
        """Nothing is held."""


Answer = Callable[["Server"], Stream]


@dataclass
class Server:
    """Answers lists and watches with what it is given, again and again."""

    clock: SimulatedClock
    watches: Iterator[Answer]
    lists: Iterator[str]
    version: int = 100
    asked: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    pages: Iterator[int] = field(default_factory=itertools.count)

    def send(self, request: Request) -> bytes:
        self.clock.advance(ANSWER_SECONDS)
        is_question = ("limit", "1") in request.query
        (self.questions if is_question else self.asked).append("list")
        kind = next(self.lists)
        if kind in REFUSALS:
            raise REFUSALS[kind]
        token = {"endless": f"{next(self.pages)}", "the same": "x"}.get(kind, "")
        page = {
            "kind": "RayJobList",
            "apiVersion": "ray.io/v1",
            "metadata": {"resourceVersion": str(self.version), "continue": token},
            "items": [],
        }
        return b"no JSON" if kind == "nonsense" else msgspec.json.encode(page)

    def open(self, *_: object, **__: object) -> Stream:
        self.clock.advance(ANSWER_SECONDS)
        self.asked.append("watch")
        return next(self.watches)(self)

    def next_version(self) -> int:
        self.version += 1
        return self.version


REFUSALS: dict[str, Exception] = {
    "410": VersionExpired("too old"),
    "refused": ClusterUnreachable("no answer: ConnectionRefusedError"),
    "401": RequestForbidden("401"),
    "403": RequestForbidden("403"),
    "400": RequestInvalid("400"),
    "500": ClusterUnreachable("500"),
    "429": RequestThrottled("429", 1.0),
    "429 for long": RequestThrottled("429", 120.0),
    "429 at once": RequestThrottled("429", 0.0),
    "503": RequestThrottled("503", None),
}


def event(kind: str, about: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": about})


def expired() -> bytes:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    return event("ERROR", status)


def brings(*kinds: str, lasts: float = 0.0, breaks: bool = False, silent: float = 0.0) -> Answer:
    def answer(server: Server) -> Stream:
        lines = []
        for kind in kinds:
            match kind:
                case "news":
                    lines.append(event("MODIFIED", rayjob("a", server.next_version())))
                case "bookmark":
                    lines.append(event("BOOKMARK", bookmark(server.next_version())))
                case "expired":
                    lines.append(expired())
                case "nonsense":
                    lines.append(b"{")
                case _:
                    lines.append(event("STRANGE", rayjob("a", server.next_version())))
        return Stream(server.clock, lines, lasts, breaks, silent)

    return answer


def refuses(kind: str) -> Answer:
    def answer(_: Server) -> Stream:
        raise REFUSALS[kind]

    return answer


WATCHES: dict[str, Answer] = {
    **{f"is refused with {kind}": refuses(kind) for kind in REFUSALS},
    "ends at once": brings(),
    "ends after news": brings("news"),
    "ends after a storm of news": brings(*["news"] * 10),
    "ends after bookmarks": brings(*["bookmark"] * 20),
    "breaks off at once": brings(breaks=True),
    "breaks off after news": brings("news", breaks=True),
    "breaks off after five seconds": brings(lasts=5.1, breaks=True),
    "is too old at once": brings("expired"),
    "is too old after news": brings("news", "expired"),
    "is too old after a bookmark": brings("bookmark", "expired"),
    "is no JSON": brings("nonsense"),
    "is no JSON after news": brings("news", "nonsense"),
    "is of an unknown type": brings("strange"),
    "lasts": brings("news", lasts=300.0),
}
LISTS = ["empty", "nonsense", "endless", "the same", *REFUSALS]


def live(watches: list[Answer], lists: list[str], dice: float) -> Server:
    """Let a watch go on for some hours; return what it asked."""
    clock = SimulatedClock(datetime(2026, 11, 23, tzinfo=UTC))
    server = Server(clock, itertools.cycle(watches), itertools.cycle(lists))
    reflector = Reflector(
        cast(Transport, server),
        Selection(resource=RAYJOBS),
        RecordingListener(),
        ObjectDecoder(RAYJOBS),
        WatchTiming(clock=clock, random=lambda: dice, pace=WatchPace()),
    )
    enough = HOURS * MIXED_REQUESTS_PER_HOUR_MAX
    while clock.monotonic() < HOURS * 3600 and len(server.asked) <= enough:
        clock.advance(reflector.run_once())
    return server


def check(server: Server, per_hour: int = REQUESTS_PER_HOUR_MAX) -> None:
    assert len(server.asked) <= HOURS * per_hour
    assert server.asked.count("list") <= HOURS * LISTS_PER_HOUR_MAX
    assert len(server.questions) <= HOURS * QUESTIONS_PER_HOUR_MAX


@pytest.mark.parametrize("name", WATCHES)
def test_a_watch_that(name: str) -> None:
    check(live([WATCHES[name]], ["empty"], 0.0))


@pytest.mark.parametrize(
    "watches",
    [
        pytest.param([brings("expired", silent=10.0)], id="itself"),
        pytest.param([brings(lasts=10.0, breaks=True), brings("expired")], id="one of two"),
    ],
)
def test_a_list_waits_though_a_watch_before_it_lasted_for_a_while(watches: list[Answer]) -> None:
    """A list costs more than a watch: ten seconds are enough for another watch, not for a list."""
    server = live(watches, ["empty"], 0.0)
    assert server.asked.count("list") <= HOURS * 150


@pytest.mark.parametrize("name", [name for name in LISTS if name != "endless"])
def test_a_list_that_is(name: str) -> None:
    check(live([WATCHES["lasts"]], [name], 0.0))


def test_a_list_without_end_is_given_up_and_begun_again_later() -> None:
    server = live([WATCHES["is refused with 400"]], ["endless"], 0.0)
    assert server.asked.count("list") == PAGES_MAX, (
        "after it came a pause, or the hours would go on"
    )
    assert server.clock.monotonic() > PAGES_MAX * ANSWER_SECONDS


@lighter
@given(
    st.lists(st.sampled_from(sorted(WATCHES)), min_size=1, max_size=4),
    st.lists(st.sampled_from(sorted(set(LISTS) - {"endless"})), min_size=1, max_size=4),
    st.floats(0, 1),
)
def test_whatever_comes_an_hour_has_few_requests(
    watches: list[str], lists: list[str], dice: float
) -> None:
    server = live([WATCHES[name] for name in watches], lists, dice)
    check(server, MIXED_REQUESTS_PER_HOUR_MAX)


def test_a_pause_after_an_outage_is_short_once_a_watch_has_lasted() -> None:
    clock = SimulatedClock(datetime(2026, 11, 23, tzinfo=UTC))
    answers = [*[WATCHES["is refused with refused"]] * 20, WATCHES["lasts"], WATCHES["lasts"]]
    server = Server(
        clock, itertools.chain(answers, [refuses("refused")]), itertools.repeat("empty")
    )
    reflector = Reflector(
        cast(Transport, server),
        Selection(resource=RAYJOBS),
        RecordingListener(),
        ObjectDecoder(RAYJOBS),
        WatchTiming(clock=clock, random=lambda: 1.0, pace=WatchPace()),
    )
    pauses = [reflector.run_once() for _ in range(1 + len(answers) + 1)]
    assert pauses[20] == 30.0, "the longest"
    assert pauses[21:] == [0.0, 0.0, 0.2]
