"""A stream may end, or be unwanted, before the follower knows that it has begun."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from jobledger.adapters.kinds.rayjob.heads.following import LASTED_SECONDS, Follower
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON


@dataclass
class Stream:
    """A log that is followed."""

    told: Callable[[], None]
    is_stopped: bool = False

    def stop(self) -> None:
        """See `core.ports.job_ends.Following.stop`."""
        self.is_stopped = True


@dataclass
class Ends:
    """Every log can be followed; something may happen before who asked knows it."""

    meanwhile: Callable[[Stream], None] = lambda _: None
    streams: list[Stream] = field(default_factory=list)

    def follow(
        self,
        address: str,  # noqa: ARG002 as in the port
        submission_id: str,  # noqa: ARG002 as in the port
        token: str,  # noqa: ARG002 as in the port
        told: Callable[[], None],
    ) -> Stream:
        """See `core.ports.job_ends.JobEnds.follow`."""
        stream = Stream(told)
        self.streams.append(stream)
        self.meanwhile(stream)
        return stream

    def close(self) -> None:
        """See `core.ports.job_ends.JobEnds.close`."""


class Desk:
    """A follower, the time, and the hints that came."""

    def __init__(self) -> None:
        self.ends = Ends()
        self.clock = SimulatedClock(NOON)
        self.hints = 0
        self.follower = Follower(self.ends, self.clock, self._hinted)

    def _hinted(self) -> None:
        self.hints += 1

    def begin(self) -> None:
        """Try to follow, long after the last try."""
        self.clock.advance(LASTED_SECONDS)
        self.follower.begin("head:8265", "train-abcde", "")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_stream_that_ends_as_it_begins_is_a_hint_and_followed_no_more(desk: Desk) -> None:
    desk.ends.meanwhile = lambda stream: stream.told()
    desk.begin()
    assert (desk.hints, desk.follower.is_on) == (1, False)
    desk.ends.meanwhile = lambda _: None
    desk.begin()
    assert (desk.hints, desk.follower.is_on) == (1, True), "and can be followed anew"


def test_a_stream_that_is_unwanted_as_it_begins_is_let_go(desk: Desk) -> None:
    desk.ends.meanwhile = lambda _: desk.follower.stop()
    desk.begin()
    assert not desk.follower.is_on
    assert desk.ends.streams[0].is_stopped


def test_a_stream_of_the_past_tells_nothing(desk: Desk) -> None:
    desk.begin()
    desk.follower.stop()
    desk.begin()
    past, present = desk.ends.streams
    past.told()
    assert (desk.hints, desk.follower.is_on) == (0, True)
    present.told()
    present.told()
    assert (desk.hints, desk.follower.is_on) == (1, False)
