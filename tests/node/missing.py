"""What this machine lacks for a node, each in a sentence that says what to do."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "ethtool": "ethtool",
    "socat": "socat",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "unshare": "util-linux",
}
"""Program -> the package of Debian that has it."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What is asked of the machine; tests say something else."""

    system: str
    """As `sys.platform` says."""
    user: int
    """The effective user's number; 0 is root."""
    release: Mapping[str, str]
    """What `/etc/os-release` says."""
    has: Callable[[str], bool]
    """Tell whether a program is there."""


def this_machine() -> Machine:
    """Look at this machine."""
    return Machine(sys.platform, os.geteuid(), os_release(), is_there)


def missing(machine: Machine) -> list[str]:
    """Return a sentence for everything that a node needs and that is not here."""
    if machine.system != "linux":
        return [f"A node needs Linux; this is {machine.system}. Name a cluster by KUBECONFIG."]
    said = []
    if machine.user != 0:
        said.append("A node needs root: it makes network devices, mounts and containers.")
    if machine.release.get("ID") != "debian":
        name = machine.release.get("PRETTY_NAME", "something else")
        said.append(f"A node is made of the packages of Debian 12; this is {name}.")
    packages = sorted({package for name, package in PROGRAMS.items() if not machine.has(name)})
    if packages:
        said.append(f"Packages are missing: run `apt-get install {' '.join(packages)}`.")
    if not machine.has("go"):
        said.append("There is no go on the path, which builds kubelet and the rest: install Go.")
    return said


def is_there(name: str) -> bool:
    """Tell whether a program is on the path, or at its place; root's folders count."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    return shutil.which(name, path=path) is not None


def os_release(file: Path = Path("/etc/os-release")) -> dict[str, str]:
    """Return what a machine says of its system; nothing where it says nothing."""
    if not file.is_file():
        return {}
    pairs = (line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines())
    return {pair[0]: pair[1].strip('"') for pair in pairs if len(pair) == 2}


if __name__ == "__main__":
    lacking = missing(this_machine())
    sys.stdout.write("\n".join(lacking or ["This machine has what a node needs."]) + "\n")
