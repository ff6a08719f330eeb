"""What becomes of a Pod: phases, exit codes, restarts, its end."""

import json

import pytest

from jobledger.core.ports.cluster import PODS
from jobledger.core.values.documents import text
from jobledger.sandbox.agent.agent import NODE_NAME
from tests.adapters.sandbox_data_plane.world import World, pod, shell, true_conditions
from tests.contracts.cluster_listener import RecordingListener
from tests.support.waiting import wait_until


@pytest.mark.parametrize(
    ("script", "phase", "code"),
    [
        ("exit 0", "Succeeded", 0),
        ("exit 3", "Failed", 3),
        ("kill -9 $$$$", "Failed", 137),
        ("kill -15 $$$$", "Failed", 143),
        ("no-such-command", "Failed", 127),
    ],
)
def test_a_pod_ends_as_its_command_does(world: World, script: str, phase: str, code: int) -> None:
    """Kubernetes reads `$$` in a command as `$`, so that a shell's `$$` has to be doubled."""
    world.create(PODS, pod("p", shell(script)))
    world.wait_for_phase("p", phase)
    ended = world.container("p")["state"]["terminated"]
    assert ended["exitCode"] == code
    assert ended["reason"] == ("Completed" if code == 0 else "Error")
    assert ended.get("signal", 0) == (code - 128 if code in (137, 143) else 0)


def test_a_command_that_is_not_there_is_a_start_error(world: World) -> None:
    world.create(PODS, pod("p", {"name": "main", "image": "x", "command": ["/no/such/program"]}))
    world.wait_for_phase("p", "Failed")
    ended = world.container("p")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "No such file" in ended["message"]


def test_a_container_without_a_command_waits(world: World) -> None:
    world.create(PODS, pod("p", {"name": "main", "image": "x"}))
    wait_until(
        lambda: (
            world.container("p").get("state", {}).get("waiting", {}).get("reason")
            == "CreateContainerError"
        ),
        "the container waits for a command",
    )
    assert world.phase("p") == "Pending"


@pytest.mark.parametrize(
    ("policy", "reason"), [("Always", "ImagePullBackOff"), ("Never", "ErrImageNeverPull")]
)
def test_an_image_that_no_registry_can_have_is_waited_for(
    world: World, policy: str, reason: str
) -> None:
    """RFC 2606: nothing is ever found under `.invalid`."""
    container = {
        **shell("exit 0"),
        "image": "registry.invalid:5000/ray:2",
        "imagePullPolicy": policy,
    }
    world.create(PODS, pod("p", container))
    wait_until(
        lambda: world.container("p").get("state", {}).get("waiting", {}).get("reason") == reason,
        "the container waits for its image",
    )
    assert world.phase("p") == "Pending"
    assert "registry.invalid:5000/ray:2" in world.container("p")["state"]["waiting"]["message"]


def test_a_running_pod_has_an_address_of_its_own_and_is_ready(world: World) -> None:
    for name in ("one", "two"):
        world.create(PODS, pod(name, shell("sleep 600")))
    found = []
    for name in ("one", "two"):
        status = world.wait_for_condition(PODS, name, "Ready")
        assert status["phase"] == "Running"
        assert true_conditions(status) == [
            "PodScheduled",
            "Initialized",
            "ContainersReady",
            "Ready",
        ]
        found.append(status["podIP"])
    assert found[0] != found[1]
    assert all(address.startswith("127.") for address in found)


def test_on_failure_a_container_is_restarted_until_it_succeeds(world: World) -> None:
    script = (
        "echo x >> $JOBLEDGER_SANDBOX_ROOT/tries; test $(wc -l < $JOBLEDGER_SANDBOX_ROOT/tries) = 2"
    )
    world.create(PODS, pod("p", shell(script), restartPolicy="OnFailure"))
    world.wait_for_phase("p", "Succeeded")
    assert world.container("p")["restartCount"] == 1
    assert world.container("p")["lastState"]["terminated"]["exitCode"] == 1


def test_always_restarts_what_succeeded(world: World) -> None:
    world.create(PODS, pod("p", shell("true"), restartPolicy="Always"))
    wait_until(lambda: world.container("p").get("restartCount", 0) >= 2, "two restarts")
    assert world.phase("p") == "Running"


def test_init_containers_run_in_order_before_the_others(world: World) -> None:
    line = "echo {} >> $JOBLEDGER_SANDBOX_ROOT/order"
    first = {**shell(line.format("first")), "name": "first"}
    second = {**shell(line.format("second")), "name": "second"}
    main = shell("cat $JOBLEDGER_SANDBOX_ROOT/order")
    world.create(PODS, pod("p", main, initContainers=[first, second]))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "first\nsecond\n"


def test_an_init_container_that_fails_fails_the_pod(world: World) -> None:
    world.create(PODS, pod("p", shell("true"), initContainers=[{**shell("exit 4"), "name": "i"}]))
    status = world.wait_for_phase("p", "Failed")
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 4
    assert "waiting" in world.container("p")["state"]


def test_a_pod_fails_when_one_of_its_containers_does(world: World) -> None:
    world.create(PODS, pod("p", shell("true"), {**shell("exit 2"), "name": "other"}))
    world.wait_for_phase("p", "Failed")


