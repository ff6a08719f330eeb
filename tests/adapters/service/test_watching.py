"""What the watches tell, and in which order."""

from typing import Any

import pytest

from jobledger.adapters.service.watches.job_listener import retell_job
from jobledger.core.jobs.observations import WatchInterrupted
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    ManifestGone,
    ManifestSeen,
    SubmitterSeen,
)
from jobledger.core.values.documents import Json, Manifest
from tests.adapters.service.parts import Bench, run_all
from tests.rules.rayjob.jobs import selecting
from tests.support.records import NOON, a_stream


def at_version(manifest: Manifest, version: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    metadata: Any = manifest["metadata"]
    return {**manifest, **fields, "metadata": {**metadata, "resourceVersion": version}}


def a_child(owner: str, name: str = "train-x2x2x", version: str = "5", state: str = "") -> Manifest:
    reference: Json = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "controller": True,
        "uid": owner,
    }
    return {
        "metadata": {
            "uid": f"uid-of-{name}",
            "name": name,
            "namespace": "ml",
            "resourceVersion": version,
            "ownerReferences": [reference] if owner else [],
        },
        "spec": {},
        "status": {"state": state} if state else {},
    }


def test_a_change_that_does_not_matter_is_only_counted() -> None:
    bench = Bench()
    made = bench.cluster.plant(RAYJOBS, {"metadata": {"name": "train", "namespace": "ml"}})
    job = bench.see(made)
    bench.jobs.seen(at_version(made, "50", status={"jobDeploymentStatus": "Running"}), NOON)
    assert bench.said() == []
    total = bench.confirmations.take(job.identity.stream_id)
    assert total is not None
    assert [item.source for item in total.sources] == ["RayJob"]
    fresh = bench.live.job(job.identity.uid)
    assert fresh is not None
    assert (fresh.version, fresh.phase) == ("50", "Running")


@pytest.mark.parametrize("field", ["labels", "annotations", "finalizers"])
def test_a_change_of_what_children_inherit_or_deletion_needs_is_told(field: str) -> None:
    bench = Bench()
    made = bench.cluster.plant(RAYJOBS, {"metadata": {"name": "train", "namespace": "ml"}})
    bench.see(made)
    changed = at_version(made, "50")
    changed["metadata"][field] = ["x"] if field == "finalizers" else {"x": "y"}
    bench.jobs.seen(changed, NOON)
    (seen,) = bench.said()
    assert isinstance(seen, ManifestSeen)


def test_an_older_form_of_a_rayjob_is_ignored() -> None:
    bench = Bench()
    made = bench.cluster.plant(RAYJOBS, {"metadata": {"name": "train", "namespace": "ml"}})
    bench.see(at_version(made, "50"))
    older = at_version(made, "49")
    older["metadata"]["generation"] = 9
    bench.jobs.seen(older, NOON)
    assert bench.said() == []


def test_an_older_form_of_a_child_is_ignored() -> None:
    bench = Bench()
    uid = bench.job().identity.uid
    bench.clusters.seen(a_child(uid, version="10", state="ready"), NOON)
    bench.said()
    bench.clusters.seen(a_child(uid, version="9"), NOON)
    assert bench.said() == []


def test_a_child_that_was_seen_before_its_rayjob_is_told_after_it() -> None:
    bench = Bench()
    made = bench.cluster.plant(RAYJOBS, {"metadata": {"name": "train", "namespace": "ml"}})
    uid = str(made["metadata"]["uid"])  # type: ignore[index,call-overload]  # JSON
    bench.clusters.seen(a_child(uid), NOON)
    bench.submitters.seen(a_child(uid, "train"), NOON)
    assert bench.said() == []
    bench.jobs.seen(made, NOON)
    assert [type(item) for item in bench.said()] == [ManifestSeen, ClusterSeen, SubmitterSeen]


def test_a_selected_cluster_concerns_whoever_selects_it() -> None:
    bench = Bench()
    for name in ("one", "two"):
        manifest = selecting()
        manifest["metadata"] = {"name": name, "namespace": "ml"}
        bench.see(bench.cluster.create(RAYJOBS, manifest))
    bench.clusters.seen(a_child("", "shared", state="ready"), NOON)
    assert [type(item) for item in bench.said()] == [ClusterSeen, ClusterSeen]
    for job in bench.live.jobs():
        bench.jobs.gone({"metadata": {"uid": job.identity.uid}}, NOON)
    assert [type(item) for item in bench.said()] == [ManifestGone, ManifestGone]
    bench.clusters.gone(a_child("", "shared"), NOON)
    assert bench.said() == []


