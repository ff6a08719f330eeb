"""The small `torchrun`: what it tells its processes, and how it ends."""

import pytest

from jobledger.core.ports.cluster import PODS
from jobledger.sandbox.torch.run import environments_of, options_of
from tests.adapters.sandbox_data_plane.world import World, pod, shell

NODE = {
    "PET_NNODES": "2",
    "PET_NPROC_PER_NODE": "3",
    "PET_NODE_RANK": "1",
    "PET_MASTER_ADDR": "train-node-0-0.train",
    "PET_MASTER_PORT": "29500",
}
REPORT = (
    "import os; found = [os.environ[n] for n in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE')]; "
    "os.write(1, (' '.join(found) + chr(10)).encode())"
)
"""In one write: the processes share their output."""


def test_ranks_follow_from_the_environment() -> None:
    options, command = options_of(["train.py", "--epochs", "3"], NODE)
    assert command == ["train.py", "--epochs", "3"]
    found = environments_of(options)
    assert [one["RANK"] for one in found] == ["3", "4", "5"]
    assert [one["LOCAL_RANK"] for one in found] == ["0", "1", "2"]
    assert {one["WORLD_SIZE"] for one in found} == {"6"}
    assert {one["MASTER_ADDR"] for one in found} == {"train-node-0-0.train"}
    assert {one["MASTER_PORT"] for one in found} == {"29500"}


@pytest.mark.parametrize("option", ["--nproc-per-node=1", "--nproc_per_node=1"])
def test_an_option_comes_before_its_variable(option: str) -> None:
    options, command = options_of([option, "--nnodes", "1:4", "-m", "package.train"], NODE)
    assert command == ["-m", "package.train"]
    (only,) = environments_of(options)
    assert (only["RANK"], only["WORLD_SIZE"]) == ("1", "4")


def test_devices_stand_for_one_process() -> None:
    options, _ = options_of(["train.py"], {**NODE, "PET_NPROC_PER_NODE": "auto"})
    assert [one["RANK"] for one in environments_of(options)] == ["1"]


def test_each_process_runs_the_script(world: World) -> None:
    container = shell(f'echo "{REPORT}" > train.py; torchrun train.py | sort')
    container["env"] = [{"name": name, "value": value} for name, value in NODE.items()]
    world.create(PODS, pod("p", container))
    world.wait_for_phase("p", "Succeeded")
    assert world.log("p") == "3 0 6\n4 1 6\n5 2 6\n"


def test_one_failure_ends_them_all(world: World) -> None:
    script = "import os, sys, time; os.environ['RANK'] == '1' and sys.exit(3); time.sleep(600)"
    container = shell(f'echo "{script}" > train.py; torchrun --nproc-per-node=2 train.py')
    world.create(PODS, pod("p", container))
    world.wait_for_phase("p", "Failed")
    assert world.container("p")["state"]["terminated"]["exitCode"] == 1
