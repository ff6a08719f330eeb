"""What `jobledger doctor` finds of `batch/v1` Jobs that are retried on new Jobs."""

from jobledger.adapters.kube.checks.leaks import Objects
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Json, Manifest
from tests.adapters.kube.test_doctor_checks import Fixed, asked


def test_the_job_of_an_attempt_that_outlives_its_own_job_is_named() -> None:
    owner: Json = {"kind": "Job", "apiVersion": "batch/v1", "name": "sum", "uid": "x"}
    named: dict[str, Json] = {"name": "sum-1", "namespace": "ml", "uid": "1"}
    attempt: Manifest = {"metadata": {**named, "ownerReferences": [owner]}}
    (found,) = asked(Objects(cluster=Fixed((BATCH_JOBS, attempt))))
    assert found.what == "Job ml/sum-1 belongs to Job sum, which is gone"
