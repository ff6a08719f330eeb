"""Whatever others write into RayJobs and their children: no listener and no rule stumbles.

An exception in a listener would end the watch for all jobs, one in the rules this job.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jobledger.core.kinds import JobObservation
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.status import FIELDS, status
from jobledger.core.values.documents import Json
from tests.adapters.service.parts import Bench, a_rayjob
from tests.support.records import NOON

ODD: st.SearchStrategy[Json] = st.sampled_from(
    (
        *(None, True, -1, 0, 2**31, 10**30, 1e308, "", "x" * 3000, "9" * 5000, [], {}, [None]),
        *("Running", "Waiting", "Retrying", "Complete", "ready", "True", "Failed"),
        *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"),
        *("ray-head", "ray-job-submitter", {"terminated": {"exitCode": "x", "finishedAt": 7}}),
    )
)
KEYS = (
    *("state", "conditions", "type", "status", "lastTransitionTime", "head", "reason", "message"),
    *("containerStatuses", "name", "restartCount", "lastState", "terminated", "phase"),
)
STATUSES = st.recursive(
    ODD,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=12,
)
SPECS = ("activeDeadlineSeconds", "ttlSecondsAfterFinished", "backoffLimit", "jobId", "suspend")


def conclusions(told: list[JobObservation]) -> None:
    """Draw every conclusion from what was told, and show it."""
    state: RayJobState = RAYJOB.initial
    for seen in told:
        for event in RAYJOB.news(state, seen):  # type: ignore[arg-type]  # of a RayJob
            state = RAYJOB.evolve(state, event)
        status(state)


@settings(max_examples=60)
@given(
    shown=st.dictionaries(st.sampled_from(sorted(FIELDS)), ODD),
    spec=st.dictionaries(st.sampled_from(SPECS), ODD),
    annotations=ODD,
)
def test_a_rayjob_of_any_kind_is_taken_in(
    shown: dict[str, Any], spec: dict[str, Any], annotations: Json
) -> None:
    bench, job = Bench(), a_rayjob(**spec)
    metadata: dict[str, Any] = {"uid": "u", "resourceVersion": "7", "generation": 1}
    metadata["annotations"] = annotations
    bench.jobs.seen({**job, "metadata": {**job["metadata"], **metadata}, "status": shown}, NOON)
    conclusions(bench.said())


@settings(max_examples=60)
@given(shown=STATUSES, spec=STATUSES, annotation=ODD)
def test_children_of_any_kind_are_taken_in(shown: Json, spec: Json, annotation: Json) -> None:
    bench = Bench()
    metadata: dict[str, Any] = {"name": "train", "namespace": "ml", "uid": "u"}
    bench.jobs.seen({**a_rayjob(), "metadata": {**metadata, "resourceVersion": "7"}}, NOON)
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "controller": True, "uid": "u"}
    for listener in (bench.clusters, bench.submitters):
        child: dict[str, Any] = {**metadata, "uid": "c", "resourceVersion": "8"}
        child |= {"ownerReferences": [owner], "annotations": {"jobledger.dev/attempt": annotation}}
        listener.seen({"metadata": child, "spec": spec, "status": shown}, NOON)
    conclusions(bench.said())
