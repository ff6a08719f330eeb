"""How the `.status` of a RayJob is written, and how it shows who controls the job."""

from jobledger.core.jobs.control.control_policy import MANAGED_BY_JOBLEDGER
from jobledger.core.jobs.control.controller_fields import ENDED, ControllerFields
from jobledger.core.jobs.status.status_format import StatusFormat
from jobledger.core.rayjob.status.status import FIELDS
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.instants import Instant, parse_rfc3339


def _phase(status: Manifest) -> str:
    return text(status, "jobDeploymentStatus")


def _has_ended(manifest: Manifest) -> bool:
    return text(manifest, "status", "jobDeploymentStatus") in ENDED


def _ended_at(manifest: Manifest) -> Instant | None:
    return parse_rfc3339(text(manifest, "status", "endTime"))


RAYJOB_STATUS = StatusFormat(
    fields=FIELDS,
    milestone=_phase,
    words=_phase,
    is_merged=False,
    copied=frozenset({"rayClusterStatus"}),
)

RAYJOB_CONTROLLER = ControllerFields(
    driving=frozenset({"f:jobDeploymentStatus"}),
    named=MANAGED_BY_JOBLEDGER,
    has_ended=_has_ended,
    ended_at=_ended_at,
)
