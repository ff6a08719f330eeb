"""What the events of a Job say in words, and what its status says in a line."""

import pytest
from msgspec.structs import replace

from jobledger.core.batchjob import events
from jobledger.core.batchjob.events import BatchOwnEvent
from jobledger.core.batchjob.history.report_news import found, pods, shows_ready_pods
from jobledger.core.batchjob.history.signs import clues
from jobledger.core.batchjob.history.words import attempt_end_words, retry_words, words
from jobledger.core.batchjob.observations import SeenBatchStatus
from jobledger.core.batchjob.status.kubernetes_events import kubernetes_events
from jobledger.core.batchjob.status.status import status
from jobledger.core.batchjob.status.status_format import BATCHJOB_STATUS
from jobledger.core.jobs.history.signs import Source
from jobledger.core.values.documents import Manifest
from tests.support import batchjob_events as told
from tests.support.batchjobs import (
    IDENTITY,
    after,
    complete_end,
    completed,
    failed_end,
    manifest,
    play,
    retried,
    running,
)
from tests.support.rows import WHEN

GRANTED = replace(told.granted("it may be"), at=after(60), due_at=after(60))
ENDS = {"no end": None, "Complete": complete_end(), "Failed": failed_end()}


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (told.observed(), "Job etl-gxqht: nothing started"),
        (
            told.observed(active=4, ready=3, succeeded=2, failed=1, terminating=5),
            "Job etl-gxqht: active 4, ready 3, succeeded 2, failed 1, terminating 5",
        ),
        (
            told.observed(suspend=True, deleting=True),
            "Job etl-gxqht: suspended, being deleted",
        ),
        (told.observed(end=complete_end()), "Job etl-gxqht: complete"),
        (told.observed(end=failed_end()), "Job etl-gxqht: failed (BackoffLimitExceeded)"),
        (told.vanished(asked=True), "Job etl-gxqht is gone"),
        (told.vanished(asked=False), "Job etl-gxqht is gone, unasked"),
        (
            events.BatchJobAdopted(at=WHEN, status=SeenBatchStatus()),
            "found with a status; what had happened before was not seen",
        ),
        (told.ended("succeeded", reason=""), "attempt 1 succeeded"),
        (told.ended("failed", reason="Why"), "attempt 1 failed: Why"),
        (told.ended("unknown", reason=""), "attempt 1 ended unseen"),
        (GRANTED, "Attempt 1 is retried at once: it may be"),
        (
            replace(GRANTED, due_at=after(61)),
            "Attempt 1 is retried from 2026-11-21T12:01:01Z on: it may be",
        ),
        (told.refused("it may not"), "Attempt 1 is not retried: it may not"),
        (events.BatchJobSuspended(at=WHEN), "the job is suspended"),
        (events.BatchJobResumed(at=WHEN), "the job is resumed"),
        (events.BatchJobDeletionStarted(at=WHEN), "deletion of the Job was asked for"),
        (events.BatchJobDeleted(at=WHEN), "the Job is gone"),
        *(
            (
                events.OthersBatchStatusObserved(at=WHEN, status=SeenBatchStatus(end=end)),
                f"its status shows: {word}",
            )
            for word, end in ENDS.items()
        ),
    ],
)
def test_what_an_event_says(event: BatchOwnEvent, said: str) -> None:
    assert words(event) == said


def test_of_what_is_no_end_and_no_verdict_there_are_no_words_of_one() -> None:
    assert attempt_end_words(told.started()) == "ended"
    assert retry_words(told.started()) == ""


def test_a_resumption_is_a_kubernetes_event() -> None:
    (sent,) = kubernetes_events(IDENTITY, events.BatchJobResumed(at=after(1)))
    assert (sent.type, sent.reason, sent.action, sent.note) == (
        *("Normal", "Resumed", "Resume"),
        "Job resumed",
    )


def test_only_a_loss_that_nobody_asked_for_is_a_clue() -> None:
    assert list(clues(told.vanished(asked=True))) == [(Source.LOSS, "")]
    assert list(clues(told.vanished(asked=False))) == [(Source.LOSS, "attempt's Job")]


@pytest.mark.parametrize(
    ("seen", "ready"),
    [
        (told.observed(active=1), False),
        (told.observed(active=1, ready=1), True),
        (told.observed(succeeded=1), True),
        (told.observed(failed=1), False),
        (told.started(), False),
    ],
)
def test_pods_that_are_ready_or_have_succeeded_wait_no_more(
    seen: BatchOwnEvent, *, ready: bool
) -> None:
    assert shows_ready_pods(seen, "") is ready


@pytest.mark.parametrize(
    ("spec", "at_once"),
    [
        ({}, 1),
        ({"parallelism": 4}, 4),
        ({"parallelism": 0}, 0),
        ({"parallelism": 4, "completions": 3}, 3),
        ({"completions": 3}, 1),
    ],
)
def test_as_many_pods_run_at_once_as_there_are_completions_to_come(
    spec: Manifest, at_once: int
) -> None:
    template: Manifest = {"spec": {"containers": [{"name": "etl"}]}}
    (counted,) = pods({"spec": {**spec, "template": template}})
    assert (counted.pod, counted.number) == (template["spec"], at_once)


def test_a_job_that_was_found_had_run_unless_its_status_shows_no_start() -> None:
    suspended = SeenBatchStatus(suspended_since=after(-9))
    begun = replace(suspended, started_at=after(-20))
    assert found(play([manifest(status=suspended)]).state) is None
    for status_shown in (begun, SeenBatchStatus(started_at=after(-20))):
        seen = found(play([manifest(status=status_shown)]).state)
        assert seen is not None
        assert (seen.attempt, seen.may_have_run) == (1, True)


def test_a_status_is_told_in_a_line() -> None:
    shown = status(play(running()).state)
    assert BATCHJOB_STATUS.words(shown) == "active=1"
    assert BATCHJOB_STATUS.words({}) == "active=0"
    over = status(play(completed()).state)
    assert BATCHJOB_STATUS.words(over) == "SuccessCriteriaMet, Complete"
    resumed = play(
        [*running(), manifest(20, generation=2, suspend=True), manifest(30, generation=3)]
    )
    assert BATCHJOB_STATUS.words(status(resumed.state)) == "active=1"


def test_what_must_be_seen_before_the_next_is_told_by_the_status_itself() -> None:
    stories = (running(), completed(), retried(), [manifest(suspend=True)], [manifest()])
    shown = [BATCHJOB_STATUS.milestone(status(play(story).state)) for story in stories]
    assert shown == [
        "True True 0",
        "SuccessCriteriaMet=True Complete=True False False 0",
        "False False 1",
        "Suspended=True False False 0",
        "False False 0",
    ]
