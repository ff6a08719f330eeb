"""The container image of torch: Debian's own, built for CPUs, with gloo for what nodes tell.

Made once and kept in the user's cache by the hash of all that it is made of.
"""

import hashlib
from pathlib import Path

from tests.node.image import kept
from tests.node.ray_image import DEBIAN, NO_MORE, run

PACKAGES = ("ca-certificates", "python3", "python3-torch")
SETTINGS = {"Env": ["PATH=/usr/bin:/bin", "HOME=/tmp"]}


def torch_image_name() -> str:
    """Return the name under which Pods ask for the image."""
    return f"docker.io/local/torch:{_recipe()[:8]}"


def torch_image(cache: Path) -> Path:
    """Return the image, made first if it is not in the cache yet.

    Raises:
        CannotMake: there is no way to the packages.
    """
    return kept(cache / "torch" / _recipe(), torch_image_name(), SETTINGS, _make_layer)


def _make_layer(layer: Path) -> None:
    options = ("--quiet", "--variant=minbase", f"--aptopt={NO_MORE}")
    run("mmdebstrap", *options, f"--include={','.join(PACKAGES)}", DEBIAN, str(layer))


def _recipe() -> str:
    """Return a hash of what the image is made of."""
    return hashlib.sha256(repr((DEBIAN, PACKAGES, NO_MORE, SETTINGS)).encode()).hexdigest()[:16]
