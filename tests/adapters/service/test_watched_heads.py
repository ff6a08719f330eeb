"""What the watch of heads tells, and whom."""

from typing import Any

import pytest

from jobledger.adapters.kinds.rayjob.watching.listeners import ChildListener
from jobledger.core.rayjob.observations.observations import HeadPodGone, HeadPodSeen
from jobledger.core.values.documents import Json, Manifest, child
from tests.adapters.service.parts import Bench
from tests.adapters.service.test_watching import a_child

SOME_TIME = "2026-11-21T12:00:00Z"


def head_pod(cluster: Manifest, *, version: str = "1", **more: Any) -> Manifest:  # noqa: ANN401 any JSON
    """Return the Pod of a RayCluster's head, as the watch tells of it."""
    metadata = child(cluster, "metadata")
    head = {"apiVersion": "ray.io/v1", "kind": "RayCluster"}
    owner: Json = {**head, "controller": True, "uid": metadata["uid"]}
    return {
        "metadata": {
            "name": "head",
            "namespace": "ml",
            "uid": "uid-of-head",
            "resourceVersion": version,
            "labels": {"ray.io/cluster": metadata["name"], "ray.io/node-type": "head"},
            "ownerReferences": [owner],
        },
        "spec": {"containers": [{"name": "ray-head"}, {"name": "ray-job-submitter"}]},
        "status": {"phase": "Running", **more},
    }


def heads(bench: Bench) -> ChildListener:
    return ChildListener(bench.around, "Pod")


def ended(code: int) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "reason": "Error", "finishedAt": SOME_TIME}}
    return {"containerStatuses": [{"name": "ray-job-submitter", "state": state}]}


@pytest.mark.parametrize("pod_first", [False, True])
def test_a_head_is_told_to_the_job_of_its_raycluster_whichever_was_seen_first(
    pod_first: bool,
) -> None:
    bench = Bench()
    job = bench.job()
    cluster = a_child(job.identity.uid)

    def see_cluster() -> None:
        bench.clusters.seen(cluster, bench.clock.now())

    def see_head() -> None:
        heads(bench).seen(head_pod(cluster), bench.clock.now())

    for see in (see_head, see_cluster) if pod_first else (see_cluster, see_head):
        see()
    told = [item for item in bench.said() if isinstance(item, HeadPodSeen)]
    assert [(item.cluster, item.uid, item.finished) for item in told] == [
        ("train-x2x2x", "uid-of-head", "")
    ]


def test_of_a_head_only_what_matters_is_told() -> None:
    bench = Bench()
    job = bench.job()
    cluster = a_child(job.identity.uid)
    bench.clusters.seen(cluster, bench.clock.now())
    listener = heads(bench)
    listener.seen(head_pod(cluster), bench.clock.now())
    bench.said()
    listener.seen(head_pod(cluster, version="2", podIP="10.0.0.9"), bench.clock.now())
    assert bench.said() == []
    listener.seen(head_pod(cluster, version="3", **ended(7)), bench.clock.now())
    (told,) = bench.said()
    assert isinstance(told, HeadPodSeen)
    assert (told.finished, told.message) == (
        "Failed",
        "Ray head pod container ray-job-submitter terminated with exit code 7: Error",
    )
    listener.gone(head_pod(cluster, version="4"), bench.clock.now())
    (gone,) = bench.said()
    assert isinstance(gone, HeadPodGone)
    assert gone.uid == "uid-of-head"


def test_a_head_of_nobodys_raycluster_is_told_to_nobody() -> None:
    bench = Bench()
    bench.job()
    cluster = a_child("of another", "other")
    bench.clusters.seen(cluster, bench.clock.now())
    heads(bench).seen(head_pod(cluster), bench.clock.now())
    assert bench.said() == []
