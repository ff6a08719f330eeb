"""containerd of the node: its images, its containers, and what they leave behind."""

import contextlib
import os
import shutil
import signal
import tarfile
from pathlib import Path

from tests.node.image import pack
from tests.node.layout import Layout
from tests.node.network import CommandFailed, run
from tests.node.settings import PAUSE_IMAGE
from tests.support.waiting import wait_until

START_SECONDS = 60.0
END_SECONDS = 60.0
"""Limit until a container that was killed is gone."""
NAMESPACES = Path("/run/netns")
"""Where containerd mounts the network namespaces of Pods, as `cni-…`."""


def ctr(places: Layout, *words: str) -> str:
    """Ask containerd of the node.

    Raises:
        CommandFailed: it refused.
    """
    return run("ctr", "--address", str(places.socket), "--namespace", "k8s.io", *words)


def wait_until_served(places: Layout) -> None:
    """Return once containerd answers."""

    def answers() -> bool:
        with contextlib.suppress(CommandFailed):
            return bool(ctr(places, "version"))
        return False

    wait_until(answers, "containerd answers", START_SECONDS)


def bring(places: Layout, name: str, image: Path) -> None:
    """Give containerd an image, unless it has it from an earlier run."""
    if name not in ctr(places, "images", "list", "--quiet").split():
        ctr(places, "images", "import", str(image))


def bring_pause(places: Layout, program: Path) -> None:
    """Give containerd the image of the sandboxes."""
    layer, image = places.running / "pause-layer.tar", places.running / "pause.tar"
    with tarfile.open(layer, "w") as archive:
        archive.add(program, "pause")
    pack(image, PAUSE_IMAGE, [layer], {"Entrypoint": ["/pause"]})
    bring(places, PAUSE_IMAGE, image)


def remove_containers(places: Layout) -> None:
    """Kill and remove every container of the node."""
    for task in ctr(places, "tasks", "list", "--quiet").split():
        with contextlib.suppress(CommandFailed):  # it may end by itself meanwhile
            ctr(places, "tasks", "delete", "--force", task)
    for container in ctr(places, "containers", "list", "--quiet").split():
        with contextlib.suppress(CommandFailed):
            ctr(places, "containers", "delete", container)


def clear(places: Layout) -> None:
    """Remove what containers leave where containerd was killed: processes, mounts, namespaces."""
    left = _shims(places)
    for pid in left:
        for child in _tree(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    wait_until(lambda: not _shims(places), "the containers have ended", END_SECONDS)
    # the innermost first
    inside = [path for path in _mounts() if path.is_relative_to(places.running)]
    for path in reversed(inside):
        run("umount", "--lazy", str(path))
    for path in NAMESPACES.glob("cni-*") if _is_ours_alone() else ():
        with contextlib.suppress(CommandFailed):
            run("umount", "--lazy", str(path))
        path.unlink(missing_ok=True)
    _remove_groups()
    if places.running.exists():
        shutil.rmtree(places.running)
    for link in Path("/var/log/containers").glob("*"):
        if link.is_symlink() and link.readlink().is_relative_to(places.running):
            link.unlink()


def _is_ours_alone() -> bool:
    """Tell whether no other containerd's shims run, whose namespaces are beside ours."""
    return not any("containerd-shim" in _command(pid) for pid in _processes())


def _shims(places: Layout) -> list[int]:
    """Return the shims of this node's containers: each names the socket of its containerd."""
    return [pid for pid in _processes() if str(places.socket) in _command(pid).split("\0")]


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def _tree(pid: int) -> list[int]:
    """Return a process and all that it has started, itself last."""
    try:
        said = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return [pid]
    return [*(one for child in said.split() for one in _tree(int(child))), pid]


def _mounts() -> list[Path]:
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [Path(line.split()[4]) for line in lines]


def _remove_groups() -> None:
    """Remove the control groups of Pods, which are empty by now."""
    for group in Path("/sys/fs/cgroup").glob("*/kubepods"):
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):  # busy: a process of it is still ending
                Path(folder).rmdir()
