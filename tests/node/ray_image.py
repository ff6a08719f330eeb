"""The container image of Ray: Debian's Python, and what `requirements/ray.txt` pins.

Made once, in a chroot, and kept in the user's cache by the hash of all that it is made of.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.node.image import kept

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements" / "ray.txt"
DEBIAN = "bookworm"
"""The release of the image; its Python is 3.11, for which the requirements are pinned."""
PACKAGES = ("ca-certificates", "curl", "procps", "python3", "python3-pip", "wget")
"""KubeRay's probes ask with wget; `ps` and curl are for whoever looks into a container."""
PYTHON_LINK = Path("usr/bin/python")
"""KubeRay's submitter asks for `python`, which Debian lacks; without it, it waits for ever."""
NO_MORE = 'APT::Install-Recommends "false"'
"""Python's installer recommends a compiler."""

VERSION = 2
"""Of the way in which it is made. 2: modules are compiled, or each start takes twice as long."""

SETTINGS = {
    "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/ray", "RAY_USAGE_STATS_ENABLED=0"],
}


class CannotMake(RuntimeError):
    """A command that makes the image has failed; what it said stands above."""


def ray_version() -> str:
    """Return the release of Ray that the requirements pin."""
    found = re.search(r"^ray==(\S+)", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{REQUIREMENTS} pins no release of ray"
    return found.group(1)


def image_name() -> str:
    """Return the name under which Pods ask for the image."""
    return f"docker.io/local/ray:{ray_version()}-{_recipe()[:8]}"


def ray_image(cache: Path) -> Path:
    """Return the image, made first if it is not in the cache yet.

    Raises:
        CannotMake: there is no way to the packages.
    """
    return kept(cache / "ray" / _recipe(), image_name(), SETTINGS, _make_layer)


def _make_layer(layer: Path) -> None:
    _say(f"the image of Ray {ray_version()} is made once, which takes some five minutes")
    tree = layer.with_name("tree")
    shutil.rmtree(tree, ignore_errors=True)
    try:
        _make_tree(tree)
        run("tar", "--numeric-owner", "--sort=name", "-C", str(tree), "-cf", str(layer), ".")
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def _recipe() -> str:
    """Return a hash of what the image is made of."""
    said = repr((VERSION, DEBIAN, PACKAGES, NO_MORE, str(PYTHON_LINK), SETTINGS)).encode()
    return hashlib.sha256(REQUIREMENTS.read_bytes() + said).hexdigest()[:16]


def _make_tree(tree: Path) -> None:
    included = f"--include={','.join(PACKAGES)}"
    options = ("--quiet", "--variant=minbase", f"--aptopt={NO_MORE}", included)
    run("mmdebstrap", *options, DEBIAN, str(tree))
    lent = (Path("etc/resolv.conf"), Path("etc/ssl/certs/ca-certificates.crt"))
    for file in lent:
        shutil.copy(Path("/") / file, tree / file)
    shutil.copy(REQUIREMENTS, tree / "requirements.txt")
    pip = ("python3", "-m", "pip", "install", "--quiet", "--no-cache-dir")
    at_ease = ("--break-system-packages", "--root-user-action=ignore")
    words = (*pip, *at_ease, "--require-hashes", "-r", "/requirements.txt")
    run("chroot", str(tree), *words, environment=pip_environment(os.environ))
    (tree / "requirements.txt").unlink()
    (tree / PYTHON_LINK).symlink_to("python3")
    (tree / "home" / "ray").mkdir()
    shutil.rmtree(tree / "var" / "cache" / "apt", ignore_errors=True)


def pip_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what pip in the chroot is told: the user's settings, but for folders out there."""
    chosen = {
        key: value
        for key, value in environment.items()
        if (key.startswith("PIP_") or key.lower().endswith("_proxy")) and not value.startswith("/")
    }
    return {**chosen, "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}


def run(*words: str, environment: Mapping[str, str] | None = None) -> None:
    """Run a command that makes an image.

    Raises:
        CannotMake: it ended with another code than 0.
    """
    done = subprocess.run(
        words, check=False, stdin=subprocess.DEVNULL, env=dict(environment or os.environ)
    )
    if done.returncode:
        raise CannotMake(f"{_shown(words)} ended with {done.returncode}; what it said stands above")


def _shown(words: Sequence[str]) -> str:
    return " ".join(words)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
