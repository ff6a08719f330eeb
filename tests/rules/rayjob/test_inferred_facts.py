"""What is inferred from a status of another controller, with every field of it."""

from collections.abc import Sequence
from typing import Any

import pytest

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
from tests.rules.rayjob.test_recording import BEGUN, FAILED, NEW, RUNNING, WORKING, said, shown
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
