"""The objects made for a RayJob besides its RayCluster and submitter; notices their deletion.

Source: KubeRay looks for the Service of the job's head at each pass in Running, and lets its batch
scheduler make a PodGroup at each pass in Initializing; in other phases for neither.
"""

from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.rayjob.manifests.gang_scheduling import pod_group_name
from jobledger.core.rayjob.names import head_service_name
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.state import RayJobState

SERVICE, POD_GROUP = "Service", "PodGroup"


def needed_parts(state: RayJobState) -> tuple[tuple[str, str], ...]:
    """Return kind and name of each part that was made and that the job needs now."""
    identity, attempt = state.identity, state.attempt
    if identity is None or attempt is None or state.recorded is not None or is_leaving(state):
        return ()
    if state.phase is Phase.RUNNING and state.service_leads_to == attempt.cluster_name:
        return ((SERVICE, head_service_name(identity.name)),)
    if state.phase is Phase.INITIALIZING and attempt.pod_group:
        return ((POD_GROUP, pod_group_name(identity.name)),)
    return ()
