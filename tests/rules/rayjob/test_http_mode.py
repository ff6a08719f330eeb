"""HTTPMode: the controller hands the entrypoint in itself (trace T7)."""

from jobledger.core.jobs.events import EffectFailed, EffectFaltered
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import EntrypointMissed
from jobledger.core.rayjob.state import wants_poll
from tests.support.rayjob_builders import (
    ADDRESS,
    HTTP,
    cluster,
    cluster_of,
    done,
    due,
    faltered,
    manifest,
    not_found,
    outdated,
    refused,
    submission_of,
)
from tests.support.rayjob_events import (
    HEAD_LOST,
    SERVICE,
    asked,
    cancelled,
    cluster_is,
    did,
    dropped,
    failed_for_good,
    fired,
    reached_running,
    scheduled,
    service_asked,
)
from tests.support.rayjob_stories import initializing, running, working
from tests.support.rows import THIS_EFFECT, WHEN, Outlook, Row, check, check_outlook, play, table

SUBMIT = EffectKind.SUBMIT_ENTRYPOINT
READY = (*initializing(submission_mode=HTTP), cluster("ready"))
LOST = (
    f"Ray job {submission_of()} is no longer known to the head of RayCluster {cluster_of()}: "
    "the head was restarted and has lost its jobs."
)
SILENT = "the head does not answer: connection refused"


@table(
    Row(
        rule="the entrypoint is handed in once the RayCluster is ready",
        given=initializing(submission_mode=HTTP),
        when=cluster("ready"),
        then=(
            cluster_is("ready"),
            reached_running(),
            asked(SUBMIT, submission_of(), address=ADDRESS),
            service_asked(),
        ),
    ),
    Row(
        rule="what was handed in is not handed in again",
        given=READY,
        when=done(SUBMIT, 11),
        then=(did(SUBMIT, submission_of()),),
    ),
    Row(
        rule="a head that refuses the entrypoint makes a failed submission",
        given=READY,
        when=refused(SUBMIT, 11, "entrypoint_num_cpus must be positive"),
        then=(
            EffectFailed(
                at=WHEN,
                effect_id=THIS_EFFECT,
                kind=SUBMIT,
                name=submission_of(),
                trouble="entrypoint_num_cpus must be positive",
            ),
            *failed_for_good(
                "SubmissionFailed",
                "Job submission has failed. Reason: Refused. "
                "Message: entrypoint_num_cpus must be positive",
                "backoffLimit is 0",
            ),
            dropped(EffectKind.CREATE_SERVICE, SERVICE),
        ),
    ),
    Row(
        rule="a head that does not take the submission is a silent head",
        given=READY,
        when=faltered(SUBMIT, 11, "connection refused"),
        then=(
            EffectFaltered(
                at=WHEN,
                effect_id=THIS_EFFECT,
                kind=SUBMIT,
                name=submission_of(),
                trouble="connection refused",
            ),
            scheduled(DecisionKind.STATUS_CHECK, 311, SILENT),
        ),
    ),
    Row(
        rule="a submission that is taken in the end breaks the silence",
        given=(*READY, faltered(SUBMIT, 11, "connection refused")),
        when=done(SUBMIT, 100),
        then=(
            did(SUBMIT, submission_of()),
            cancelled(DecisionKind.STATUS_CHECK, "the job is Running, Ray says nothing"),
        ),
    ),
    Row(
        rule="a submission that is never taken ends in the time-out, which is not retried",
        given=(
            *initializing(submission_mode=HTTP, backoff_limit=2),
            cluster("ready"),
            faltered(SUBMIT, 11, "connection refused"),
        ),
        when=due(DecisionKind.STATUS_CHECK),
        then=(
            fired(DecisionKind.STATUS_CHECK, 311),
            *failed_for_good(
                "JobStatusCheckTimeoutExceeded",
                "Job status checks have been failing since 2026-11-21 12:00:11; "
                "exceeded timeout of 300s",
                "JobStatusCheckTimeoutExceeded is never retried",
                backoff_limit=2,
            ),
            dropped(SUBMIT, submission_of()),
            dropped(EffectKind.CREATE_SERVICE, SERVICE),
        ),
    ),
    Row(
        rule="a submission that the head has forgotten is a lost job, never handed in again",
        given=running(submission_mode=HTTP),
        when=not_found(30),
        then=(
            EntrypointMissed(at=WHEN, job_id=submission_of()),
            *failed_for_good("AppFailed", LOST, "backoffLimit is 0", blame=HEAD_LOST),
        ),
    ),
    Row(
        rule="a job that ran and is no longer known is lost with its head",
        given=working(submission_mode=HTTP),
        when=not_found(40),
        then=(
            EntrypointMissed(at=WHEN, job_id=submission_of()),
            *failed_for_good(
                "AppFailed", LOST, "backoffLimit is 0", status="RUNNING", blame=HEAD_LOST
            ),
        ),
    ),
)
def test_http_mode(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="a lost job is retried on a new cluster within the limit",
        story=(*working(submission_mode=HTTP, backoff_limit=1), not_found(40)),
        status={"jobDeploymentStatus": "Retrying", "reason": "AppFailed", "failed": 1},
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="if the specification changes before the submission, it is submitted as it is then",
        story=(
            *READY,
            manifest(12, generation=2, submission_mode=HTTP, finalizer=True),
            outdated(SUBMIT, 13),
        ),
        under_way=[f"create_service {SERVICE}", f"submit_entrypoint {submission_of()}"],
        facts={"phase": "Running"},
    ),
)
def test_what_becomes_of_submissions(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_the_head_is_not_asked_before_it_has_taken_the_submission() -> None:
    played = play(RAYJOB, READY)
    assert not wants_poll(played.state)
    played.take(done(SUBMIT, 11))
    assert wants_poll(played.state)
