"""How the `.status` of a Job is written.

It is merged: the API server's own defaults and the counters of finished Pods are left alone.
"""

from jobledger.core.batchjob.names import MANAGED_BY
from jobledger.core.batchjob.status.status import COUNTERS, FIELDS, LASTING, RISING
from jobledger.core.jobs.control.controller_fields import ControllerFields
from jobledger.core.jobs.status.status_format import StatusFormat
from jobledger.core.values.documents import Manifest, items, number, text


def _words(status: Manifest) -> str:
    conditions = items(status, "conditions")
    shown = [text(one, "type") for one in conditions if text(one, "status") == "True"]
    return ", ".join(shown) or f"active={number(status, 'active') or 0}"


def _milestone(status: Manifest) -> str:
    conditions = [
        f"{text(one, 'type')}={text(one, 'status')}" for one in items(status, "conditions")
    ]
    pods = f"{bool(number(status, 'active'))} {bool(number(status, 'ready'))}"
    return " ".join([*conditions, pods, str(number(status, "failed") or 0)])


BATCHJOB_STATUS = StatusFormat(
    fields=FIELDS,
    milestone=_milestone,
    words=_words,
    is_merged=True,
    counters=COUNTERS,
    rising=RISING,
    lasting=LASTING,
)

BATCHJOB_CONTROLLER = ControllerFields(
    driving=frozenset({"f:conditions", "f:startTime", "f:active"}), named=MANAGED_BY
)
