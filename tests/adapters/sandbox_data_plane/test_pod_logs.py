"""Logs over HTTP: whole, the end of them, followed, the ones before a restart."""

import urllib.request
from datetime import UTC, datetime

import pytest

from jobledger.core.ports.cluster import PODS
from jobledger.sandbox.agent.logs import LOG_ANNOTATION
from jobledger.sandbox.agent.pods.containers import (
    ContainerRun,
    ContainerState,
    Role,
    Running,
    Waiting,
)
from tests.adapters.sandbox_data_plane.world import World, fetch, pod, shell
from tests.support.waiting import wait_until


def test_a_log_has_output_and_errors_in_order(world: World) -> None:
    world.create(PODS, pod("p", shell("echo out; echo err >&2; echo out again")))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "out\nerr\nout again\n"


def test_the_last_lines_of_a_log(world: World) -> None:
    world.create(PODS, pod("p", shell("seq 5")))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p", tailLines="2") == "4\n5\n"
    assert world.log("p", tailLines="9") == "1\n2\n3\n4\n5\n"
    assert world.log("p", tailLines="0") == ""
    assert world.log("p", tailLines="2", limitBytes="3") == "4\n5", "the first of the last lines"
    assert world.log("p", limitBytes="4") == "1\n2\n"


def test_a_followed_log_ends_with_the_container(world: World) -> None:
    script = "echo begun; while ! test -e $JOBLEDGER_SANDBOX_ROOT/go; do sleep 0.2; done; echo done"
    world.create(PODS, pod("p", shell(script)))
    world.wait_for_phase("p", "Running")
    metadata = (world.get(PODS, "p") or {})["metadata"]
    url = metadata["annotations"][LOG_ANNOTATION] + "?follow=true"
    with urllib.request.urlopen(url, timeout=30) as stream:
        assert stream.readline() == b"begun\n"
        (world.work_dir / "pods" / metadata["uid"] / "go").touch()
        assert stream.read() == b"done\n"


def test_the_log_before_a_restart_is_kept(world: World) -> None:
    once = "$JOBLEDGER_SANDBOX_ROOT/once"
    script = f"echo one; test -e {once} || {{ touch {once}; exit 1; }}; echo two"
    world.create(PODS, pod("p", shell(script), restartPolicy="OnFailure"))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "one\ntwo\n"
    assert world.log("p", previous="true") == "one\n"


def test_of_a_container_that_waits_for_a_restart_the_last_run_is_the_previous_one(
    world: World,
) -> None:
    """Its restarts are those that have happened. Source: Kubernetes, the kubelet's status."""
    runs = "$JOBLEDGER_SANDBOX_ROOT/runs"
    script = f"echo >> {runs}; echo run $(wc -l < {runs}); exit 1"
    world.create(PODS, pod("p", shell(script), restartPolicy="OnFailure"))

    def waits() -> bool:
        shown = world.container("p")
        if "waiting" not in shown.get("state", ()) or not shown["restartCount"]:
            return False
        logs = {world.log("p"), world.log("p", previous="true")}
        return world.container("p") == shown and logs == {f"run {shown['restartCount'] + 1}\n"}

    wait_until(waits, "the log of the run that failed last")


SINCE = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "starts", "process", "present", "previous"),
    [
        pytest.param(Waiting("ContainerCreating"), 0, None, 0, 0, id="it has never run"),
        pytest.param(Waiting("ContainerCreating"), 1, 1, 1, 0, id="it is started"),
        pytest.param(Running(SINCE), 1, 1, 1, 0, id="it runs"),
        pytest.param(Waiting("CrashLoopBackOff"), 1, None, 1, 1, id="it waits to be started again"),
        pytest.param(Waiting("CrashLoopBackOff"), 2, 2, 1, 1, id="it is started again"),
        pytest.param(Running(SINCE), 2, 2, 2, 1, id="it runs again"),
    ],
)
def test_whose_log_is_served(
    state: ContainerState, starts: int, process: int | None, present: int, previous: int
) -> None:
    """Of a container that is being started again nothing of its next run is served."""
    one = ContainerRun(
        name="main",
        spec={},
        role=Role.MAIN,
        restarts_on="Always",
        state=state,
        starts=starts,
        process=process,
    )
    assert one.run_with_log(previous=False) == present
    assert one.run_with_log(previous=True) == previous


def test_each_container_has_its_own_log(world: World) -> None:
    world.create(PODS, pod("p", shell("echo first"), {**shell("echo second"), "name": "other"}))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p", container="other") == "second\n"


def test_an_unknown_log_is_404(world: World) -> None:
    world.create(PODS, pod("p", shell("true")))
    world.wait_for_phase("p", "Succeeded")
    url = (world.get(PODS, "p") or {})["metadata"]["annotations"][LOG_ANNOTATION]
    assert fetch(url + "?container=nobody")[0] == 404
    assert fetch(url.rpartition("/")[0] + "/no-such-uid")[0] == 404


def test_a_reader_that_follows_does_not_keep_the_agent_from_ending(world: World) -> None:
    world.create(PODS, pod("p", shell("echo begun; sleep 600")))
    world.wait_for_phase("p", "Running")
    wait_until(lambda: world.log("p") == "begun\n", "it has begun")
    url = (world.get(PODS, "p") or {})["metadata"]["annotations"][LOG_ANNOTATION]
    with urllib.request.urlopen(url + "?follow=true", timeout=30) as stream:
        assert stream.readline() == b"begun\n"
        world.plane.stop()
        assert stream.read() == b""
