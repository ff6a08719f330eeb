"""What is inferred from a status of another controller, with every field of it."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.rayjob.events.lifecycle import (
    AttemptFailed,
    AttemptReachedRunning,
    AttemptReachedWaiting,
    AttemptStarted,
    EntrypointObserved,
    JobCompleted,
    JobFailed,
    JobSuspended,
    ManifestRejected,
    RayJobEvent,
    RetryGranted,
    RetryRefused,
    SubmissionNamed,
    SuspensionStarted,
    TransitionsMissed,
)
from jobledger.core.rayjob.observations.observations import ManifestSeen
from jobledger.core.rayjob.phases import JobStatus
from tests.rules.rayjob.test_recording import (
    BEGUN,
    FAILED,
    NEW,
    PACE,
    RUNNING,
    WORKING,
    said,
    shown,
)
from tests.support.rayjob_builders import ADDRESS, after, cluster_of, submission_of
from tests.support.rows import Step

GRANTED = "the controller in charge retries it"
REFUSED = "the controller in charge does not retry it"
DONE: dict[str, Any] = {"job_status": "SUCCEEDED", "message": "done", "ended_at": after(55)}
LOST: dict[str, Any] = {
    "job_status": "FAILED",
    "reason": "AppFailed",
    "message": "ValueError",
    "ended_at": after(38),
}
EARLY: dict[str, Any] = {"reason": "Late", "message": "no"}
OVER = (shown("Retrying", 40, failed=1, **FAILED), shown("", 46, failed=1, bare=True))
"""The first attempt failed, and was cleared away."""


def failed_at(at: float, job_status: JobStatus = JobStatus.FAILED, **more: int) -> AttemptFailed:
    return AttemptFailed(
        at=after(at),
        attempt=more.get("attempt", 1),
        reason="AppFailed",
        message="ValueError",
        failed=more.get("failed", 1),
        job_status=job_status,
        inferred=True,
    )


def told(at: float, status: JobStatus, message: str, attempt: int = 1) -> EntrypointObserved:
    return EntrypointObserved(
        at=after(at),
        job_id=submission_of(attempt),
        status=status,
        message=message,
        inferred=True,
    )


def running(at: float, attempt: int = 1) -> AttemptReachedRunning:
    return AttemptReachedRunning(at=after(at), attempt=attempt, address=ADDRESS, inferred=True)


def ended_early(
    at: float, job_status: JobStatus = JobStatus.NEW
) -> tuple[AttemptFailed, RetryRefused, JobFailed]:
    """Return that a job failed in its first attempt, for the reason of `EARLY`."""
    failed = AttemptFailed(
        at=after(at),
        attempt=1,
        reason="Late",
        message="no",
        failed=1,
        job_status=job_status,
        inferred=True,
    )
    refused = RetryRefused(
        at=after(at),
        attempt=1,
        backoff_limit=2,
        failed=1,
        reason="Late",
        rule=REFUSED,
        inferred=True,
    )
    over = JobFailed(at=after(at), attempt=1, reason="Late", message="no", inferred=True)
    return failed, refused, over


def missed(at: float, before: str, now: str, *, failed: int = 1) -> TransitionsMissed:
    """Return that failures were not seen; of the first attempt, if any was known."""
    attempt = 1 if before == "Running" else 0
    return TransitionsMissed(
        at=after(at), attempt=attempt, before=before, after=now, failed_before=0, failed=failed
    )


def begun(attempt: int) -> AttemptStarted:
    """Return that an attempt has begun, when its status says."""
    return AttemptStarted(
        at=after((attempt - 1) * PACE + 1),
        attempt=attempt,
        cluster_name=cluster_of(attempt),
        job_id=submission_of(attempt),
        generation=1,
        inferred=True,
    )


@pytest.mark.parametrize(
    ("rule", "given", "when", "then"),
    [
        (
            "Waiting is reached when it is shown",
            BEGUN,
            shown("Waiting", 12),
            [AttemptReachedWaiting(at=after(12), attempt=1, address=ADDRESS, inferred=True)],
        ),
        (
            "and is no Running",
            (*BEGUN, shown("Waiting", 12)),
            shown("Waiting", 14, message="still"),
            [],
        ),
        (
            "Initializing with an address is none either",
            BEGUN,
            shown("Initializing", 12, address=ADDRESS),
            [],
        ),
        (
            "the submission is named once the status does",
            (NEW, shown("Initializing", 1, job_id="")),
            shown("Initializing", 5),
            [SubmissionNamed(at=after(5), job_id=submission_of(1), inferred=True)],
        ),
        (
            "an end with Ray's status tells that it ran",
            BEGUN,
            shown("Complete", 60, **DONE),
            [
                running(60),
                told(60, JobStatus.SUCCEEDED, "done"),
                JobCompleted(
                    at=after(55),
                    attempt=1,
                    job_status=JobStatus.SUCCEEDED,
                    reason="",
                    message="done",
                    inferred=True,
                ),
            ],
        ),
        (
            "one without tells nothing of that, and the reason may be missing",
            BEGUN,
            shown("Failed", 60, failed=1, message="no"),
            [
                AttemptFailed(
                    at=after(60),
                    attempt=1,
                    reason="Unknown",
                    message="no",
                    failed=1,
                    job_status=JobStatus.NEW,
                    inferred=True,
                ),
                RetryRefused(
                    at=after(60),
                    attempt=1,
                    backoff_limit=2,
                    failed=1,
                    reason="Unknown",
                    rule=REFUSED,
                    inferred=True,
                ),
                JobFailed(at=after(60), attempt=1, reason="Unknown", message="no", inferred=True),
            ],
        ),
        (
            "a retry is granted by the controller in charge",
            WORKING,
            shown("Retrying", 40, failed=1, **LOST),
            [
                told(40, JobStatus.FAILED, "ValueError"),
                failed_at(38),
                RetryGranted(
                    at=after(40),
                    attempt=1,
                    backoff_limit=2,
                    failed=1,
                    reason="AppFailed",
                    rule=GRANTED,
                    due_at=after(40),
                    inferred=True,
                ),
            ],
        ),
        (
            "a failure that was not seen begin counts those before it as missed",
            (NEW,),
            shown("Failed", 140, 2, failed=2, **LOST),
            [
                TransitionsMissed(
                    at=after(140), attempt=0, before="", after="Failed", failed_before=0, failed=1
                ),
                AttemptStarted(
                    at=after(101),
                    attempt=2,
                    cluster_name=cluster_of(2),
                    job_id=submission_of(2),
                    generation=1,
                    inferred=True,
                ),
            ],
        ),
        (
            "a suspension that was not seen begin is told whole",
            RUNNING,
            shown("Suspended", 40, bare=True),
            [
                SuspensionStarted(at=after(40), attempt=1, inferred=True),
                JobSuspended(at=after(40), attempt=1, inferred=True),
            ],
        ),
        (
            "so is one before any attempt",
            (NEW,),
            shown("Suspended", 5, bare=True),
            [JobSuspended(at=after(5), attempt=0, inferred=True)],
        ),
        (
            "a suspension after a failure that was not seen is that failure missed",
            RUNNING,
            shown("Suspended", 40, bare=True, failed=1),
            [
                TransitionsMissed(
                    at=after(40),
                    attempt=1,
                    before="Running",
                    after="Suspended",
                    failed_before=0,
                    failed=1,
                ),
                JobSuspended(at=after(40), attempt=1, inferred=True),
            ],
        ),
        (
            "an end that names no attempt is an end",
            (NEW,),
            shown("Complete", 60, bare=True, **DONE),
            [
                JobCompleted(
                    at=after(55),
                    attempt=0,
                    job_status=JobStatus.SUCCEEDED,
                    reason="",
                    message="done",
                    inferred=True,
                )
            ],
        ),
        (
            "so is a failure",
            (NEW,),
            shown("Failed", 60, bare=True, message="no"),
            [JobFailed(at=after(60), attempt=0, reason="Unknown", message="no", inferred=True)],
        ),
        (
            "a manifest that is refused for no reason is refused",
            (NEW,),
            shown("ValidationFailed", 3, bare=True, message="bad"),
            [
                ManifestRejected(
                    at=after(3), generation=1, kind="Unknown", message="bad", inferred=True
                )
            ],
        ),
        (
            "a suspension that is under way is told by the status alone",
            WORKING,
            shown("Suspending", 40, job_status="RUNNING"),
            [SuspensionStarted(at=after(40), attempt=1, inferred=True)],
        ),
        (
            "an attempt that is waiting may fail without having run",
            (*BEGUN, shown("Waiting", 12)),
            shown("Failed", 60, failed=1, **EARLY),
            ended_early(60),
        ),
        (
            "so may one whose head has an address",
            BEGUN,
            shown("Failed", 60, failed=1, address=ADDRESS, **EARLY),
            ended_early(60),
        ),
        (
            "Ray's status beside the address tells that it ran before it failed",
            BEGUN,
            shown("Failed", 60, failed=1, address=ADDRESS, job_status="FAILED", **EARLY),
            [
                running(60),
                told(60, JobStatus.FAILED, "no"),
                *ended_early(60, JobStatus.FAILED),
            ],
        ),
        (
            "Complete tells that it ran, whatever Ray says",
            (*BEGUN, shown("Waiting", 12)),
            shown("Complete", 60, reason="Odd", message="done"),
            [
                running(60),
                JobCompleted(
                    at=after(60),
                    attempt=1,
                    job_status=JobStatus.NEW,
                    reason="Odd",
                    message="done",
                    inferred=True,
                ),
            ],
        ),
        (
            "Ray's status alone is no Running",
            BEGUN,
            shown("Initializing", 12, address=ADDRESS, job_status="PENDING"),
            [],
        ),
        (
            "nor is it in Waiting",
            (*BEGUN, shown("Waiting", 12)),
            shown("Waiting", 14, job_status="PENDING"),
            [],
        ),
        (
            "failures before a pause that was not seen begin are missed, but for its own",
            (NEW,),
            shown("Retrying", 140, 2, failed=2, **LOST),
            [missed(140, "", "Retrying"), begun(2)],
        ),
        (
            "an end that names no attempt leaves each failure missed",
            (NEW,),
            shown("Failed", 140, bare=True, failed=2, message="no"),
            [
                missed(140, "", "Failed", failed=2),
                JobFailed(at=after(140), attempt=0, reason="Unknown", message="no", inferred=True),
            ],
        ),
        (
            "failures while a job was suspended are missed, and with them its resumption",
            (NEW, shown("Suspended", 5, bare=True)),
            shown("Initializing", 201, 3, failed=2),
            [
                missed(201, "Suspended", "Initializing", failed=2),
                begun(3),
            ],
        ),
        (
            "a RayCluster of any name is the job's own where another controller made it",
            (NEW,),
            shown("Initializing", 1, cluster_name="a-cut-name-x7k2p"),
            [replace(begun(1), cluster_name="a-cut-name-x7k2p")],
        ),
        (
            "a status without a start is of the next attempt if one more has failed",
            WORKING,
            shown("Initializing", 130, 2, failed=1, started_at=None, job_id="drawn"),
            [
                missed(130, "Running", "Initializing"),
                replace(begun(2), at=after(130), job_id="drawn"),
            ],
        ),
        (
            "else it is one from before",
            (*WORKING, *OVER, shown("Initializing", 101, 2, failed=1)),
            shown("Running", 102, 1, failed=1, started_at=None),
            [],
        ),
        (
            "the status of an attempt that is over begins none, with its start or without",
            (*WORKING, *OVER),
            shown("Retrying", 47, failed=1, started_at=None, **FAILED),
            [],
        ),
        (
            "a status of an earlier attempt, shown once more, is behind",
            (
                *WORKING,
                shown("Retrying", 40, failed=1, **FAILED),
                shown("Initializing", 101, 2, failed=1),
            ),
            shown("Running", 102, 1),
            [],
        ),
    ],
)
def test_what_a_status_lets_conclude(
    rule: str, given: Sequence[Step], when: ManifestSeen, then: Sequence[RayJobEvent]
) -> None:
    del rule
    _, *found = said([*given, when]).news
    assert found[: len(then)] == list(then)
    if not any(isinstance(one, AttemptStarted) for one in then):
        assert len(found) == len(then)
