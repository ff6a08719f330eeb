"""Which objects of an attempt are short of Pods, or a JobSet of Jobs, by what they say."""

import pytest

from jobledger.core.batchjob.rules.evidence_scene import BATCHJOB_EVIDENCE
from jobledger.core.jobs.evidence.scene import job_is_short
from jobledger.core.rayjob.rules.evidence_scene import RAYJOB_EVIDENCE
from jobledger.core.trainjob.rules.evidence_scene import TRAINJOB_EVIDENCE
from jobledger.core.values.documents import Manifest

COMPLETE: Manifest = {"conditions": [{"type": "Complete", "status": "True"}]}


@pytest.mark.parametrize(
    ("spec", "status", "short"),
    [
        ({}, {}, True),  # one Pod, where nothing is said
        ({}, {"active": 1}, False),
        ({"parallelism": 4}, {"active": 3}, True),
        ({"parallelism": 4}, {"active": 3, "succeeded": 1}, False),
        ({"parallelism": 4, "completions": 2}, {"active": 2}, False),
        ({"parallelism": 0}, {}, False),
        ({"parallelism": 4, "suspend": True}, {}, False),
        ({"parallelism": 4}, {"failed": 1}, False),  # its controller pauses before the next
        ({"parallelism": 4}, COMPLETE, False),
    ],
)
def test_a_job(spec: Manifest, status: Manifest, *, short: bool) -> None:
    job: Manifest = {"kind": "Job", "spec": spec, "status": status}
    assert job_is_short(job) is short
    assert BATCHJOB_EVIDENCE.is_short(job, 0) is short
    assert RAYJOB_EVIDENCE.is_short(job, 0) is short  # a submitter


@pytest.mark.parametrize(
    ("spec", "status", "pods", "short"),
    [
        ({}, {}, 0, True),  # no head
        ({}, {}, 1, False),
        ({}, {"desiredWorkerReplicas": 3}, 3, True),
        ({}, {"desiredWorkerReplicas": 3}, 4, False),
        ({"suspend": True}, {"desiredWorkerReplicas": 3}, 0, False),
    ],
)
def test_a_raycluster(spec: Manifest, status: Manifest, pods: int, *, short: bool) -> None:
    cluster: Manifest = {"kind": "RayCluster", "spec": spec, "status": status}
    assert RAYJOB_EVIDENCE.is_short(cluster, pods) is short


@pytest.mark.parametrize(
    ("replicated", "jobs", "short"),
    [
        ([{}], 0, True),  # one Job, where nothing is said
        ([{}], 1, False),
        ([{"replicas": 2}, {"replicas": 1}], 2, True),
        ([{"replicas": 2}, {"replicas": 1}], 3, False),
        ([{"replicas": 0}], 0, False),
    ],
)
def test_a_jobset(replicated: list[Manifest], jobs: int, *, short: bool) -> None:
    jobset: Manifest = {"kind": "JobSet", "spec": {"replicatedJobs": replicated}}
    assert TRAINJOB_EVIDENCE.is_short(jobset, jobs) is short
