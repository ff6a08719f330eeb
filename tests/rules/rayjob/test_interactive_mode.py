"""InteractiveMode: the user submits and names the submission."""

from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    AttemptReachedWaiting,
    JobCompleted,
    SubmissionNamed,
    SuspensionPostponed,
)
from jobledger.core.rayjob.observations.observations import PollAnswered
from jobledger.core.rayjob.phases import JobStatus
from tests.support.rayjob_builders import ADDRESS, INTERACTIVE, cluster, cluster_of, manifest, poll
from tests.support.rayjob_events import (
    cluster_is,
    ray_says,
    reached_running,
    received,
    service_asked,
)
from tests.support.rayjob_stories import initializing, led_there, running
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, table

WAITING = running(submission_mode=INTERACTIVE)
NAMED = manifest(40, generation=2, submission_mode=INTERACTIVE, job_id="mine", finalizer=True)


def answer(status: str, at: float) -> PollAnswered:
    """Return what the head told of the user's submission."""
    return poll(status, at, job_id="mine")


@table(
    Row(
        rule="when the RayCluster is ready the job waits for its user",
        given=initializing(submission_mode=INTERACTIVE),
        when=cluster("ready"),
        then=(
            cluster_is("ready"),
            AttemptReachedWaiting(at=WHEN, attempt=1, address=ADDRESS),
        ),
    ),
    Row(
        rule="a submission that the user names is followed",
        given=WAITING,
        when=NAMED,
        then=(
            received(NAMED),
            SubmissionNamed(at=WHEN, job_id="mine"),
            reached_running(),
            service_asked(generation=2),
        ),
    ),
    Row(
        rule="a submission that was named from the start is followed as soon as possible",
        given=initializing(submission_mode=INTERACTIVE, job_id="mine"),
        when=cluster("ready"),
        then=(
            cluster_is("ready"),
            AttemptReachedWaiting(at=WHEN, attempt=1, address=ADDRESS),
            SubmissionNamed(at=WHEN, job_id="mine"),
            reached_running(),
            service_asked(),
        ),
    ),
    Row(
        rule="the user's submission decides about the job",
        given=(*WAITING, NAMED, led_there()),
        when=answer("SUCCEEDED", 60),
        then=(
            ray_says("SUCCEEDED", job_id="mine"),
            JobCompleted(at=WHEN, attempt=1, job_status=JobStatus.SUCCEEDED),
        ),
    ),
    Row(
        rule="nobody is asked while the job waits for its user",
        given=WAITING,
        when=answer("SUCCEEDED", 30),
    ),
    Row(
        rule="suspend in Waiting takes effect later, as upstream, and that is told",
        given=WAITING,
        when=manifest(40, generation=2, submission_mode=INTERACTIVE, suspend=True, finalizer=True),
        then=(
            received(
                manifest(
                    40, generation=2, submission_mode=INTERACTIVE, suspend=True, finalizer=True
                )
            ),
            SuspensionPostponed(at=WHEN, phase="Waiting"),
        ),
    ),
)
def test_interactive_mode(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="what is shown while the job waits for its user",
        story=WAITING,
        status={
            "jobDeploymentStatus": "Waiting",
            "jobId": None,
            "rayClusterName": cluster_of(),
            "dashboardURL": ADDRESS,
        },
    ),
    Outlook(
        rule="the name that the user gave is shown",
        story=(*WAITING, NAMED),
        status={"jobDeploymentStatus": "Running", "jobId": "mine"},
    ),
)
def test_what_is_shown(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
