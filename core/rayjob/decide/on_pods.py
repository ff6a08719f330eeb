"""Events that follow from an observation of an attempt's Pods."""

from jobledger.core.rayjob.events.lifecycle import PodsObserved, RayJobEvent
from jobledger.core.rayjob.observations.observations import PodsSeen
from jobledger.core.rayjob.observations.pods import PodLook
from jobledger.core.rayjob.rules.pod_looks import desired_look
from jobledger.core.rayjob.state import RayJobState


def on_pods_seen(state: RayJobState, seen: PodsSeen) -> tuple[RayJobEvent, ...]:
    """Return what a look brings, if it is still for what the state waits for.

    Evidence is told once. While Pods are left, that is told the first time, and for each new kind
    of trouble; in the end, that none is.
    """
    attempt, purpose = state.attempt, desired_look(state)
    if attempt is None or purpose is None or seen.purpose is not purpose:
        return ()
    if seen.attempt != attempt.number:
        return ()
    unclear = seen.trouble != ""
    if purpose is PodLook.EVIDENCE and unclear:
        told = attempt.failing is not None and attempt.failing.trouble == seen.trouble
    else:
        told = (
            attempt.pods_told
            and (unclear or seen.total > 0)
            and attempt.pods_trouble == (seen.trouble)
        )
    if told:
        return ()
    return (
        PodsObserved(
            at=seen.at,
            attempt=seen.attempt,
            purpose=seen.purpose,
            total=seen.total,
            pods=seen.pods,
            trouble=seen.trouble,
        ),
    )
