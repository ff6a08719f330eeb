"""The image of `ops/image/Dockerfile`, made without an engine: its steps in a chroot, then packed.

What it stands on is Debian's Python, in place of the image that BASE names, which is kept in the
user's cache, as is the layer above it of an earlier commit.
"""

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from tests.image.dockerfile import GOAL, ROOT, container_settings, copy_context, ran
from tests.node.image import pack
from tests.node.ray_image import DEBIAN, NO_MORE, CannotMake, pip_environment

PACKAGES = ("ca-certificates", "python3", "python3-venv")
PATH = "/usr/local/bin:/usr/bin:/bin"
LENT = (Path("etc/resolv.conf"), Path("etc/ssl/certs/ca-certificates.crt"))
"""Of this machine, for as long as packages are fetched; none of it gets into the image."""


def base(cache: Path) -> Path:
    """Return the lower layer, made first if it is not in the cache yet.

    Raises:
        CannotMake: there is no way to the packages.
    """
    recipe = hashlib.sha256(repr((DEBIAN, PACKAGES, NO_MORE)).encode()).hexdigest()[:16]
    layer = cache / "base" / recipe / "layer.tar"
    if not layer.is_file():
        layer.parent.mkdir(parents=True, exist_ok=True)
        partial = layer.with_name("partial.tar")
        options = ("--quiet", "--variant=minbase", f"--aptopt={NO_MORE}")
        _run("mmdebstrap", *options, f"--include={','.join(PACKAGES)}", DEBIAN, str(partial))
        partial.rename(layer)
    return layer


def image_of(root: Path, commit: str, name: str, cache: Path, goal: Path) -> Path:
    """Make the image of a checkout.

    Args:
        root: of the checkout.
        commit: of which it is; empty for a work tree, whose layer is not kept.
        name: of the image, with its tag.
        cache: where layers are kept.
        goal: the folder that the image is written into.

    Raises:
        CannotMake: a step of the Dockerfile has failed, or there is no way to the packages.
    """
    lower = base(cache)
    given = {"REVISION": commit or "a work tree"}
    kept = lower.with_name(f"{commit}.tar") if commit else goal / "upper.tar"
    if not commit or not kept.is_file():
        for other in lower.parent.glob("*.tar") if commit else ():
            if other != lower:
                other.unlink()
        _make_upper(root, lower, given, kept)
    image = goal / f"{name.rpartition(':')[2]}.tar"
    pack(image, name, [lower, kept], container_settings(root, given, PATH))
    return image


def _make_upper(root: Path, lower: Path, given: dict[str, str], layer: Path) -> None:
    """Run the steps of a checkout's Dockerfile over the lower layer, and keep what they made."""
    with tempfile.TemporaryDirectory(prefix="image-", dir=layer.parent) as made:
        tree = Path(made) / "tree"
        tree.mkdir()
        _run("tar", "-C", str(tree), "-xf", str(lower))
        copy_context(tree / "src", root)
        for file in LENT:
            shutil.copy(Path("/") / file, tree / file)
        environment = pip_environment(os.environ) | given | {"SOURCE_DATE_EPOCH": "0"}
        for step in ran(root):
            _run("chroot", str(tree), "sh", "-ec", f"cd /src && {step}", environment=environment)
        partial = Path(made) / "layer.tar"
        words = ("--numeric-owner", "--sort=name", "-C", str(tree), "-cf", str(partial), GOAL[1:])
        _run("tar", *words)
        partial.rename(layer)


def checkout(commit: str, goal: Path) -> Path:
    """Unpack a commit into a folder and return it."""
    words = ["git", "archive", commit]
    packed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(goal, filter="data")
    return goal


def _run(*words: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        words,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    if done.returncode:
        raise CannotMake(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
