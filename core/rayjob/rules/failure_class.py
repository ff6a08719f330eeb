"""Classifies a failure: by its reason and the origin of its message, then by its Pods."""

from collections.abc import Sequence

from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.rayjob.observations.pods import PodFact

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
