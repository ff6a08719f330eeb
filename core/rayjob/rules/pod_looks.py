"""When the Pods of an attempt are read, and for what purpose.

Nobody looks unless the job asks for it: by a retry policy, whose classes need evidence, or by the
wish that the next attempt waits until no Pod of the last is left.
"""

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.rayjob.observations.pods import PodLook
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.state import RayJobState, selects_cluster


def desired_look(state: RayJobState) -> PodLook | None:
    """Return the look that the state calls for now."""
    attempt = state.attempt
    if is_dormant(state) or is_leaving(state) or attempt is None:
        return None
    if attempt.failing is not None and not attempt.failing.looked:
        return PodLook.EVIDENCE
    return PodLook.CLEARING if waits_for_pods(state) else None


def waits_for_pods(state: RayJobState) -> bool:
    """Return whether RayCluster and submitter are gone and only Pods may be left.

    Before that a look would mean nothing: others might still be made.
    """
    attempt, manifest = state.attempt, state.manifest
    if attempt is None or manifest is None or selects_cluster(state):
        return False
    leaving = state.phase in (Phase.RETRYING, Phase.SUSPENDING)
    gone = state.cluster is None and state.submitter is None and not state.orphans
    return manifest.options.wait_for_pods and leaving and gone and not attempt.pods_gone
