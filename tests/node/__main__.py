"""`make node`: start a real Kubernetes node on this machine; `make node ARGS=--stop` ends it."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.apiserver.build import CannotBuild
from tests.node import containers, network
from tests.node.build import node_programs
from tests.node.layout import Layout, identity, layout, problems, running_keeper
from tests.node.missing import missing, this_machine
from tests.node.ray_image import CannotMake, image_name, ray_image
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 600.0
"""Limit until the node is ready; the image of Ray is unpacked meanwhile, once."""
STOP_SECONDS = 180.0
LOG_SHOWN_CHARACTERS = 6000


class CannotStart(RuntimeError):
    """There is no node; the message says why, and what to do."""


def start(places: Layout) -> bool:
    """Start the node if there is none; return whether this call has started it.

    Raises:
        CannotStart: something is missing, or a program has refused.
    """
    if running_keeper(places) is not None:
        _wait_until_ready(places)
        return False
    lacking = [*missing(this_machine()), *problems(places)]
    if lacking:
        raise CannotStart("\n".join(lacking))
    clear(places)
    foreign = network.foreign_node()
    if foreign:
        raise CannotStart(foreign)
    try:
        node_programs(os.environ)
        ray_image(places.cache)
    except (CannotBuild, CannotMake) as problem:
        raise CannotStart(str(problem)) from problem
    places.running.mkdir(parents=True)
    _start_keeper(places)
    _wait_until_ready(places)
    return True


def stop(places: Layout) -> bool:
    """End the node and all it has started; return whether there was one."""
    keeper = running_keeper(places)
    if keeper is not None:
        began = identity(keeper)
        os.kill(keeper, signal.SIGTERM)
        wait_until(lambda: identity(keeper) != began, "the node has ended", STOP_SECONDS)
    was = keeper is not None or places.running.exists()
    if was:
        clear(places)
    return was


def clear(places: Layout) -> None:
    """Remove what a node has left: containers, mounts, the bridge, the rules of its filter."""
    if places.running.exists():
        containers.clear(places)
        network.clear()


def _start_keeper(places: Layout) -> None:
    with (places.running / "keeper.log").open("ab") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.node.keeper"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # an interrupt of this terminal is not for the node
        )
    wait_until(lambda: places.keeper.is_file() or keeper.poll() is not None, "the keeper has begun")


def _wait_until_ready(places: Layout) -> None:
    def is_decided() -> bool:
        return places.ready.exists() or running_keeper(places) is None

    wait_until(is_decided, "the node is ready", START_SECONDS)
    if not places.ready.exists():
        log = (places.running / "keeper.log").read_text(errors="replace")
        raise CannotStart(f"The node has not come up:\n{log[-LOG_SHOWN_CHARACTERS:]}")


def told(places: Layout) -> str:
    """Return what is said of a node that runs."""
    return (
        f"The node is ready. Ray's image on it is {image_name()}.\n"
        f"  export KUBECONFIG={places.kubeconfig}\n"
        f"Its files and logs are in {places.running}. Stop it: make node ARGS=--stop\n"
    )


def main(arguments: Sequence[str]) -> int:
    """Do as told; return 0 if there is (or no longer is) a node."""
    parser = argparse.ArgumentParser(prog="make node", description=__doc__)
    parser.add_argument("--stop", action="store_true", help="end the node and all it has started")
    chosen = parser.parse_args(arguments)
    places = layout(os.environ)
    try:
        if chosen.stop:
            was = stop(places)
            sys.stdout.write("The node has ended.\n" if was else "There was no node.\n")
        else:
            start(places)
            sys.stdout.write(told(places))
    except (CannotStart, AssertionError, network.CommandFailed) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