def test_what_a_container_leaves_behind_is_killed_with_it(world: World) -> None:
    world.create(PODS, pod("p", shell("setsid sleep 600 & sleep 0.1; exit 0")))
    world.wait_for_phase("p", "Succeeded")
    assert world.processes() == []


def test_a_deleted_pod_is_asked_to_end_and_then_killed(world: World) -> None:
    script = "trap 'echo asked' TERM; while true; do sleep 0.2; done"
    world.create(PODS, pod("p", shell(script), terminationGracePeriodSeconds=1))
    world.wait_for_condition(PODS, "p", "Ready")
    world.api.delete(PODS, "default", "p")
    wait_until(lambda: world.processes() == [], "its processes have gone")
    wait_until(lambda: not list((world.work_dir / "pods").iterdir()), "its files have gone")


def test_a_deletion_that_waits_for_the_node_is_finished_by_the_agent(world: World) -> None:
    document = pod("p", shell("sleep 600"))
    document["metadata"]["finalizers"] = ["example.com/held"]
    world.create(PODS, document)
    world.wait_for_condition(PODS, "p", "Ready")
    world.api.delete(PODS, "default", "p")
    wait_until(lambda: world.processes() == [], "its processes have gone")


@pytest.mark.parametrize("image", ["x", "registry.invalid/x"])
def test_a_pod_on_the_node_goes_once_it_is_known_how_it_ended(world: World, image: str) -> None:
    """Whether it runs, or waits for ever."""
    container = shell("trap 'exit 3' TERM; while true; do sleep 0.05; done", image=image)
    listener = RecordingListener()
    world.api.watch(PODS, listener)
    world.create(PODS, pod("p", container, nodeName=NODE_NAME))
    phase = "Running" if image == "x" else "Pending"
    wait_until(lambda: bool(world.container("p")) and world.phase("p") == phase, "it is met")
    world.api.delete(PODS, "default", "p")
    wait_until(lambda: listener.told[-1].what == "gone", "it has gone")
    assert text(listener.told[-1].manifest, "status", "phase") == "Failed"


def test_a_pod_behind_a_scheduling_gate_is_on_no_node(world: World) -> None:
    gates = [{"name": "example.com/queued"}]
    world.create(PODS, pod("gated", shell("true"), schedulingGates=gates))
    world.create(PODS, pod("here", shell("true")))
    world.wait_for_phase("here", "Succeeded")
    assert world.container("gated") == {}
    spec = (world.get(PODS, "gated") or {})["spec"]
    world.api.edit(PODS, "default", "gated", spec={**spec, "schedulingGates": []})
    world.wait_for_phase("gated", "Succeeded")


@pytest.mark.parametrize("reason", ["Error", "OOMKilled"])
def test_a_killed_pod_shows_137(world: World, reason: str) -> None:
    world.create(PODS, pod("p", shell("sleep 600")))
    world.wait_for_condition(PODS, "p", "Ready")
    world.plane.agent.kill_pod("default", "p", reason if reason != "Error" else "")
    world.wait_for_phase("p", "Failed")
    ended = world.container("p")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, reason)


def test_the_pods_of_a_lost_node_have_failed(world: World) -> None:
    world.create(PODS, pod("p", shell("sleep 600"), restartPolicy="Always"))
    world.wait_for_condition(PODS, "p", "Ready")
    world.plane.agent.lose_node()
    assert world.wait_for_phase("p", "Failed")["reason"] == "NodeLost"
    wait_until(lambda: world.processes() == [], "its processes have gone")


def test_the_active_deadline_of_a_pod_ends_it(world: World) -> None:
    world.create(PODS, pod("p", shell("sleep 600"), activeDeadlineSeconds=1))
    assert world.wait_for_phase("p", "Failed")["reason"] == "DeadlineExceeded"


def test_a_readiness_probe_decides_when_a_pod_is_ready(world: World) -> None:
    probe = {"exec": {"command": ["/bin/sh", "-c", "test -e $JOBLEDGER_SANDBOX_ROOT/ready"]}}
    world.create(PODS, pod("p", shell("sleep 600", readinessProbe=probe)))
    world.wait_for_phase("p", "Running")
    assert "Ready" not in true_conditions(world.status(PODS, "p"))
    uid = (world.get(PODS, "p") or {})["metadata"]["uid"]
    (world.work_dir / "pods" / uid / "ready").touch()
    world.wait_for_condition(PODS, "p", "Ready")


def test_a_malformed_pod_stops_nobody_else(world: World) -> None:
    broken = pod("broken", shell("true"))
    broken["spec"] = {"containers": [{"name": "main", "command": [{"not": "a word"}], "env": 7}]}
    world.api.plant(PODS, broken)
    world.api.plant(PODS, {**pod("empty"), "spec": json.loads('{"containers": "none"}')})
    world.create(PODS, pod("sound", shell("true")))
    world.wait_for_phase("sound", "Succeeded")


def test_a_pod_that_is_bound_to_another_node_is_left_alone(world: World) -> None:
    world.create(PODS, pod("elsewhere", shell("true"), nodeName="other"))
    world.create(PODS, pod("here", shell("true")))
    world.wait_for_phase("here", "Succeeded")
    assert world.phase("elsewhere") == "Pending"
