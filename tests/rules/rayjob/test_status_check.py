"""A head that does not answer (trace T8)."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import StatusCheckFailed, StatusCheckRecovered
from tests.support.rayjob_builders import due, not_found, poll, shown, silence, submission_of
from tests.support.rayjob_events import cancelled, failed_for_good, fired, ray_says, scheduled
from tests.support.rayjob_stories import running, working
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, table

STATUS_CHECK = DecisionKind.STATUS_CHECK
SILENT = StatusCheckFailed(at=WHEN, job_id=submission_of(), trouble="no route")
HEARD = StatusCheckRecovered(at=WHEN, job_id=submission_of())
CAUSE = "the head does not answer: no route"


@table(
    Row(
        rule="the first unanswered check starts the time-out",
        given=working(),
        when=silence(40),
        then=(SILENT, scheduled(STATUS_CHECK, 340, CAUSE)),
    ),
    Row(
        rule="further silence of the same kind is no news",
        given=(*working(), silence(40)),
        when=silence(43),
    ),
    Row(
        rule="a new kind of trouble is news and does not start the time-out anew",
        given=(*working(), silence(40)),
        when=silence(43, trouble="502 Bad Gateway"),
        then=(StatusCheckFailed(at=WHEN, job_id=submission_of(), trouble="502 Bad Gateway"),),
    ),
    Row(
        rule="a text that differs in an id only is of the same kind",
        given=(*working(), silence(40, trouble="request 1b9d6bcd failed")),
        when=silence(43, trouble="request 9f1c0a3e failed"),
    ),
    Row(
        rule="a head that finds new words for ever is not told of for ever",
        given=(*working(), *(silence(40 + i, trouble=f"word {chr(97 + i)}") for i in range(10))),
        when=silence(60, trouble="word z"),
    ),
    Row(
        rule="an answer ends the silence, even one that says what was known",
        given=(*working(), silence(40)),
        when=poll("RUNNING", 46, started_at=25),
        then=(HEARD, cancelled(STATUS_CHECK, "the job is Running, Ray says RUNNING")),
    ),
    Row(
        rule="an answer with news ends the silence as well",
        given=(*running(), silence(40)),
        when=poll("PENDING", 46),
        then=(
            HEARD,
            ray_says("PENDING"),
            cancelled(STATUS_CHECK, "the job is Running, Ray says PENDING"),
        ),
    ),
    Row(
        rule="that the job is not known is an answer (upstream lets the time-out run on)",
        given=(*running(), silence(40)),
        when=not_found(46),
        then=(HEARD, cancelled(STATUS_CHECK, "the job is Running, Ray says nothing")),
    ),
    Row(
        rule="silence that lasts fails the job, and it is not retried (T8)",
        given=(*working(backoff_limit=3), silence(40)),
        when=due(STATUS_CHECK),
        then=(
            fired(STATUS_CHECK, 340),
            *failed_for_good(
                "JobStatusCheckTimeoutExceeded",
                "Job status checks have been failing since 2026-11-21 12:00:40; "
                "exceeded timeout of 300s",
                "JobStatusCheckTimeoutExceeded is never retried",
                status="RUNNING",
                backoff_limit=3,
            ),
        ),
    ),
    Row(
        rule="the time-out is not judged without a last look",
        given=(*working(), silence(40)),
        when=due(STATUS_CHECK, looked=False),
    ),
    Row(
        rule="how long silence may last is a setting",
        given=working(policy=Policy(status_check_timeout_seconds=60)),
        when=silence(40),
        then=(SILENT, scheduled(STATUS_CHECK, 100, CAUSE)),
    ),
)
def test_status_check(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="users see since when the head is silent (T8)",
        story=(*working(), silence(40)),
        status={"jobStatusCheckFailureStartTime": shown(40), "jobDeploymentStatus": "Running"},
    ),
    Outlook(
        rule="and see it no more once it answers (T8)",
        story=(*working(), silence(40), poll("RUNNING", 46, started_at=25)),
        status={"jobStatusCheckFailureStartTime": None},
        pending={},
    ),
    Outlook(
        rule="Ray's last status stays shown when the time-out fails the job (T8)",
        story=(*working(), silence(40), due(STATUS_CHECK)),
        status={"jobStatus": "RUNNING", "jobDeploymentStatus": "Failed", "failed": 1},
    ),
    Outlook(
        rule="a second silence has a time-out of its own",
        story=(
            *working(),
            silence(40),
            poll("RUNNING", 46, started_at=25),
            silence(100),
        ),
        pending={"status_check": 400},
    ),
)
def test_what_is_shown_of_silence(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
