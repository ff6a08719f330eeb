"""However a data plane ends, no process is left; another takes over from what the API says."""

import subprocess
import sys
import threading
from pathlib import Path

from jobledger.core.ports.cluster import BATCH_JOBS, PODS, RAYCLUSTERS
from tests.adapters.sandbox_data_plane.world import World, batch_job, pod, raycluster, shell
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]


def test_stopping_leaves_no_process_and_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    world = World(tmp_path)
    world.plane.start()
    world.create(RAYCLUSTERS, raycluster("c"))
    world.create(PODS, pod("p", shell("setsid sleep 600 & trap '' TERM; sleep 600")))
    world.wait_until_ready("c")
    world.wait_for_condition(PODS, "p", "Ready")
    assert len(world.processes()) >= 4
    world.plane.stop()
    assert world.processes() == []
    wait_until(lambda: set(threading.enumerate()) <= before, "its threads have ended")


def test_a_killed_data_plane_leaves_no_process(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.adapters.sandbox_data_plane.orphan_plane",
        str(tmp_path),
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"running\n"
        assert World(tmp_path).processes()
        owner.kill()
        wait_until(lambda: World(tmp_path).processes() == [], "its processes have gone")


def test_the_next_agent_restarts_or_gives_up_what_it_finds(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plane.start()
    world.create(PODS, pod("never", shell("sleep 600")))
    world.create(PODS, pod("always", shell("sleep 600"), restartPolicy="Always"))
    for name in ("never", "always"):
        world.wait_for_condition(PODS, name, "Ready")
    world.plane.stop()
    another = World(tmp_path / "another")
    another.api = world.api
    another.plane = type(world.plane)(world.api, world.api, work_dir=another.work_dir)
    another.plane.start()
    try:
        assert another.wait_for_phase("never", "Failed")["reason"] == "NodeLost"
        wait_until(lambda: another.container("always")["restartCount"] == 1, "it is restarted")
        another.wait_for_condition(PODS, "always", "Ready")
    finally:
        another.plane.stop()


def test_the_next_controllers_create_nothing_twice(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.plane.start()
    world.create(RAYCLUSTERS, raycluster("c"))
    world.create(BATCH_JOBS, batch_job("j", shell("exit 1"), backoffLimit=0))
    world.wait_until_ready("c")
    world.wait_for_condition(BATCH_JOBS, "j", "Failed")
    names = sorted(one["metadata"]["name"] for one in world.pods("job-name=j"))
    world.plane.stop()
    world.plane = type(world.plane)(world.api, world.api, work_dir=tmp_path / "another")
    world.plane.start()
    try:
        world.create(RAYCLUSTERS, raycluster("later"))
        world.wait_until_ready("later")
        assert sorted(one["metadata"]["name"] for one in world.pods("job-name=j")) == names
        assert len(world.pods("ray.io/cluster=c")) == 2
    finally:
        world.plane.stop()
