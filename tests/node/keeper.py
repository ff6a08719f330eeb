"""The process that keeps a node: it starts all programs, and they end with it.

`make node` starts it and leaves it; `make node ARGS=--stop` ends it with SIGTERM.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.node import containers, network
from tests.node.build import Programs, node_programs
from tests.node.layout import ADDRESS, NAME, Layout, layout, ports, write_keeper
from tests.node.ray_image import image_name, ray_image
from tests.node.settings import write_all
from tests.support.api import Api, api_of_kubeconfig
from tests.support.apiserver_content import USERS, install_everything
from tests.support.apiserver_processes import ApiServerProcesses, die_with_parent
from tests.support.waiting import wait_until

NODE_SECONDS = 180.0
"""Limit until the node is Ready; it takes ten seconds on an idle machine."""
STOP_SECONDS = 20.0
"""From SIGTERM to SIGKILL."""
LOOK_SECONDS = 0.5
LOG_SHOWN_CHARACTERS = 4000


@dataclass(slots=True)
class Processes:
    """The programs of the node, by name."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *words: str) -> None:
        """Start a program, whose log is beside its settings."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                words,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509  # one thread
            )

    def stop(self, name: str) -> None:
        """End a program, if it was started."""
        process = self.running.pop(name, None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def ended(self) -> str:
        """Return what is to be said of a program that has ended; empty while all run."""
        for name, process in self.running.items():
            if process.poll() is not None:
                log = (self.folder / f"{name}.log").read_text(errors="replace")
                return f"{name} ended with {process.returncode}:\n{log[-LOG_SHOWN_CHARACTERS:]}"
        return ""


@contextmanager
def running_node(places: Layout, programs: Programs) -> Iterator[Processes]:
    """Run a node until the body ends; it is Ready when this yields."""
    numbers = ports()
    write_all(places, numbers)
    processes = Processes(places.running)
    server = ApiServerProcesses(
        programs.control_plane,
        places.control_plane,
        USERS,
        install_everything,
        controllers=("*",),
        options=(
            *("--kubelet-preferred-address-types", "InternalIP"),
            *("--advertise-address", ADDRESS),
        ),
        admits_accounts=True,
    )
    network.make_bridge()
    try:
        processes.start("containerd", "containerd", "--config", "containerd.toml")
        server.start()
        processes.start("apiserver-door", *network.door(server.port, server.port))
        containers.wait_until_served(places)
        containers.bring_pause(places, programs.kubernetes / "pause")
        containers.bring(places, image_name(), ray_image(places.cache))
        _start_kubernetes(places, programs, processes)
        api = api_of_kubeconfig(places.kubeconfig)
        wait_until(lambda: _is_ready(api, processes), "the node is Ready", NODE_SECONDS)
        yield processes
    finally:
        for name in ("kubelet", "scheduler"):
            processes.stop(name)
        if "containerd" in processes.running:
            containers.remove_containers(places)
        for name in ("proxy", "coredns", "apiserver-door", "containerd"):
            processes.stop(name)
        server.stop()


def _start_kubernetes(places: Layout, programs: Programs, processes: Processes) -> None:
    kubeconfig = ("--kubeconfig", str(places.kubeconfig))
    kubernetes = programs.kubernetes
    processes.start("coredns", str(programs.coredns), "-conf", "Corefile")
    processes.start(
        "kubelet",
        *(str(kubernetes / "kubelet"), "--config", "kubelet.yaml", *kubeconfig),
        *("--root-dir", str(places.running / "kubelet")),
        *("--hostname-override", NAME, "--node-ip", ADDRESS),
    )
    scheduler = (str(kubernetes / "kube-scheduler"), *kubeconfig)
    processes.start("scheduler", *scheduler, "--leader-elect=false", "--secure-port", "0")
    processes.start("proxy", str(kubernetes / "kube-proxy"), "--config", "proxy.yaml")


def _is_ready(api: Api, processes: Processes) -> bool:
    problem = processes.ended()
    assert not problem, problem
    reply = api.request("GET", f"/api/v1/nodes/{NAME}")
    conditions = reply.body.get("status", {}).get("conditions", []) if reply.code == 200 else []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def keep(places: Layout) -> None:
    """Run the node until SIGTERM, or until one of its programs ends."""
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda told, _: stopped.append(told))
    write_keeper(places, os.getpid())
    with running_node(places, node_programs(os.environ)) as processes:
        places.ready.touch()
        while not stopped:
            problem = processes.ended()
            if problem:
                raise RuntimeError(problem)
            time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    keep(layout(os.environ))
    sys.stdout.write("the node has ended\n")
