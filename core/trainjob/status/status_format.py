"""How the `.status` of a TrainJob is written.

It is merged, as upstream does: its conditions are one list in one order, whoever wrote them before,
and `trainerStatus` is left alone.
"""

from jobledger.core.jobs.control.controller_fields import ControllerFields
from jobledger.core.jobs.status.status_format import StatusFormat
from jobledger.core.trainjob.status.status import FIELDS
from jobledger.core.values.documents import Manifest, items, number, text


def _conditions(status: Manifest) -> str:
    return ", ".join(
        f"{text(item, 'type')}={text(item, 'status')}" for item in items(status, "conditions")
    )


def _milestone(status: Manifest) -> str:
    reasons = [text(item, "reason") for item in items(status, "conditions")]
    jobs = [
        f"{text(item, 'name')}:{bool(number(item, 'active'))}:"
        f"{(number(item, 'ready') or 0) + (number(item, 'succeeded') or 0)}"
        for item in items(status, "jobsStatus")
    ]
    return " ".join([_conditions(status), *reasons, *jobs])


TRAINJOB_STATUS = StatusFormat(
    fields=FIELDS, milestone=_milestone, words=_conditions, is_merged=True
)

TRAINJOB_CONTROLLER = ControllerFields(driving=frozenset({"f:conditions", "f:jobsStatus"}))
"""`trainerStatus` is none of it: the Pods of a TrainJob have it written."""
