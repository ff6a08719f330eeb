"""Jobs of attempts that are made late: by a request that was under way when the attempt ended."""

from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.state import is_open
from tests.rules.batchjob.rows import Row, check, table
from tests.support import batchjob_events as told
from tests.support.batchjobs import (
    CREATE,
    DELETE,
    Step,
    complete_end,
    created,
    deleted,
    failed_end,
    job,
    job_gone,
    manifest,
    name_of,
    outcome,
    play,
    retried,
)

SECOND = (*retried(backoff_limit=3), created(63, 2), job(70, 2, active=1))
"""The second attempt is at work."""
LATE = job(80, uid="late")
"""The first one's Job is made once more."""
LOST_BEFORE_ITS_CREATION_IS_KNOWN = (manifest(backoff_limit=1), job(2), job_gone(3))


def gone(at: float) -> Step:
    """Return that the Job that was made late is gone."""
    return job_gone(at, uid="late")


@table(
    Row(
        rule="the Job of an earlier attempt that is made late is deleted",
        story=[*SECOND, LATE],
        then=[
            told.observed(uid="late"),
            told.requested(DELETE, 2, name=name_of(1), uid="late"),
        ],
        phase="Running",
        under_way=["delete_attempt_job"],
    ),
    Row(
        rule="it is deleted once",
        story=[*SECOND, LATE, outcome(DELETE, 81, uid="late"), job(82, uid="late", active=1)],
        then=[],
        under_way=[],
    ),
    Row(
        rule="its deletion waits for nothing that is under way about the present one",
        story=[*SECOND, manifest(79, generation=2, suspend=True, backoff_limit=3), LATE],
        then=[
            told.observed(uid="late"),
            told.requested(DELETE, 2, name=name_of(1), uid="late", generation=2),
        ],
        under_way=["suspend_attempt_job", "delete_attempt_job"],
    ),
    Row(
        rule="one that is on its way out needs nobody",
        story=[*SECOND, job(80, uid="late", deleting=True)],
        then=[],
    ),
    Row(
        rule="the next attempt's Job is not made beside it",
        story=[
            *SECOND,
            LATE,
            outcome(DELETE, 81, uid="late"),
            job(90, 2, end=failed_end(90), failed=1),
            deleted(91, 2),
            job_gone(92, 2),
        ],
        then=[told.vanished(2, asked=True), told.started(3)],
        under_way=[],
    ),
    Row(
        rule="but once it is gone",
        story=[
            *SECOND,
            LATE,
            outcome(DELETE, 81, uid="late"),
            job(90, 2, end=failed_end(90), failed=1),
            deleted(91, 2),
            job_gone(92, 2),
            gone(93),
        ],
        then=[
            told.vanished(uid="late", asked=True),
            told.requested(attempt=3),
        ],
        under_way=["create_attempt_job"],
    ),
    Row(
        rule="a Job that is made after its attempt was lost is deleted before the next begins",
        story=[*LOST_BEFORE_ITS_CREATION_IS_KNOWN, outcome(CREATE, 4, uid="late")],
        then=[
            told.done(uid="late"),
            told.requested(DELETE, uid="late"),
        ],
        phase="Retrying",
        under_way=["delete_attempt_job"],
    ),
)
def test_a_job_that_is_made_late(row: Row) -> None:
    check(row)


def test_after_the_end_it_is_deleted_too_and_keeps_the_job_open_until_then() -> None:
    over = (*SECOND, job(90, 2, end=complete_end(90), succeeded=1))
    assert not is_open(play(over).state)
    found = play([*over, LATE])
    assert found.said == ["AttemptJobObserved", "EffectRequested"]
    assert is_open(found.state)
    assert not is_open(play([*over, LATE, outcome(DELETE, 95, uid="late", gone=True)]).state)


def test_it_changes_nothing_of_what_is_shown() -> None:
    before, after = play(SECOND), play([*SECOND, job(80, uid="late", active=1, failed=2)])
    assert after.conditions == before.conditions
    assert after.state.attempt == before.state.attempt
    assert after.state.pods_failed_min == before.state.pods_failed_min
    assert after.state.unknown_job is None


def test_a_job_that_is_only_recorded_knows_of_none() -> None:
    taken = play([*SECOND, LATE, manifest(90, recorded="another controls it", backoff_limit=3)])
    assert taken.state.late_jobs == ()
    assert BATCHJOB.news(taken.state, job(91, uid="later")) == ()
