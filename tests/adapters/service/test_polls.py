"""Asking heads: when, and what is told."""

import threading
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.adapters.kinds.rayjob.heads.polls import TOLD_AGAIN_AFTER, PollParts, Polls
from jobledger.adapters.kinds.rayjob.heads.reach import UNANSWERED_MAX
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import RayApiUnreachable, RayJobNotFound
from jobledger.core.jobs.policy import Policy
from jobledger.core.ports.ray_jobs import RayJobInfo, Submission
from jobledger.core.rayjob.observations.observations import (
    PollAnswered,
    PollNotFound,
    PollUnanswered,
)
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.spec.spec import RayJobSpec
from jobledger.core.rayjob.state import Attempt, KnownManifest, RayJobState
from tests.adapters.service.parts import JOB_ID, SECRET, Bench, run_all
from tests.rules.rayjob.jobs import HEAD_ENV
from tests.support.memory.ray_jobs import MemoryRayJobs
from tests.support.records import NOON

ADDRESS = "head:8265"
INTERVAL = 3.0


class Desk(Bench):
    """A running job whose head is asked."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asked: list[str] = []
        self.garbage: Exception | RayJobInfo | None = None
        self.before_answer: Callable[[], None] = lambda: None
        self.ray.start_head(ADDRESS)
        self.head = Talkative(self)
        self.polls = Polls(self.poll_parts())
        self.polls.open_gate()
        self.a_job = self.job({HEAD_ENV: [{"name": "TOKEN", "value": SECRET}]})
        self.stream = self.a_job.identity.stream_id

    def poll_parts(self) -> PollParts:
        return PollParts(
            ray=self.head,
            live=self.live,
            inbox=self.inbox,
            confirmations=self.confirmations,
            clock=self.clock,
            metrics=self.metrics,
            interval_seconds=INTERVAL,
            threads=2,
        )

    def submit(self, job_id: str = JOB_ID) -> None:
        self.ray.submit(
            ADDRESS,
            Submission(
                entrypoint="x", submission_id=job_id, metadata={}, runtime_env={}, resources={}
            ),
        )

    def watch(self, **attempt: Any) -> None:  # noqa: ANN401 fields of the attempt
        self.polls.update(self.stream, running(self.a_job, **attempt))

    def ask(self, seconds: float = INTERVAL) -> int:
        """Let time pass and ask whoever is due; return how many were asked."""
        self.clock.advance(seconds)
        before = len(self.asked)
        while self.polls.run_once():
            pass
        return len(self.asked) - before


class Talkative(MemoryRayJobs):
    """Heads that note who asks, and may talk nonsense."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.clock.now)
        self._desk = desk

    def info(self, address: str, submission_id: str, token: str = "") -> RayJobInfo:
        desk = self._desk
        desk.asked.append(submission_id)
        desk.before_answer()
        if isinstance(desk.garbage, Exception):
            raise desk.garbage
        return desk.garbage or desk.ray.info(address, submission_id, token)


def running(job: CachedJob, **fields: Any) -> RayJobState:  # noqa: ANN401 fields of the attempt
    """Return the state of a job that runs."""
    attempt = Attempt(
        number=1,
        cluster_name="train-x2x2x",
        job_id=JOB_ID,
        generation=1,
        started_at=NOON,
        address=ADDRESS,
    )
    manifest = KnownManifest(
        generation=1,
        digest="",
        spec=RayJobSpec(),
        policy=Policy(),
        finalizer=True,
        problem=None,
        deleting_at=None,
    )
    return RayJobState(
        identity=job.identity,
        manifest=manifest,
        phase=Phase.RUNNING,
        attempt=replace(attempt, **fields),
    )


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.submit()
    return desk


def test_a_running_job_is_asked_about_at_every_interval(desk: Desk) -> None:
    desk.watch()
    assert [desk.ask(), desk.ask(INTERVAL - 0.001), desk.ask(0.001)] == [1, 0, 1]


def test_nobody_is_asked_before_the_gate_opens(desk: Desk) -> None:
    desk.polls = Polls(desk.poll_parts())
    desk.watch()
    assert desk.ask() == 0
    desk.polls.open_gate()
    assert desk.ask() == 1


def test_what_is_answered_as_before_is_only_counted(desk: Desk) -> None:
    desk.watch()
    assert [desk.ask() for _ in range(4)] == [1] * 4
    (told,) = desk.said()
    assert isinstance(told, PollAnswered)
    assert told.status is JobStatus.RUNNING
    total = desk.confirmations.take(desk.stream)
    assert total is not None
    assert [(item.source, item.count) for item in total.sources] == [("Ray job", 3)]
    desk.ray.end(ADDRESS, JOB_ID, 0)
    desk.ask()
    (news,) = desk.said()
    assert isinstance(news, PollAnswered)
    assert news.status is JobStatus.SUCCEEDED


