"""A data plane in a process of its own, to be killed: prints the process id of a Pod's command."""

import sys
import threading
from pathlib import Path

from jobledger.core.ports.cluster import PODS
from tests.adapters.sandbox_data_plane.world import World, pod, shell

if __name__ == "__main__":
    world = World(Path(sys.argv[1]))
    world.plane.start()
    world.create(PODS, pod("p", shell("setsid sleep 600 & exec sleep 601")))
    world.wait_for_condition(PODS, "p", "Ready")
    print("running", flush=True)  # noqa: T201  # read by the test
    threading.Event().wait()
