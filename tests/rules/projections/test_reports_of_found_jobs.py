"""The facts of jobs that were found with a status: what nobody saw is unknown, and nothing else."""

from typing import Any

import pytest
from msgspec.structs import asdict, replace

from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.projections.reporting.fold import Rules
from jobledger.core.rayjob.events.lifecycle import TransitionsMissed
from jobledger.core.rayjob.history.attempt_row import begun, project_attempt
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.rayjob.state import Attempt, RayJobState
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.observations import SeenTrainStatus
from tests.rules.projections.test_reports import facts, rows, train_records
from tests.rules.rayjob.test_recording import WHY, shown
from tests.support import trainjobs as train
from tests.support.rayjob_builders import (
    ADDRESS,
    IDENTITY,
    after,
    cluster,
    cluster_of,
    done,
    manifest,
    poll,
    submission_of,
    submitter,
)
from tests.support.rayjob_stories import Story, built, cleared

RULES = Rules(causes=ExplainedCauses())
FAILED: dict[str, Any] = {"job_status": "FAILED", "reason": "AppFailed", "message": "exit 1"}
NAMES: dict[str, Any] = {"cluster_name": "c", "job_id": "j", "generation": 1}
AGAIN: Story = (
    *built(2),
    cluster("ready", 110, attempt=2),
    done(EffectKind.CREATE_SUBMITTER, 111, uid="submitter-2"),
    submitter("", 112, attempt=2),
    done(EffectKind.CREATE_SERVICE, 112.5),
)


def status(phase: str, **said: Any) -> SeenStatus:  # noqa: ANN401 fields by name
    names = {"cluster_name": cluster_of(1), "job_id": submission_of(1), "address": ADDRESS}
    return SeenStatus(phase=phase, **{**names, "started_at": after(1), **said})


def found(phase: str, **said: Any) -> Story:  # noqa: ANN401 fields by name
    """Return a job that was found at 300, and had begun an attempt at 1."""
    return (manifest(300, recorded=WHY, backoff_limit=3, status=status(phase, **said)),)


def only(story: Story, table: str) -> dict[str, Any]:
    (fact,) = facts(story, table)
    return fact


RUNNING = found("Running", job_status="RUNNING")
RETRYING = found("Retrying", failed=1, **FAILED)
ENDED = found("Failed", failed=1, ended_at=after(200), **FAILED)


def test_the_first_look_at_a_cluster_is_neither_its_creation_nor_its_readiness() -> None:
    attempt = only((*RUNNING, cluster("ready", 310)), "attempt")
    unseen = ("cluster_created_at", "cluster_ready_at", "running_at")
    assert [attempt[name] for name in unseen] == [None, None, None]
    assert attempt["cluster_seconds"] == 309.0, "it was there from the start of the attempt on"


def test_what_becomes_of_an_attempt_under_our_eyes_is_known() -> None:
    story = (*found("Initializing"), cluster("", 310), cluster("ready", 320), shown("Running", 330))
    attempt = only(story, "attempt")
    assert (attempt["cluster_created_at"], attempt["cluster_ready_at"]) == (None, after(320))
    assert attempt["running_at"] == only(story, "job")["running_at"] == after(330)


@pytest.mark.parametrize(("story", "cost"), [(ENDED, 199.0), (RETRYING, 299.0)])
def test_a_cluster_that_nobody_saw_is_paid_for_to_the_end_of_its_attempt(
    story: Story, cost: float
) -> None:
    assert only(story, "attempt")["cluster_seconds"] == cost
    assert only(story, "job")["wasted_cluster_seconds"] == cost


@pytest.mark.parametrize("before", [RUNNING, RETRYING], ids=["running", "retrying"])
def test_when_a_job_first_ran_is_unknown_if_it_was_found_later(before: Story) -> None:
    failed = () if before is RETRYING else (shown("Retrying", 310, failed=1, **FAILED),)
    story = (*before, *failed, shown("Initializing", 315, 2, failed=1))
    story = (*story, shown("Running", 320, 2, failed=1, job_status="RUNNING"))
    assert facts(story, "attempt")[-1]["running_at"] == after(320)
    assert only(story, "job")["running_at"] is None


def test_a_later_attempt_waits_since_the_end_of_the_one_that_was_found() -> None:
    story = (
        manifest(10, backoff_limit=2, status=status("Running", job_status="RUNNING")),
        cluster("ready", 11),
        poll("FAILED", 40, exit_code=1, ended_at=39),
        submitter("Complete", 42),
    )
    (before,) = facts(story, "attempt")
    assert before["outcome"] == "failed"
    (failure,) = facts(story, "failure")
    assert failure["ran"] is True, "it was found Running"
    _, later = facts((*story, *cleared(1), *AGAIN), "attempt")
    assert later["waiting_since"] == before["ended_at"] == after(39)


def test_an_attempt_after_others_that_nobody_saw_waits_since_its_start() -> None:
    story = (*found("Initializing", failed=2), shown("Running", 330, failed=2))
    attempt = only(
        (manifest(300, recorded=WHY, status=status("Initializing", failed=2)),), "attempt"
    )
    assert (attempt["number"], attempt["waiting_since"]) == (3, after(1))
    assert only(story, "job")["running_at"] is None