def test_an_answer_is_told_again_now_and_then_should_the_first_have_been_lost(desk: Desk) -> None:
    desk.watch()
    told = [len(desk.said()) for _ in range(TOLD_AGAIN_AFTER + 1) if desk.ask()]
    assert sum(told) == 2


def test_an_answer_is_not_told_again_while_it_waits(desk: Desk) -> None:
    desk.watch()
    for _ in range(10 * TOLD_AGAIN_AFTER):
        desk.ask()
    assert len(desk.said()) == 1


def test_a_look_asks_at_once_and_tells_even_what_is_the_same(desk: Desk) -> None:
    desk.watch()
    desk.ask()
    desk.said()
    looked: list[int] = []
    assert desk.polls.look(desk.stream, lambda: looked.append(len(desk.inbox)))
    assert desk.ask(0) == 1
    assert (looked, len(desk.said())) == ([1], 1), "told before whoever waits is called"
    assert desk.ask(INTERVAL) == 1, "and the interval goes on"


def test_a_look_that_the_state_wants_is_taken_at_once(desk: Desk) -> None:
    desk.watch()
    desk.ask()
    desk.said()
    desk.watch(look_wanted=True)
    assert (desk.ask(0), len(desk.said())) == (1, 1)


def test_a_look_asked_for_during_a_question_gets_an_answer_of_its_own(desk: Desk) -> None:
    """The one under way may have been given before whatever made somebody look."""
    looked: list[str] = []

    def look_once() -> None:
        desk.before_answer = lambda: None
        desk.polls.look(desk.stream, lambda: looked.append("looked"))

    desk.before_answer = look_once
    desk.watch()
    assert (desk.ask(), looked) == (2, ["looked"])


def test_where_nobody_is_asked_a_look_is_refused(desk: Desk) -> None:
    assert not desk.polls.look(desk.stream, lambda: pytest.fail("nobody has looked"))


def test_a_silent_head_is_told_now_and_then_without_secrets(desk: Desk) -> None:
    desk.garbage = RayApiUnreachable(f"connection refused, token {SECRET}")
    desk.watch()
    told = [item for _ in range(2 * TOLD_AGAIN_AFTER) if desk.ask() for item in desk.said()]
    assert [type(item) for item in told] == [PollUnanswered] * 2
    assert SECRET not in repr(told)
    assert len({item.id for item in told}) == 2


def test_another_kind_of_silence_is_news(desk: Desk) -> None:
    desk.watch()
    for trouble in ("connection refused", "no route", "connection refused"):
        desk.garbage = RayApiUnreachable(trouble)
        desk.ask()
    troubles = [item.trouble for item in desk.said() if isinstance(item, PollUnanswered)]
    assert troubles == ["connection refused", "no route", "connection refused"]


@pytest.mark.parametrize("garbage", [RayApiUnreachable("no"), RayJobNotFound("no"), ValueError()])
def test_what_is_no_answer_is_told_again_if_somebody_looks_or_the_state_has_changed(
    desk: Desk, garbage: Exception
) -> None:
    """What meant nothing to the state before may mean something now."""
    desk.garbage = garbage
    desk.watch()
    told = [(desk.ask(), len(desk.said())) for _ in range(2)]
    assert told == [(1, 1), (1, 0)]
    assert desk.polls.look(desk.stream, lambda: None)
    assert (desk.ask(0), len(desk.said())) == (1, 1)
    desk.watch(submitted=True)
    told = [(desk.ask(), len(desk.said())) for _ in range(2)]
    assert told == [(1, 1), (1, 0)]


def test_a_head_that_does_not_know_the_job_says_so(desk: Desk) -> None:
    desk.watch(job_id="unknown")
    for _ in range(TOLD_AGAIN_AFTER):
        desk.ask()
    (told,) = desk.said()
    assert isinstance(told, PollNotFound)


@pytest.mark.parametrize("garbage", [ValueError(SECRET), RayJobInfo(status="DREAMING")])
def test_an_answer_that_nobody_foresaw_is_silence(
    desk: Desk, garbage: ValueError | RayJobInfo
) -> None:
    desk.garbage = garbage
    looked: list[str] = []
    desk.watch()
    desk.polls.look(desk.stream, lambda: looked.append("looked"))
    desk.ask()
    (told,) = desk.said()
    assert isinstance(told, PollUnanswered)
    assert SECRET not in told.trouble
    assert looked == ["looked"]
    assert desk.ask() == 1, "it goes on being asked"


