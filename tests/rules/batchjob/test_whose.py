"""Whose a Job is: the one that names this controller is controlled whatever the setting is."""

import pytest

from jobledger.core.batchjob.names import MANAGED_BY
from jobledger.core.jobs.control.control_policy import Control, ControlScope, why_recorded
from jobledger.core.jobs.control.status_writers import is_driven_here
from jobledger.core.kinds import KINDS
from jobledger.core.values.documents import Manifest
from tests.support.batchjobs import after

JOB = KINDS["Job"].controller
DONE: Manifest = {
    "metadata": {
        "managedFields": [
            {
                "manager": "jobledger",
                "operation": "Apply",
                "subresource": "status",
                "time": "2026-11-21T12:00:00Z",
                "fieldsV1": {"f:status": {"f:startTime": {}, "f:conditions": {}}},
            }
        ]
    },
    "status": {
        "startTime": "2026-11-21T12:00:00Z",
        "conditions": [
            {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-21T12:01:00Z"}
        ],
    },
}


@pytest.mark.parametrize("control", [Control.ALL, Control.NAMESPACES, Control.MANAGED_BY])
def test_a_job_that_names_this_controller_is_controlled(control: Control) -> None:
    assert KINDS["Job"].controller.names_us(MANAGED_BY)
    assert why_recorded(ControlScope(control=control), JOB, "data", MANAGED_BY) == ""


def test_a_recorder_controls_no_job() -> None:
    assert why_recorded(ControlScope(control=Control.NOTHING), JOB, "data", MANAGED_BY) != ""


def test_no_other_kind_is_named_by_that() -> None:
    assert not KINDS["RayJob"].controller.names_us(MANAGED_BY)
    assert not KINDS["TrainJob"].controller.names_us(MANAGED_BY)
    assert not KINDS["Job"].controller.names_us("")


def test_what_a_status_holds_says_that_a_job_has_ended_and_who_drove_it() -> None:
    assert JOB.has_ended(DONE)
    assert JOB.ended_at(DONE) == after(60)
    assert is_driven_here(JOB, DONE)
