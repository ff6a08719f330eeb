"""Whatever fails after the active deadline has exceeded it, however and whenever that is seen."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.values.documents import Json
from tests.support.rayjob_builders import cluster_gone, due, not_found, poll, submitter
from tests.support.rayjob_stories import initializing, working
from tests.support.rows import Outlook, check_outlook, table

EXCEEDED: dict[str, Json] = {
    "jobDeploymentStatus": "Failed",
    "reason": "DeadlineExceeded",
    "failed": 1,
}
"""Of a job that could be retried three times, and is not."""

WORKING = working(active_deadline_seconds=100, backoff_limit=3)
FAILED_LATE = poll("FAILED", 400, started_at=25, ended_at=300, message="boom")
FAILED_IN_TIME = poll("FAILED", 400, started_at=25, ended_at=90, message="boom")


@table(
    Outlook(
        rule="the submitter has failed, and Ray says when the job did",
        story=(*WORKING, FAILED_LATE, submitter("Failed", 401, finished_at=310)),
        status=EXCEEDED,
    ),
    Outlook(
        rule="in whichever order that is seen",
        story=(*WORKING, submitter("Failed", 399, finished_at=310), FAILED_LATE),
        status=EXCEEDED,
    ),
    Outlook(
        rule="the submitter has failed and the Ray job runs on beyond the deadline",
        story=(
            *WORKING,
            submitter("Failed", 400, finished_at=310),
            poll("RUNNING", 401, started_at=25),
        ),
        status=EXCEEDED,
    ),
    Outlook(
        rule="the grace period after such a failure brings no retry either",
        story=(*WORKING, FAILED_LATE, due(DecisionKind.TRANSITION_GRACE)),
        status=EXCEEDED,
    ),
    Outlook(
        rule="a RayCluster that is found to be gone later",
        story=(*WORKING, cluster_gone(400)),
        status=EXCEEDED,
    ),
    Outlook(
        rule="a Ray job that is found to be unknown later",
        story=(*WORKING, submitter("Complete", 400, finished_at=310), not_found(401)),
        status=EXCEEDED,
    ),
    Outlook(
        rule="where both deadlines are due at once, the active one goes first",
        story=(
            *initializing(
                active_deadline_seconds=60, pre_running_deadline_seconds=60, backoff_limit=3
            ),
            due(DecisionKind.PRE_RUNNING_DEADLINE),
        ),
        status=EXCEEDED,
    ),
    Outlook(
        rule="what failed in time is retried, however late it is seen",
        story=(*WORKING, FAILED_IN_TIME, submitter("Failed", 401, finished_at=95)),
        status={"jobDeploymentStatus": "Retrying", "reason": "AppFailed", "failed": 1},
    ),
    Outlook(
        rule="a submitter that failed in time, before the Ray job ran, is retried",
        story=(
            *working(active_deadline_seconds=100, backoff_limit=3)[:-1],
            submitter("Failed", 400, finished_at=95),
            not_found(401),
        ),
        status={"jobDeploymentStatus": "Retrying", "reason": "SubmissionFailed", "failed": 1},
    ),
    Outlook(
        rule="a deadline before running that comes first is retried, though it fires late",
        story=(
            *initializing(
                active_deadline_seconds=100, pre_running_deadline_seconds=60, backoff_limit=3
            ),
            due(DecisionKind.PRE_RUNNING_DEADLINE, 400),
        ),
        status={"jobDeploymentStatus": "Retrying", "reason": "PreRunningDeadlineExceeded"},
    ),
    Outlook(
        rule="what succeeded after the deadline has succeeded",
        story=(
            *WORKING,
            poll("SUCCEEDED", 400, started_at=25, ended_at=300),
            submitter("Complete", 401, finished_at=310),
        ),
        status={"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"},
    ),
)
def test_past_the_deadline(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
