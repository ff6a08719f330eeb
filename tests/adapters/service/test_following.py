"""Jobs whose logs are followed: their ends are noticed by a hint, and asked about as ever."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from jobledger.adapters.kinds.rayjob.heads.polls import Polls
from jobledger.core.errors import RayApiUnreachable
from jobledger.core.rayjob.observations.observations import PollAnswered
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.spec import RayJobSpec, SubmissionMode
from jobledger.core.rayjob.state import RayJobState
from tests.adapters.service.parts import JOB_ID
from tests.adapters.service.test_polls import ADDRESS, INTERVAL, Desk, running


@dataclass
class Streams:
    """Logs that can be followed; they end when a test says so."""

    refuses: bool = False
    asked: int = 0
    open: list[tuple[str, Callable[[], None]]] = field(default_factory=list)

    def follow(
        self,
        address: str,
        submission_id: str,
        token: str,  # noqa: ARG002 as in the port
        told: Callable[[], None],
    ) -> "One":
        """See `core.ports.job_ends.JobEnds.follow`."""
        self.asked += 1
        if self.refuses:
            raise RayApiUnreachable("no log to follow")
        entry = (f"{submission_id} at {address}", told)
        self.open.append(entry)
        return One(self, entry)

    def close(self) -> None:
        """See `core.ports.job_ends.JobEnds.close`."""
        self.open.clear()

    def end(self) -> None:
        """Let the only stream end."""
        ((_, told),) = self.open
        self.open.clear()
        told()


@dataclass
class One:
    """A job that is followed."""

    streams: Streams
    entry: tuple[str, Callable[[], None]]

    def stop(self) -> None:
        """See `core.ports.job_ends.Following.stop`."""
        if self.entry in self.streams.open:
            self.streams.open.remove(self.entry)


class FollowingDesk(Desk):
    """A job in HTTPMode, whose end nobody but Ray tells."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.streams = Streams()
        self.polls = Polls(dataclasses.replace(self.poll_parts(), ends=self.streams))
        self.polls.open_gate()
        self.submit()

    def state(self, mode: SubmissionMode = SubmissionMode.HTTP) -> RayJobState:
        """Return the job as it runs."""
        state = running(self.a_job, submitted=True)
        assert state.manifest is not None
        manifest = replace(state.manifest, spec=RayJobSpec(submission_mode=mode))
        return replace(state, manifest=manifest)


@pytest.fixture
def desk() -> FollowingDesk:
    return FollowingDesk()


def test_a_job_that_runs_is_followed_after_the_first_answer(desk: FollowingDesk) -> None:
    desk.polls.update(desk.stream, desk.state())
    assert desk.streams.open == []
    desk.ask()
    assert [what for what, _ in desk.streams.open] == [f"{JOB_ID} at {ADDRESS}"]
    assert desk.ask(4 * INTERVAL) == 0, "and is asked about rarely"
    assert desk.ask(INTERVAL) == 1
    assert desk.streams.asked == 1, "and not followed twice"


def test_the_end_of_the_log_is_asked_about_at_once(desk: FollowingDesk) -> None:
    desk.polls.update(desk.stream, desk.state())
    desk.ask()
    desk.said()
    desk.ray.end(ADDRESS, JOB_ID, 0)
    desk.streams.end()
    assert desk.ask(0) == 1
    (told,) = desk.said()
    assert isinstance(told, PollAnswered)
    assert told.status is JobStatus.SUCCEEDED


def test_a_log_that_ends_before_its_job_is_asked_about_and_followed_anew(
    desk: FollowingDesk,
) -> None:
    desk.polls.update(desk.stream, desk.state())
    desk.ask()
    desk.streams.end()
    assert desk.ask(0) == 1
    assert desk.streams.open == [], "not at once"
    desk.ask(2)
    assert len(desk.streams.open) == 1


def test_a_head_that_lets_no_log_be_followed_is_asked_as_ever(desk: FollowingDesk) -> None:
    desk.streams.refuses = True
    desk.polls.update(desk.stream, desk.state())
    asked = sum(desk.ask(0.5) for _ in range(120))
    assert 15 <= asked <= 21, "over a minute"
    assert desk.streams.asked < 10, "and not tried at every question"


def test_a_job_that_ended_is_followed_no_more(desk: FollowingDesk) -> None:
    desk.polls.update(desk.stream, desk.state())
    desk.ask()
    desk.polls.forget(desk.stream)
    assert desk.streams.open == []


def test_a_new_attempt_is_followed_instead_of_the_old(desk: FollowingDesk) -> None:
    desk.polls.update(desk.stream, desk.state())
    desk.ask()
    desk.ray.start_head("other:8265")
    state = desk.state()
    assert state.attempt is not None
    attempt = replace(state.attempt, address="other:8265", number=2)
    desk.polls.update(desk.stream, replace(state, attempt=attempt))
    assert desk.streams.open == []


@pytest.mark.parametrize("mode", [SubmissionMode.K8S_JOB, SubmissionMode.SIDECAR])
def test_a_job_with_a_submitter_needs_no_hint(desk: FollowingDesk, mode: SubmissionMode) -> None:
    desk.polls.update(desk.stream, desk.state(mode))
    desk.ask()
    assert desk.streams.asked == 0


def test_when_the_service_stops_nobody_is_followed(desk: FollowingDesk) -> None:
    desk.polls.update(desk.stream, desk.state())
    desk.ask()
    desk.polls.stop()
    assert desk.streams.open == []
