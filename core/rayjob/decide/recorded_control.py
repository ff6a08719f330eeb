"""What is different about the control of a RayJob: whose it is, and what its status shows."""

from jobledger.core.jobs.control.control_change import ControlRules
from jobledger.core.rayjob.decide.on_lost_history import signs
from jobledger.core.rayjob.events.lifecycle import OthersStatusObserved
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.rayjob.state import RayJobState, is_final
from jobledger.core.rayjob.status.status import status
from jobledger.core.values.documents import text


def _shows_own(state: RayJobState, seen: ManifestSeen) -> bool:
    own, shown = status(state), seen.status
    return (
        shown.phase == text(own, "jobDeploymentStatus")
        and shown.cluster_name == text(own, "rayClusterName")
        and (shown.succeeded, shown.failed) == (state.succeeded, state.failed)
    )


RAYJOB_CONTROL: ControlRules[RayJobState, ManifestSeen, OthersStatusObserved] = ControlRules(
    no_status=SeenStatus(phase=""),
    shown=lambda seen: OthersStatusObserved(at=seen.at, status=seen.status),
    signs=signs,
    is_final=is_final,
    shows_own=_shows_own,
)