@pytest.mark.parametrize(
    ("story", "at", "retried"), [(ENDED, 200, False), (RETRYING, 300, True)], ids=["end", "retried"]
)
def test_a_failure_that_was_found_is_a_failure(story: Story, at: int, retried: bool) -> None:
    failure, attempt, job = (only(story, one) for one in ("failure", "attempt", "job"))
    assert job["failed_attempts"] == failure["number"] == failure["attempt"] == 1
    assert failure["failed_at"] == attempt["ended_at"] == after(at)
    told = ("reason", "failure_class", "cause")
    assert [failure[name] for name in told] == [attempt[name] for name in told]
    assert (failure["reason"], failure["failure_class"]) == ("AppFailed", "application")
    assert (failure["retried"], failure["final"]) == (retried, not retried)
    assert failure["ran"] is True, "nobody knows that it did not"
    assert attempt["granted_at"] == (after(at) if retried else None)
    assert job["retries"] == int(retried)


def test_an_end_that_was_written_over_is_the_end_of_the_attempt() -> None:
    spoilt = found("ValidationFailed", failed=1, ended_at=after(200), job_status="FAILED")
    attempt = only(spoilt, "attempt")
    assert (attempt["outcome"], attempt["ended_at"]) == ("failed", after(200))


def test_an_attempt_before_a_suspension_that_was_found_is_over_and_costs_nothing_known() -> None:
    attempt = only(found("Suspended", cluster_name="", job_id="", address=""), "attempt")
    assert (attempt["outcome"], attempt["ended_at"]) == ("suspended", after(300))
    assert attempt["cluster_seconds"] == 0.0


def test_attempts_whose_end_was_missed_are_not_wasted() -> None:
    story = (
        *(manifest(0, recorded=WHY, backoff_limit=3), shown("Initializing", 1), cluster("", 2)),
        *(cluster("ready", 10), shown("Running", 12, job_status="RUNNING")),
        shown("Running", 350, 4, failed=3, job_status="RUNNING"),
    )
    missed, later = facts(story, "attempt")
    assert (missed["outcome"], later["number"]) == ("unknown", 4)
    assert later["waiting_since"] == later["started_at"], "of those between nothing is known"
    assert (missed["cluster_seconds"], later["cluster_seconds"]) != (0.0, 0.0)
    assert only(story, "job")["wasted_cluster_seconds"] == 0.0


def test_an_end_that_was_seen_is_not_missed() -> None:
    row = begun(
        IDENTITY.stream_id, RayJobState(attempt=Attempt(number=1, started_at=after(1), **NAMES))
    )
    ended = replace(row, ended_at=after(20), outcome="suspended")
    missed = TransitionsMissed(
        at=after(90), attempt=1, before="Suspended", after="Running", failed_before=0, failed=1
    )
    assert project_attempt(ended, missed) == ended
    assert project_attempt(row, missed).outcome == "unknown"


def condition(kind: str, at: float) -> Condition:
    return Condition(type=kind, is_true=True, reason="x", message="m", since=after(at))


def trained(*steps: train.Step) -> dict[str, list[dict[str, Any]]]:
    made = rows(train_records(steps), RULES).facts
    return {table: [asdict(fact) for fact in found] for table, found in made.items()}


AT_WORK = train.counts(active=1)


def test_a_trainjob_that_was_found_at_work_began_at_an_unknown_instant() -> None:
    seen = SeenTrainStatus(conditions=(condition("Created", 1),), jobs=(AT_WORK,))
    made = trained(train.manifest(300, recorded=WHY, status=seen), train.jobset(301, AT_WORK))
    assert made["report_attempt"][0]["running_at"] is None
    assert made["report_job"][0]["running_at"] is None


def test_a_trainjob_that_was_found_suspended_is_seen_to_begin() -> None:
    seen = SeenTrainStatus(conditions=(condition("Suspended", 1),))
    made = trained(
        train.manifest(300, recorded=WHY, suspend=True, status=seen),
        train.manifest(305, recorded=WHY, generation=2),
        train.jobset(310, AT_WORK),
    )
    assert made["report_job"][0]["running_at"] == train.after(310)


def test_a_trainjob_that_was_found_failed_is_a_failure_without_an_attempt() -> None:
    seen = SeenTrainStatus(conditions=(condition("Failed", 200),))
    made = trained(train.manifest(300, recorded=WHY, status=seen))
    (failure,) = made["report_failure"]
    told = ("attempt", "failed_at", "failure_class", "ran", "final")
    assert [failure[name] for name in told] == [0, train.after(200), "other", True, True]
    assert made["report_job"][0]["failed_attempts"] == 1


def test_a_trainjob_whose_first_news_shows_it_at_work_runs_from_then_on() -> None:
    end = train.jobset(3_600, train.counts(succeeded=1), end=train.completed_end(3_600))
    made = trained(train.manifest(0, recorded=WHY), train.jobset(5, AT_WORK), end)
    assert made["report_attempt"][0]["running_at"] == train.after(5)
    assert made["report_job"][0]["running_at"] == train.after(5)
