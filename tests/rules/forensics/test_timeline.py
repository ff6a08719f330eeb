"""The story of a job in words."""

from msgspec.structs import replace

from jobledger.core.forensics.story.timeline import in_words, timeline
from jobledger.core.rayjob.decide.decide import RAYJOB
from tests.frozen.samples import every_event
from tests.support.rayjob_builders import cluster_of, submission_of
from tests.support.rayjob_events import ray_says
from tests.support.rayjob_stories import failed_attempts, working
from tests.support.rows import play


def told(number: int, **spec: object) -> list[str]:
    """Return the words of a job of which so many attempts have failed."""
    history = play(RAYJOB, failed_attempts(number, **spec)).history
    return [line.words for line in timeline(enumerate(history, start=1))]


def test_the_story_of_a_running_job() -> None:
    history = play(RAYJOB, working()).history
    assert [line.words for line in timeline(enumerate(history, start=1))] == [
        "RayJob ml/train was seen",
        "manifest generation 1",
        f"attempt 1 began on RayCluster {cluster_of()}, its Ray job is {submission_of()}",
        "add finalizer rayjob is asked for",
        f"create cluster {cluster_of()} is asked for",
        "add finalizer rayjob: done",
        f"create cluster {cluster_of()}: done",
        f"RayCluster {cluster_of()} is ready",
        "create submitter train is asked for",
        "create submitter train: done",
        "attempt 1 is running",
        "create service train-head-svc is asked for",
        "create service train-head-svc: done",
        "Ray says RUNNING",
    ]


def test_a_retry_says_by_which_numbers_it_was_granted() -> None:
    words = told(1, backoff_limit=2)
    assert "attempt 1 failed: AppFailed: ValueError: 42" in words
    assert "retry granted: failed attempt 1 is within backoffLimit 2 (application)" in words
    assert "Ray says FAILED, exit code 1: ValueError: 42" in words
    assert "retry fired, 2.000 s after it was due" in words
    assert "nothing of attempt 1 is left" in words


def test_every_line_says_which_attempt_and_event_it_is() -> None:
    history = play(RAYJOB, failed_attempts(1, backoff_limit=1)).history
    lines = list(timeline(enumerate(history, start=1)))
    assert [line.version for line in lines] == list(range(1, len(history) + 1))
    assert [lines[0].attempt, lines[5].attempt, lines[-1].attempt] == [0, 1, 2]
    assert lines[0].event == "JobDiscovered"
    assert all(line.at == event.at for line, event in zip(lines, history, strict=True))


def test_every_event_has_words_that_fit_a_line() -> None:
    for event in every_event():
        words = in_words(event)
        assert words, event
        assert "\n" not in words, event


def test_of_a_long_message_the_story_has_the_beginning_and_what_tells_most() -> None:
    log = "".join(f"step {number}: loss 0.{number}\n" for number in range(500))
    event = replace(ray_says("FAILED"), message=f"Job failed:\n{log}KeyError: 'encoder'\n")
    words = in_words(event)
    assert len(words) <= 260
    assert words == "Ray says FAILED: Job failed: … KeyError: 'encoder'"
