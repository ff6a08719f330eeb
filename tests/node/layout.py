"""Where a node keeps its files, and on which addresses and ports it listens.

There is one node for each machine: it has the bridge, the addresses and the rules of the packet
filter for itself.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.ports import reserved_ports

NAME = "jobledger-node"
"""The node's name in the cluster."""
BRIDGE = "jobledger0"
ADDRESS = "10.244.0.1"
"""Of the host on the bridge: of the kubelet, and of the cluster's DNS."""
PODS = "10.244.0.0/24"
DOMAIN = "cluster.local"
SOCKET_CHARACTERS = 107
"""The longest path that a socket may have. Source: unix(7), sun_path."""


@dataclass(frozen=True, slots=True)
class Layout:
    """All places of one node."""

    cache: Path
    """Kept from run to run: images, and what containerd has unpacked of them."""

    @property
    def running(self) -> Path:
        """Return the folder that is there while the node runs."""
        return self.cache / "running"

    @property
    def store(self) -> Path:
        """Return containerd's root: images."""
        return self.cache / "containerd"

    @property
    def socket(self) -> Path:
        """Return the socket of containerd."""
        return self.running / "containerd.sock"

    @property
    def control_plane(self) -> Path:
        """Return the folder of the API server."""
        return self.running / "control-plane"

    @property
    def kubeconfig(self) -> Path:
        """Return the administrator's kubeconfig."""
        return self.control_plane / "admin.kubeconfig"

    @property
    def keeper(self) -> Path:
        """Return the file that says which process keeps the node."""
        return self.running / "keeper.json"

    @property
    def ready(self) -> Path:
        """Return the file that is there once the node is ready."""
        return self.running / "ready"

    def of_host(self) -> Path:
        """Return the resolv.conf with which a process of the host finds Services by name."""
        return self.running / "resolv.host"


def layout(environment: Mapping[str, str]) -> Layout:
    """Return the places of this machine's node."""
    home = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Layout(Path(home) / "jobledger" / "node")


def problems(places: Layout) -> list[str]:
    """Return what is wrong with the places."""
    if len(str(places.socket)) <= SOCKET_CHARACTERS:
        return []
    return [f"{places.socket} is too long for a socket: set XDG_CACHE_HOME to a shorter folder."]


@dataclass(frozen=True, slots=True)
class Ports:
    """What listens where, on the loopback unless it says otherwise."""

    kubelet: int
    """On the bridge's address, where the API server asks for logs."""
    kubelet_health: int
    proxy_health: int
    proxy_metrics: int


def ports() -> Ports:
    """Return ports that nobody uses."""
    return Ports(*reserved_ports(4))


def in_cluster_dns(places: Layout, *words: str) -> list[str]:
    """Return a command with which another finds Services by their names, as Pods do."""
    script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, str(places.of_host()), *words]


def identity(pid: int) -> str:
    """Return what tells a process from a later one with its number; empty if there is none."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    state, *others = said.rpartition(")")[2].split()
    return "" if state == "Z" else others[18]  # field 22 of proc(5): the time it was started


def write_keeper(places: Layout, pid: int) -> None:
    """Say which process keeps the node."""
    places.keeper.write_text(json.dumps({"pid": pid, "started": identity(pid)}))


def running_keeper(places: Layout) -> int | None:
    """Return the process that keeps the node, or None if there is none."""
    if not places.keeper.is_file():
        return None
    said = json.loads(places.keeper.read_text(encoding="utf-8"))
    alive = said["started"] and identity(said["pid"]) == said["started"]
    return int(said["pid"]) if alive else None
