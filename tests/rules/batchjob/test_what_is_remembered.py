"""What the state of a Job keeps of what was done and seen, and what it lets go again."""

import pytest
from msgspec.structs import replace

from jobledger.core.batchjob.events import AttemptJobVanished, BatchJobFailed
from jobledger.core.batchjob.observations import PodCounts, SeenBatchStatus
from jobledger.core.batchjob.state import is_open
from jobledger.core.jobs.control.went_back import GONE
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import Outcome
from jobledger.core.jobs.policy import Policy
from tests.support.batchjobs import (
    BACKOFF,
    CREATE,
    DELETE,
    RESUME,
    SUSPEND,
    Played,
    Step,
    after,
    complete_end,
    completed,
    created,
    deleted,
    due,
    failed_end,
    failing,
    job,
    job_gone,
    manifest,
    manifest_gone,
    name_of,
    outcome,
    play,
    retried,
    running,
)

RETRY = DecisionKind.EFFECT_RETRY
WHY = "this installation only records"
SECOND = (*retried(backoff_limit=3), created(63, 2), job(70, 2, active=1))
"""The second attempt is at work."""
LATE = job(80, uid="late")
"""The first one's Job is made once more."""


def open_effects(played: Played) -> list[tuple[str, str]]:
    return [(one.desired.kind.value, one.desired.name) for one in played.state.effects]


def pauses(played: Played) -> list[float]:
    """Return when what waits is tried again, in seconds after noon."""
    waits = [item for item in played.state.decisions if item.kind is RETRY]
    return [(item.due_at - after(0)).total_seconds() for item in waits]


def refused_creation(at: float) -> Step:
    return outcome(CREATE, at, Outcome.FAILED, trouble="exceeded quota")


def toggled(times: int) -> list[Step]:
    """Return a job whose user suspends it, and somebody lets its attempt go on each time."""
    story: list[Step] = [*running(), manifest(20, generation=2, suspend=True)]
    for number in range(times):
        story += [
            outcome(SUSPEND, 21 + 10 * number, uid="job-1"),
            job(22 + 10 * number, active=1, version=str(100 + number)),
        ]
    return story


def test_what_is_done_again_and_again_waits_from_the_fourth_time_on() -> None:
    assert len(open_effects(play(toggled(3)))) == 1
    waiting = play(toggled(4))
    assert (open_effects(waiting), len(pauses(waiting))) == ([], 1)


def test_what_was_refused_before_it_was_done_does_not_count_any_more() -> None:
    refused = [manifest(), refused_creation(1)]
    assert pauses(play(refused)) == [11]
    assert pauses(play([*refused, due(RETRY), refused_creation(12)])) == [32]
    made = [*refused, due(RETRY), created(12)]
    assert play(made).state.refused == ()


def test_a_try_that_falls_due_is_no_retry_of_the_attempt() -> None:
    played = play([manifest(backoff_limit=3), refused_creation(1), due(RETRY)])
    assert open_effects(played) == [("create_attempt_job", name_of(1))]
    assert played.state.attempt is not None
    assert (played.state.attempt.number, played.state.attempt.retry_due) == (1, False)


def test_who_deletes_a_job_of_an_earlier_attempt_has_not_asked_for_the_loss_of_the_present() -> (
    None
):
    (lost, *_) = play([*SECOND, LATE, job_gone(81, 2)]).news
    assert isinstance(lost, AttemptJobVanished)
    assert (lost.attempt, lost.asked) == (2, False)
    (done, *_) = play([*failing(backoff_limit=1), job_gone(61)]).news
    assert isinstance(done, AttemptJobVanished)
    assert done.asked, "its deletion is under way"


def test_of_several_late_jobs_each_is_deleted() -> None:
    third = [
        *SECOND,
        job(75, 2, end=failed_end(75), failed=1),
        deleted(76, 2),
        job_gone(77, 2),
        created(78, 3),
        job(79, 3, active=1),
    ]
    refused = outcome(DELETE, 80.5, Outcome.FAILED, trouble="not allowed")
    late = play([*third, LATE, refused, job(81, 2, uid="late, too"), due(RETRY)])
    assert sorted(open_effects(late)) == [
        ("delete_attempt_job", name_of(1)),
        ("delete_attempt_job", name_of(2)),
    ]