def test_after_silence_the_same_answer_is_news_and_after_that_the_same_silence(desk: Desk) -> None:
    desk.watch()
    for garbage in (None, RayApiUnreachable("no answer")) * 2:
        desk.garbage = garbage
        desk.ask()
    assert [type(item) for item in desk.said()] == [PollAnswered, PollUnanswered] * 2


def test_a_job_that_no_longer_runs_is_asked_no_more_and_whoever_waits_is_called(
    desk: Desk,
) -> None:
    looked: list[str] = []
    desk.watch()
    desk.polls.look(desk.stream, lambda: looked.append("looked"))
    desk.polls.update(desk.stream, replace(running(desk.a_job), phase=Phase.COMPLETE))
    assert (looked, desk.ask(), len(desk.polls)) == (["looked"], 0, 0)


def test_a_new_attempt_is_asked_about_under_its_own_id(desk: Desk) -> None:
    desk.submit("second")
    desk.watch()
    desk.ask()
    desk.watch(job_id="second", number=2)
    desk.ask()
    assert desk.asked == [JOB_ID, "second"]


def test_an_answer_about_the_old_attempt_is_told_as_that(desk: Desk) -> None:
    """The turn turns to the next attempt while the old one's head is being asked."""
    desk.submit("second")

    def next_attempt() -> None:
        desk.before_answer = lambda: None
        desk.watch(job_id="second", number=2)

    desk.before_answer = next_attempt
    desk.watch()
    desk.ask()
    desk.ask()
    told = [item.job_id for item in desk.said() if isinstance(item, PollAnswered)]
    assert told == [JOB_ID, "second"]
    assert desk.ask() == 1, "one target, asked once per interval"


def test_whoever_waits_for_a_look_when_the_target_changes_gets_one_at_the_new(desk: Desk) -> None:
    desk.submit("second")
    looked: list[list[str]] = []
    desk.watch()
    desk.polls.look(desk.stream, lambda: looked.append(list(desk.asked)))
    desk.watch(job_id="second", number=2)
    desk.ask(0)
    assert looked == [["second"]]


def test_a_submission_of_the_same_id_on_another_cluster_is_another(desk: Desk) -> None:
    desk.watch()
    desk.ask()
    desk.said()
    desk.ray.start_head("other:8265")
    desk.watch(address="other:8265", number=2)
    desk.ask()
    (told,) = desk.said()
    assert isinstance(told, PollNotFound)


def test_what_is_said_of_an_object_that_is_gone_is_not_even_asked(desk: Desk) -> None:
    """Its secrets are no longer known, so nothing could be redacted."""
    looked: list[str] = []
    desk.watch()
    desk.jobs.gone({"metadata": {"uid": desk.a_job.identity.uid}}, desk.clock.now())
    desk.said()
    desk.polls.look(desk.stream, lambda: looked.append("looked"))
    assert (desk.ask(), desk.said(), looked) == (0, [], ["looked"])


def test_after_stopping_nobody_is_asked_and_no_look_is_pretended(desk: Desk) -> None:
    desk.watch()
    desk.polls.start()
    desk.polls.stop()
    desk.polls.look(desk.stream, lambda: pytest.fail("nobody has looked"))
    before = len(desk.asked)
    assert threading.active_count() >= 1
    desk.clock.advance(INTERVAL)
    assert len(desk.asked) == before


def test_starting_and_stopping_from_many_threads_leaves_no_thread_behind(desk: Desk) -> None:
    for _ in range(10):
        polls = desk.polls = Polls(desk.poll_parts())
        polls.open_gate()
        calls: list[Callable[[], None]] = [
            polls.start,
            desk.watch,
            polls.start,
            lambda polls=polls: polls.forget(desk.stream),  # type: ignore[misc]  # a default
            polls.stop,
            desk.watch,
        ]
        run_all(calls)
        polls.stop()
        assert [t for t in threading.enumerate() if t in polls._threads] == []  # noqa: SLF001 leak


def test_it_is_said_once_that_no_head_answers_and_that_one_does_again(
    desk: Desk, log_lines: list[MutableMapping[str, Any]]
) -> None:
    """Nothing else does before the jobs fail for it, five minutes later."""
    desk.submit()
    desk.watch()
    desk.garbage = RayApiUnreachable("no route")
    for _ in range(3 * UNANSWERED_MAX):
        desk.ask()
    (line,) = log_lines
    assert (line["event"], line["error"]) == ("ray_heads_silent", "no route")
    assert "port 8265" in line["remedy"]
    desk.garbage = None
    desk.ask()
    desk.garbage = RayApiUnreachable("no route")
    for _ in range(UNANSWERED_MAX - 1):
        desk.ask()
    assert [line["event"] for line in log_lines] == ["ray_heads_silent", "ray_heads_answer"]
