"""What `jobledger doctor` finds that was made for a job and has lost its owner."""

import pytest

from jobledger.adapters.kube.checks.leaks import Objects
from jobledger.core.batchjob.names import JOB_LABEL
from jobledger.core.forensics.findings import Severity
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Resource
from jobledger.core.values.documents import Manifest
from tests.adapters.kube.test_doctor_checks import TRAIN, Fixed, asked

OF_RAY = {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "gone"}


def labelled(**labels: str) -> Manifest:
    """Return what nobody owns, as an orphaning deletion or Velero leaves it."""
    return {"metadata": {"name": "c", "namespace": "ml", "uid": "labelled", "labels": labels}}


@pytest.mark.parametrize(
    ("resource", "labels", "said"),
    [
        (RAYCLUSTERS, OF_RAY, "is labelled for gone, which is gone"),
        (
            RAYCLUSTERS,
            {**OF_RAY, "ray.io/originated-from-cr-name": "train"},
            "is labelled for train, which does not own it",
        ),
        (BATCH_JOBS, {JOB_LABEL: "etl"}, "Job ml/c is labelled for etl, which is gone"),
        (BATCH_JOBS, {JOB_LABEL: "again"}, "Job ml/c is labelled for again, which does not own it"),
    ],
)
def test_what_nobody_owns_is_named_and_no_service_is_said_to_delete_it(
    resource: Resource, labels: dict[str, str], said: str
) -> None:
    again = {"metadata": {"name": "again", "namespace": "ml", "uid": "a"}}
    there = (RAYJOBS, TRAIN), (BATCH_JOBS, again)
    (found,) = asked(Objects(cluster=Fixed(*there, (resource, labelled(**labels)))))
    assert (found.check, found.severity) == ("leaked-objects", Severity.WARNING)
    assert said in found.what
    assert "nobody deletes it" in found.remedy