def test_what_is_done_about_the_present_job_waits_for_no_late_one() -> None:
    suspended = manifest(81, generation=2, suspend=True, backoff_limit=3)
    assert open_effects(play([*SECOND, LATE, suspended])) == [
        (DELETE.value, name_of(1)),
        (SUSPEND.value, name_of(2)),
    ]


def test_between_two_attempts_the_reason_is_that_of_the_last() -> None:
    state = play(failing(backoff_limit=1)).state
    assert (state.phase, state.reason, state.message) == (
        "Retrying",
        "BackoffLimitExceeded",
        BACKOFF,
    )


def test_the_end_of_a_deletion_of_a_late_job_says_nothing_of_the_present_one() -> None:
    before = play([*SECOND, LATE, job_gone(81, uid="late")]).state
    (effect,) = play([*SECOND, LATE]).state.effects
    after_it = play([*SECOND, LATE, job_gone(81, uid="late")]).state
    assert effect.desired.uid == "late"
    assert after_it.attempt == before.attempt
    ended = play([*SECOND, LATE, outcome(DELETE, 81, uid="late", gone=True)])
    assert ended.state.attempt is not None
    assert ended.state.attempt.job is not None


def test_news_after_the_deletion_of_the_job_are_none() -> None:
    over = [*running(), manifest_gone(100)]
    assert play([*over, job(101, failed=1)]).said == []
    assert play([*over, job_gone(101)]).said == []


def test_of_a_job_that_is_gone_nothing_is_left_to_do() -> None:
    assert is_open(play(running()).state)
    assert not is_open(play([*running(), manifest_gone(100)]).state)
    assert not is_open(play([]).state)


def test_a_look_that_is_older_than_what_is_known_is_no_news() -> None:
    known = [*running(), job(20, active=1, failed=1, version="110")]
    assert play([*known, job(21, active=1, version="99")]).said == []
    assert play([*known, job(21, active=1, version="120")]).said == ["AttemptJobObserved"]
    assert play([*failing(), job(61, active=1)]).said == [], "no end is taken back"


def test_the_first_look_at_what_was_made_here_is_news_though_it_tells_nothing_new() -> None:
    assert play([manifest(), created(), job(2)]).said == ["AttemptJobObserved"]


def test_a_job_that_went_unseen_comes_back_by_its_name_or_not_at_all() -> None:
    gone = [*failing(backoff_limit=1), deleted(61, gone=True)]
    assert play(gone).state.gone == ("job-1",)
    assert play([*gone, job(63, active=1)]).said == [], "late news"
    replaced = play([*running(), job(20, uid="another", active=1)])
    assert replaced.state.gone == ("job-1",)
    back = play([*running(), job_gone(20), replace(job(30), instead_of=GONE)])
    assert back.state.gone == ()


def test_a_deletion_that_was_asked_for_is_not_asked_for_again_however_often_it_is_seen() -> None:
    story = [*failing(backoff_limit=1), deleted(61)]
    looks = [job(62 + n, end=failed_end(), failed=1 + n) for n in range(2)]
    assert open_effects(play([*story, *looks])) == []


def test_an_attempt_whose_job_is_back_is_not_lost() -> None:
    """Its deletion was told while etcd was restored."""
    played = play([*running(), job_gone(20), replace(job(30, active=1), instead_of=GONE)])
    assert played.state.attempt is not None
    assert not played.state.attempt.is_lost


@pytest.mark.parametrize(
    "story",
    [
        [manifest(more={"option_problems": ("x: no",)})],
        [manifest(), manifest(5, generation=2, more={"option_problems": ("x: no",)})],
        [manifest(), manifest(5, deleting=True, more={"option_problems": ("x: no",)})],
    ],
    ids=["at first sight", "of an edit", "of one that is being deleted"],
)
def test_annotations_that_are_left_out_are_told(story: list[Step]) -> None:
    assert "AnnotationsRejected" in play(story).said


def test_a_failure_that_is_under_way_is_told_with_its_reason() -> None:
    late = play([*running(deadline=30), due(DecisionKind.JOB_DEADLINE)]).state
    assert late.failing is not None
    assert (late.failing.completed, late.reason) == (False, "DeadlineExceeded")
    assert late.message == late.failing.message != ""


