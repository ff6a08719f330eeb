"""How the `.status` of a RayJob is written."""

from jobledger.core.jobs.status.status_format import StatusFormat
from jobledger.core.rayjob.status.status import FIELDS
from jobledger.core.values.documents import Manifest, text


def _phase(status: Manifest) -> str:
    return text(status, "jobDeploymentStatus")


RAYJOB_STATUS = StatusFormat(fields=FIELDS, milestone=_phase, words=_phase, is_merged=False)
