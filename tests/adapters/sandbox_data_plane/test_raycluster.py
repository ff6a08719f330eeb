"""What a RayJob controller relies on in a RayCluster. Source: semantics/rayjob.md, section 11."""

from jobledger.core.ports.cluster import PODS, RAYCLUSTERS, SERVICES
from tests.adapters.sandbox_data_plane.world import (
    World,
    fetch,
    head_address,
    raycluster,
    true_conditions,
)
from tests.support.waiting import wait_until

HEAD = "ray.io/cluster=c,ray.io/node-type=head"
WORKERS = "ray.io/cluster=c,ray.io/node-type=worker"


def test_a_new_cluster_becomes_ready(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c", workers=2))
    status = world.wait_until_ready("c")
    (head,) = world.pods(HEAD)
    assert status["head"] == {
        "podIP": head["status"]["podIP"],
        "podName": head["metadata"]["name"],
        "serviceIP": head["status"]["podIP"],
        "serviceName": "c-head-svc",
    }
    assert status["endpoints"] == {
        "client": "10001",
        "dashboard": "8265",
        "gcs-server": "6379",
        "metrics": "8080",
        "serve": "8000",
    }
    counts = [status[f"{kind}WorkerReplicas"] for kind in ("desired", "min", "max", "ready")]
    assert counts == [2, 0, 5, 2]
    assert true_conditions(status) == ["HeadPodReady", "RayClusterProvisioned"]


def test_the_head_service_is_there_when_the_cluster_is_ready(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c"))
    world.wait_until_ready("c")
    service = world.get(SERVICES, "c-head-svc") or {}
    ports = {port["name"]: port["port"] for port in service["spec"]["ports"]}
    assert ports["dashboard"] == 8265
    assert service["spec"]["clusterIP"] == "None"
    assert service["metadata"]["ownerReferences"][0]["name"] == "c"
    address = f"{head_address('c')}/api/gcs_healthz"
    assert fetch(address, proxy=world.plane.proxy_url) == (200, "success")


def test_pods_carry_upstreams_labels_and_names(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c"))
    world.wait_until_ready("c")
    (head,), (worker,) = world.pods(HEAD), world.pods(WORKERS)
    assert head["metadata"]["name"].startswith("c-head-")
    assert worker["metadata"]["name"].startswith("c-small-worker-")
    assert worker["metadata"]["labels"]["ray.io/group"] == "small"
    assert head["metadata"]["labels"]["ray.io/identifier"] == "c-head"
    assert head["metadata"]["ownerReferences"][0]["controller"] is True


def test_a_users_command_runs_before_ray_start(world: World) -> None:
    document = raycluster("c", workers=0)
    template = document["spec"]["headGroupSpec"]["template"]["spec"]
    template["containers"][0]["command"] = ["echo", "prepared"]
    world.create(RAYCLUSTERS, document)
    world.wait_until_ready("c")
    assert world.log(world.pods(HEAD)[0]["metadata"]["name"]).startswith("prepared\n")


def test_a_cluster_of_another_manager_is_left_alone(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("other", managedBy="kueue.x-k8s.io/multikueue"))
    world.create(RAYCLUSTERS, raycluster("c", workers=0, managedBy="ray.io/kuberay-operator"))
    world.wait_until_ready("c")
    assert world.status(RAYCLUSTERS, "other") == {}
    assert world.pods("ray.io/cluster=other") == []


def test_a_dead_head_is_replaced_and_ready_is_sticky(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c", workers=0))
    world.wait_until_ready("c")
    (old,) = world.pods(HEAD)
    world.api.delete(PODS, "default", old["metadata"]["name"])
    wait_until(lambda: _head_uid(world) not in ("", old["metadata"]["uid"]), "another head")
    assert world.status(RAYCLUSTERS, "c")["state"] == "ready"
    assert world.pods(HEAD)[0]["metadata"]["name"] != old["metadata"]["name"]
    name = world.pods(HEAD)[0]["metadata"]["name"]
    world.wait_for_condition(PODS, name, "Ready")


def test_a_provisioned_head_is_not_replaced_where_the_annotation_says_so(world: World) -> None:
    document = raycluster("c")
    document["metadata"]["annotations"] = {"ray.io/disable-provisioned-head-restart": "true"}
    world.create(RAYCLUSTERS, document)
    world.wait_until_ready("c")
    (head,), (worker,) = world.pods(HEAD), world.pods(WORKERS)
    for old in (head, worker):
        world.api.delete(PODS, "default", old["metadata"]["name"])
    wait_until(
        lambda: (
            [one["metadata"]["uid"] for one in world.pods(WORKERS)]
            not in ([], [worker["metadata"]["uid"]])
        ),
        "the worker is replaced",
    )
    wait_until(
        lambda: "HeadPodReady" not in true_conditions(world.status(RAYCLUSTERS, "c")),
        "the head is missed",
    )
    assert world.pods(HEAD) == []


def test_failed_pods_are_deleted_and_made_anew(world: World) -> None:
    document = raycluster("c", workers=0)
    document["spec"]["headGroupSpec"]["template"]["spec"]["restartPolicy"] = "Never"
    world.create(RAYCLUSTERS, document)
    world.wait_until_ready("c")
    uid = _head_uid(world)
    world.plane.agent.kill_pod("default", world.pods(HEAD)[0]["metadata"]["name"])
    wait_until(lambda: _head_uid(world) not in ("", uid), "another head")


def test_a_suspended_group_has_no_pods(world: World) -> None:
    document = raycluster("c", workers=2)
    document["spec"]["workerGroupSpecs"][0]["suspend"] = True
    world.create(RAYCLUSTERS, document)
    status = world.wait_until_ready("c")
    assert status["desiredWorkerReplicas"] == 0
    assert world.pods(WORKERS) == []


def test_workers_follow_the_replicas(world: World) -> None:
    document = raycluster("c", workers=2)
    world.create(RAYCLUSTERS, document)
    world.wait_until_ready("c")
    for replicas in (0, 3):
        groups = [{**document["spec"]["workerGroupSpecs"][0], "replicas": replicas}]
        world.api.merge_patch(RAYCLUSTERS, "default", "c", {"spec": {"workerGroupSpecs": groups}})
        wait_until(lambda: _ready_workers(world) == replicas, f"{replicas} workers")  # noqa: B023  # waited for in this turn
        assert len(world.pods(WORKERS)) == replicas


def test_a_suspended_cluster_ends_without_pods_and_resumes(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c"))
    world.wait_until_ready("c")
    world.api.merge_patch(RAYCLUSTERS, "default", "c", {"spec": {"suspend": True}})
    wait_until(lambda: world.status(RAYCLUSTERS, "c")["state"] == "suspended", "it is suspended")
    assert world.pods() == []
    assert "RayClusterSuspended" in true_conditions(world.status(RAYCLUSTERS, "c"))
    world.api.merge_patch(RAYCLUSTERS, "default", "c", {"spec": {"suspend": False}})
    world.wait_until_ready("c")


def test_everything_goes_with_the_cluster(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c"))
    world.wait_until_ready("c")
    world.api.delete(RAYCLUSTERS, "default", "c")
    wait_until(lambda: world.processes() == [], "its processes have gone")
    assert world.pods() == []
    assert world.get(SERVICES, "c-head-svc") is None


def test_a_ready_cluster_is_not_written_again(world: World) -> None:
    world.create(RAYCLUSTERS, raycluster("c"))
    world.wait_until_ready("c")
    world.create(RAYCLUSTERS, raycluster("other"))
    before = [write for write in world.api.writes if write[1:] == ("rayclusters", "c")]
    world.wait_until_ready("other")
    assert [write for write in world.api.writes if write[1:] == ("rayclusters", "c")] == before


def test_a_malformed_cluster_stops_nobody_else(world: World) -> None:
    broken = raycluster("broken")
    broken["spec"] = {"headGroupSpec": {"template": {"spec": {"containers": "none"}}}}
    world.api.plant(RAYCLUSTERS, broken)
    odd = raycluster("odd")
    odd["spec"]["workerGroupSpecs"] = [7, {"replicas": "many"}]
    odd["spec"]["headGroupSpec"]["rayStartParams"] = {"dashboard-port": "not a port"}
    world.api.plant(RAYCLUSTERS, odd)
    world.create(RAYCLUSTERS, raycluster("c", workers=0))
    world.wait_until_ready("c")


def _head_uid(world: World) -> str:
    found = world.pods(HEAD)
    return found[0]["metadata"]["uid"] if found else ""


def _ready_workers(world: World) -> int:
    return int(world.status(RAYCLUSTERS, "c").get("readyWorkerReplicas", 0))
