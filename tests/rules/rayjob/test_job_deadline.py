"""The deadline of a whole job, over all its attempts: from the first one's start, with pauses."""

from typing import Any

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.ending import is_open
from jobledger.core.rayjob.events.lifecycle import JobFailed
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.rayjob.state import gives_up
from jobledger.core.values.documents import Json
from tests.support.rayjob_builders import (
    HTTP,
    JOB,
    after,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    poll,
    shown,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_events import cancelled, failed_for_good, fired, received, scheduled
from tests.support.rayjob_stories import (
    SELECTED,
    Story,
    built,
    failed_attempts,
    failing,
    initializing,
    readied,
    selecting,
    suspended,
    working,
)
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, play, table

DEADLINE, RETRY = DecisionKind.JOB_DEADLINE, DecisionKind.RETRY
ANNOTATION = "jobledger.dev/job-deadline-seconds"
NEVER = "DeadlineExceeded is never retried"
MINUTES = RetryOptions(job_deadline_seconds=150)
PAUSE = Policy(retry_delay_seconds=600)
EXCEEDED: dict[str, Json] = {"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded"}
PASSED = (
    f"The RayJob has passed its {ANNOTATION} over all attempts. "
    "StartTime: 2026-11-21 12:00:00 +0000 UTC. Seconds: 150"
)


def with_deadline(seconds: int | None, at: float, **spec: Any) -> ManifestSeen:  # noqa: ANN401
    """Return an edit of the annotation alone."""
    options = RetryOptions(job_deadline_seconds=seconds)
    return manifest(at, finalizer=True, options=options, **spec)


PAUSING: Story = (*working(options=MINUTES, backoff_limit=5, policy=PAUSE), *failing())
"""A failed attempt whose retry waits for ten minutes."""


@table(
    Row(
        rule="it ends a running attempt, whatever backoffLimit says",
        given=working(options=MINUTES, backoff_limit=5),
        when=due(DEADLINE),
        then=(
            fired(DEADLINE, 150),
            *failed_for_good("DeadlineExceeded", PASSED, NEVER, status="RUNNING", backoff_limit=5),
        ),
    ),
    Row(
        rule="it ends an attempt that is being built, without a look at a Ray job",
        given=initializing(options=MINUTES, backoff_limit=5),
        when=due(DEADLINE, looked=False),
        then=(
            fired(DEADLINE, 150),
            *failed_for_good("DeadlineExceeded", PASSED, NEVER, backoff_limit=5),
        ),
    ),
    Row(
        rule="it ends the pause between two attempts; what goes for the next one still goes",
        given=PAUSING,
        when=due(DEADLINE),
        then=(
            fired(DEADLINE, 150),
            JobFailed(at=WHEN, attempt=1, reason="DeadlineExceeded", message=PASSED),
            cancelled(RETRY, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="a Ray job is asked before it is ended: it may have succeeded in time",
        given=working(options=MINUTES, submission_mode=HTTP),
        when=due(DEADLINE, looked=False),
        then=(),
    ),
    Row(
        rule="asked for later it counts from the first attempt's start as well",
        given=failed_attempts(1, backoff_limit=5),
        when=with_deadline(300, 110, backoff_limit=5),
        then=(
            received(with_deadline(300, 110, backoff_limit=5), document=False),
            scheduled(DEADLINE, 300, f"{ANNOTATION} 300 over all attempts", attempt=2),
        ),
    ),
)
def test_events(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="it counts from the first attempt's start and not from the last one's",
        story=failed_attempts(1, options=MINUTES, backoff_limit=5),
        pending={"job_deadline": 150},
    ),
    Outlook(
        rule="it is pending beside the retry in a pause",
        story=PAUSING,
        pending={"retry": 642, "job_deadline": 150},
    ),
    Outlook(
        rule="the second attempt is ended by it, and counts as failed",
        story=(
            *failed_attempts(1, options=MINUTES, backoff_limit=5),
            *built(2),
            *readied(2),
            due(DEADLINE),
        ),
        status={**EXCEEDED, "failed": 2, "message": PASSED, "endTime": shown(150)},
        pending={},
    ),
    Outlook(
        rule="a pause that it ends counts no failure more",
        story=(*PAUSING, due(DEADLINE)),
        status={**EXCEEDED, "failed": 1, "message": PASSED, "endTime": shown(150)},
        under_way=[f"delete_cluster {cluster_of()}", f"delete_submitter {JOB}"],
        pending={},
    ),
    Outlook(
        rule="what was being deleted in the pause is deleted once",
        story=(
            *PAUSING,
            done(EffectKind.DELETE_CLUSTER, 43, uid="cluster-1"),
            due(DEADLINE),
            done(EffectKind.DELETE_SUBMITTER, 151, uid="submitter-1"),
        ),
        status=EXCEEDED,
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="so it is with a shutdown",
        story=(
            *working(
                options=MINUTES, backoff_limit=5, policy=PAUSE, shutdown_after_job_finishes=True
            ),
            *failing(),
            due(DEADLINE),
            due(DecisionKind.TTL_SHUTDOWN),
            done(EffectKind.DELETE_CLUSTER, 151, uid="cluster-1"),
            done(EffectKind.DELETE_SUBMITTER, 151, uid="submitter-1"),
            submitter_gone(152),
            cluster_gone(153),
        ),
        status=EXCEEDED,
        under_way=[],
        pending={},
        facts={"cluster": None, "submitter": None},
    ),
    Outlook(
        rule="a strategy that does not cover such an end keeps nothing of an attempt given up",
        story=(
            *working(options=MINUTES, backoff_limit=5, policy=PAUSE, has_deletion_strategy=True),
            *failing(),
            due(DEADLINE),
        ),
        status=EXCEEDED,
        under_way=[f"delete_cluster {cluster_of()}", f"delete_submitter {JOB}"],
        facts={"kept": False},
    ),
    Outlook(
        rule="an attempt that failed after it is not retried, however late that is seen",
        story=(
            *working(options=MINUTES, backoff_limit=5),
            poll("FAILED", 400, started_at=25, ended_at=300, message="boom"),
            submitter("Failed", 401, finished_at=310),
        ),
        status={**EXCEEDED, "failed": 1, "message": PASSED},
    ),
    Outlook(
        rule="one that had failed before it is judged as such; it is due in the pause",
        story=(
            *working(options=MINUTES, backoff_limit=5),
            poll("FAILED", 400, started_at=25, ended_at=90, message="boom"),
            submitter("Failed", 401, finished_at=95),
        ),
        status={"jobDeploymentStatus": "Retrying", "reason": "AppFailed", "failed": 1},
        pending={"retry": 401, "job_deadline": 150},
    ),
    Outlook(
        rule="a job that succeeded before it has succeeded, however late that is seen",
        story=(
            *working(options=MINUTES, backoff_limit=5),
            poll("SUCCEEDED", 400, started_at=25, ended_at=90),
            submitter("Complete", 401),
        ),
        status={"jobDeploymentStatus": "Complete"},
        pending={},
    ),
    Outlook(
        rule="it is not pending while a suspended job waits",
        story=suspended(options=MINUTES),
        status={"jobDeploymentStatus": "Suspended"},
        pending={},
    ),
    Outlook(
        rule="nor while it is being suspended",
        story=suspended(options=MINUTES)[:-2],
        status={"jobDeploymentStatus": "Suspending"},
        pending={},
    ),
    Outlook(
        rule="it counts anew from the first attempt after a resumption",
        story=(
            *suspended(options=MINUTES),
            manifest(1000, generation=3, finalizer=True, options=MINUTES),
        ),
        status={"jobDeploymentStatus": "Initializing"},
        pending={"job_deadline": 1150},
    ),
    Outlook(
        rule="what waits to be admitted has none yet",
        story=(
            manifest(options=MINUTES, suspend=True),
            manifest(500, generation=2, options=MINUTES),
        ),
        pending={"job_deadline": 650},
    ),
    Outlook(
        rule="an invalid manifest does not stop it",
        story=(
            *working(options=MINUTES, backoff_limit=5),
            manifest(60, generation=2, problem="no", finalizer=True, options=MINUTES),
            due(DEADLINE),
        ),
        status={**EXCEEDED, "failed": 1},
    ),
    Outlook(
        rule="nor in a pause",
        story=(
            *PAUSING,
            manifest(60, generation=2, problem="no", finalizer=True, options=MINUTES, policy=PAUSE),
            due(DEADLINE),
        ),
        status={**EXCEEDED, "failed": 1, "message": PASSED},
    ),
    Outlook(
        rule="a job that is taken over counts from the attempt that it shows",
        story=(
            manifest(
                500,
                options=MINUTES,
                status=SeenStatus(
                    phase="Running",
                    cluster_name="train-abcde",
                    job_id="train-fghij",
                    address="head:8265",
                    started_at=after(450),
                    failed=2,
                ),
            ),
        ),
        pending={"job_deadline": 600},
    ),
    Outlook(
        rule="taken back it is gone",
        story=(*PAUSING, with_deadline(None, 60, backoff_limit=5)),
        pending={"retry": 642},
    ),
    Outlook(
        rule="one that cannot be understood retries nothing, and ends nothing that runs",
        story=(
            *working(options=RetryOptions(deadline_unclear=True), backoff_limit=5),
            *failing(),
        ),
        status={
            "jobDeploymentStatus": "Failed",
            "reason": "AppFailed",
            "message": "ValueError: 42 (not retried: the deadline over all attempts cannot be "
            "understood, so nothing is retried)",
        },
    ),
)
def test_outlooks(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_a_job_that_it_ends_in_the_pause_waits_for_no_cluster_of_somebody_elses() -> None:
    """Its selector was taken out, and retries were asked for, while the attempt ran."""
    asked: dict[str, Any] = {"options": MINUTES, "submission_mode": HTTP}
    story = (
        *selecting(**asked),
        cluster("ready", 10, name=SELECTED, uid="shared", owned=False),
        done(EffectKind.SUBMIT_ENTRYPOINT, 11),
        poll("RUNNING", 30, started_at=25),
        manifest(35, generation=2, finalizer=True, backoff_limit=1, policy=PAUSE, **asked),
        poll("FAILED", 40, started_at=25, ended_at=39),
        due(DEADLINE),
    )
    state = play(RAYJOB, story).state
    assert gives_up(state)
    assert state.cluster is not None
    assert not is_open(state)