def test_a_cluster_that_an_edit_selects_is_told_at_once() -> None:
    """It may be ready for hours already, and say nothing more by itself."""
    bench = Bench()
    made = bench.cluster.plant(RAYJOBS, {"metadata": {"name": "train", "namespace": "ml"}})
    bench.see(made)
    bench.clusters.seen(a_child("", "shared", state="ready"), NOON)
    assert bench.said() == []
    corrected = at_version(made, "50", spec={"clusterSelector": {"ray.io/cluster": "shared"}})
    corrected["metadata"]["generation"] = 2
    bench.jobs.seen(corrected, NOON)
    assert [type(item) for item in bench.said()] == [ManifestSeen, ClusterSeen]


def test_a_job_that_comes_back_from_another_controller_is_told_of_its_children() -> None:
    """What they did meanwhile was no concern of this controller."""
    bench = Bench()
    job = bench.job(managedBy="kueue.x-k8s.io/multikueue")
    bench.clusters.seen(a_child(job.identity.uid, state="ready"), NOON)
    bench.said()
    for managed_by in ("ray.io/kuberay-operator", ""):
        spec = {"managedBy": managed_by}
        bench.jobs.seen(bench.cluster.edit(RAYJOBS, "ml", "train", spec=spec), NOON)
    assert [type(one) for one in bench.said()] == [ManifestSeen, ClusterSeen, ManifestSeen]


def test_a_child_with_nonsense_in_its_annotations_harms_nobody() -> None:
    bench = Bench()
    owner = bench.job().identity.uid
    odd: Any = a_child(owner, "train")
    odd["metadata"]["annotations"] = {"jobledger.dev/attempt": "9" * 5000}
    finished = {
        "type": "Failed",
        "status": "True",
        "lastTransitionTime": "0001-01-01T00:00:00+14:00",
    }
    odd["status"] = {"conditions": [finished]}
    bench.submitters.seen(odd, NOON)
    (seen,) = bench.said()
    assert isinstance(seen, SubmitterSeen)
    assert (seen.attempt, seen.finished, seen.finished_at) == (0, "Failed", None)


def test_a_batch_job_of_nobody_is_not_kept() -> None:
    bench = Bench()
    bench.submitters.seen(a_child("", "somebody-elses"), NOON)
    assert not bench.live.has_child("Job", "uid-of-somebody-elses")


def test_what_goes_is_told_once() -> None:
    bench = Bench()
    job = bench.job()
    bench.clusters.seen(a_child(job.identity.uid), NOON)
    bench.said()
    for _ in range(2):
        bench.clusters.gone(a_child(job.identity.uid), NOON)
        bench.jobs.gone({"metadata": {"uid": job.identity.uid}}, NOON)
    assert [type(item) for item in bench.said()] == [ClusterGone, ManifestGone]


def test_a_gap_is_told_to_every_job() -> None:
    bench = Bench()
    bench.job()
    bench.job({"metadata.name": "other"})
    bench.clusters.interrupted(NOON, NOON, "the connection was lost")
    said = bench.said()
    assert [type(item) for item in said] == [WatchInterrupted, WatchInterrupted]
    assert len({item.id for item in said}) == 2


def test_complete_lists_are_passed_on_by_kind() -> None:
    bench = Bench()
    for listener in (bench.jobs, bench.clusters, bench.submitters):
        listener.synced(NOON)
    assert bench.kinds == ["RayJob", "RayCluster", "Job"]


def test_a_job_can_be_told_once_more_with_its_children() -> None:
    bench = Bench()
    job = bench.job()
    bench.clusters.seen(a_child(job.identity.uid), NOON)
    first = bench.said()
    retell_job(bench.around, job.identity.uid, NOON)
    again = bench.said()
    assert [type(item) for item in again] == [ManifestSeen, ClusterSeen]
    assert again[1:] == first
    retell_job(bench.around, "of nobody", NOON)
    assert bench.said() == []


def test_the_newest_form_of_a_child_is_told_last_whoever_tells() -> None:
    """Two watches tell of the same child: that of its kind, and that of its new RayJob."""
    for _ in range(20):
        bench = Bench()
        made = bench.cluster.plant(RAYJOBS, {"metadata": {"name": "train", "namespace": "ml"}})
        uid = str(made["metadata"]["uid"])  # type: ignore[index,call-overload]  # JSON

        def watch_clusters(bench: Bench = bench, uid: str = uid) -> None:
            for version in range(1, 30):
                state = "ready" if version == 29 else ""
                bench.clusters.seen(a_child(uid, version=str(version), state=state), NOON)

        def watch_jobs(bench: Bench = bench, made: Manifest = made) -> None:
            bench.jobs.seen(made, NOON)

        run_all([watch_clusters, watch_jobs])
        told = [item.state for item in bench.said() if isinstance(item, ClusterSeen)]
        assert told[-1] == "ready"


def test_streams_follow_from_the_object_alone() -> None:
    bench = Bench()
    assert bench.job().identity.stream_id != a_stream("another")
    assert {RAYCLUSTERS.kind, BATCH_JOBS.kind} == {"RayCluster", "Job"}
