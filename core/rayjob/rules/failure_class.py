"""Classifies a failure: by its reason and the origin of its message, then by its Pods."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jobledger.core.jobs.failures.diagnosis import Judged, diagnose
from jobledger.core.jobs.history.signs import Source, exit_clue
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.rayjob.observations.pods import PodFact
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.state import Failing, RayJobState, is_sidecar

BY_REASON = {
    "AppFailed": FailureClass.APPLICATION,
    "SubmissionFailed": FailureClass.SUBMISSION,
}
"""Reason -> class, where nothing else is known."""


def by_reason(reason: str) -> FailureClass:
    """Return the class that a reason speaks of."""
    return BY_REASON.get(reason, FailureClass.OTHER)


def by_evidence(
    failure: FailureClass,
    exit_code: int | None,
    pods: Sequence[PodFact],
    head_taken: str = "",
    *,
    is_named: bool = False,
) -> tuple[FailureClass, str]:
    """Return the class in the light of the Pods, and the evidence in words; empty if there is none.

    A Pod that was taken away explains every failure: of the application too, which loses what ran
    there. An image that is not to be had explains what never came to run. `head_taken` says why
    the head's Pod was taken away, as the watch saw it before it went. Where the job's policy names
    the very exit code of the application (`is_named`), that was its own last word: it stays.
    """
    if failure is FailureClass.APPLICATION and is_named:
        return failure, f"the application ended with exit code {exit_code}"
    if head_taken:
        return FailureClass.PREEMPTION, f"the head's Pod was taken away: {head_taken}"
    taken = next((pod for pod in pods if pod.disrupted), None)
    if taken is not None:
        return FailureClass.PREEMPTION, taken.words
    waits = next((pod for pod in pods if pod.image_trouble), None)
    never_ran = failure in (FailureClass.OTHER, FailureClass.SUBMISSION)
    if waits is not None and never_ran and exit_code is None:
        return FailureClass.IMAGE_PULL, waits.words
    told = next((pod for pod in pods if pod.exit_code is not None), None)
    return failure, told.words if told is not None else ""


def of_submitter(state: RayJobState) -> FailureClass:
    """Return the class of a failed submitter: one whose head goes cannot hand anything in.

    Beside the head the submitter goes with it, so there its own end says more.
    """
    attempt, head = state.attempt, state.head
    lost = attempt is not None and (attempt.cluster_lost or attempt.head_lost)
    is_going = lost or (head is not None and head.deleting)
    return FailureClass.HEAD_LOST if is_going and not is_sidecar(state) else FailureClass.SUBMISSION


class _Seen(NamedTuple):
    """A sign that is known when the retry rule judges."""

    source: Source
    text: str


def cause_in(group: FailureClass, state: RayJobState, failing: Failing) -> str:
    """Return the cause of a failure within its group, by all that is known at the verdict.

    What is kept later (logs, Kubernetes Events) may tell a more exact one, but of the same group.
    Empty where the job's policy names no cause: then nobody asks.
    """
    if state.manifest is None or not state.manifest.options.names_causes:
        return ""
    ran = state.entrypoint.status is not JobStatus.NEW
    judged = Judged(group, by_policy=True)
    return diagnose(tuple(_signs(state, failing)), ran=ran, judged=judged).rule.name


def _signs(state: RayJobState, failing: Failing) -> Iterator[_Seen]:
    attempt, entrypoint = state.attempt, state.entrypoint
    assert attempt is not None, "only an attempt fails"
    yield _Seen(Source.REASON, failing.reason)
    yield _Seen(Source.MESSAGE, failing.message)
    if entrypoint.status is JobStatus.FAILED:
        yield _Seen(Source.RAY, entrypoint.message)
        yield _Seen(Source.RAY, entrypoint.error_type)
    yield _Seen(Source.EXIT, exit_clue(entrypoint.exit_code))
    for pod in failing.pods:
        yield _Seen(Source.POD, f"{pod.reason}: {pod.message}" if pod.reason else "")
        yield _Seen(Source.EXIT, exit_clue(pod.exit_code))
    yield _Seen(Source.POD, attempt.head_taken)
    lost = {"cluster": attempt.cluster_lost, "head": attempt.head_lost}
    yield from (_Seen(Source.LOSS, what) for what, is_lost in lost.items() if is_lost)