def test_a_suspended_job_has_no_deadline_until_it_goes_on() -> None:
    suspended = play(
        [*running(deadline=300), manifest(20, generation=2, suspend=True, deadline=300)]
    )
    assert suspended.state.deadline_from is None
    between = [*failing(backoff_limit=1), manifest(61, generation=2, suspend=True, backoff_limit=1)]
    resumed = play([*between, manifest(70, generation=3, backoff_limit=1)])
    assert resumed.state.deadline_from is None, "it counts from the next attempt"


def test_a_resumption_is_asked_for_where_the_user_takes_the_suspension_back() -> None:
    story = [
        *running(),
        manifest(20, generation=2, suspend=True),
        outcome(SUSPEND, 21, uid="job-1"),
    ]
    assert open_effects(play([*story, manifest(30, generation=3)])) == [(RESUME.value, name_of(1))]


def test_a_failure_that_another_controller_left_is_taken_over_with_its_words() -> None:
    end = failed_end(50)
    status = SeenBatchStatus(started_at=after(0), end=end)
    played = play([manifest(recorded=WHY), manifest(60, recorded=WHY, status=status)])
    (failed,) = [one for one in played.news if isinstance(one, BatchJobFailed)]
    assert (failed.at, failed.reason, failed.message) == (after(60), end.reason, BACKOFF)
    assert failed.inferred


def test_an_edit_lifts_every_pause_and_another_look_lifts_none() -> None:
    refused = [manifest(), refused_creation(1)]
    assert open_effects(play([*refused, manifest(2, generation=2)])) == [
        ("create_attempt_job", name_of(1))
    ]
    policy = replace(Policy(), effect_retry_seconds=77)
    assert open_effects(play([*refused, manifest(2, policy=policy)])) == []
    waiting = play([*toggled(4), manifest(90, generation=3, suspend=True)])
    assert len(open_effects(waiting)) == 1


def test_what_waited_before_another_controller_had_the_job_does_not_wait_after_it() -> None:
    refused = [manifest(), refused_creation(1), manifest(2, recorded=WHY), manifest(3)]
    assert len(open_effects(play(refused))) == 1
    between = [manifest(80, generation=2, suspend=True, recorded=WHY)]
    again = [*toggled(4), *between, manifest(81, generation=2, suspend=True)]
    assert len(open_effects(play(again))) == 1


@pytest.mark.parametrize(
    ("story", "counts", "end"),
    [
        (completed(), (1, 0), "CompletionsReached"),
        (failing(), (0, 1), "BackoffLimitExceeded"),
        (
            (*retried(), created(63, 2), job(70, 2, end=failed_end(70))),
            (0, 2),
            "BackoffLimitExceeded",
        ),
        (
            (*retried(), created(63, 2), job(70, 2, end=complete_end(70))),
            (1, 1),
            "CompletionsReached",
        ),
    ],
    ids=["complete", "failed", "failed again", "complete at the second attempt"],
)
def test_the_end_is_that_of_the_last_attempt_and_attempts_are_counted(
    story: tuple[Step, ...], counts: tuple[int, int], end: str
) -> None:
    state = play(story).state
    assert (state.succeeded, state.failed) == counts
    assert state.end is not None
    assert (state.reason, state.message) == (state.end.reason, state.end.message)
    assert (state.end.reason, state.ended_at) == (end, state.end.ended_at)
    assert state.end.completed is (counts[0] == 1)


def test_what_a_status_has_shown_stays_so() -> None:
    """The API server takes no other start, and no counters that fall."""
    status = SeenBatchStatus(
        started_at=after(5), suspended_since=after(7), pods=PodCounts(succeeded=3, failed=4)
    )
    state = play([manifest(recorded=WHY), manifest(10, recorded=WHY, status=status)]).state
    assert (state.started_at, state.suspended, state.suspension_changed_at) == (
        after(5),
        True,
        after(7),
    )
    assert (state.pods_succeeded, state.pods_failed_min) == (3, 4)
    later = replace(status, suspended_since=None, pods=PodCounts(succeeded=2, failed=2))
    state = play(
        [manifest(recorded=WHY, status=status), manifest(20, recorded=WHY, status=later)]
    ).state
    assert (state.pods_succeeded, state.pods_failed_min) == (3, 4)
