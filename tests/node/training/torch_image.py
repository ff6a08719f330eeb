"""The container image of torch: Debian's own, built for CPUs, with gloo for what nodes tell.

Made once and kept in the user's cache by the hash of all that it is made of.
"""

import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.node.image import pack
from tests.node.ray_image import DEBIAN, NO_MORE, CannotMake

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
    folder = cache / "torch" / _recipe()
    image = folder / "image.tar"
    if image.is_file():
        return image
    folder.mkdir(parents=True, exist_ok=True)
    layer, partial = folder / "layer.tar", folder / "image.partial"
    included = f"--include={','.join(PACKAGES)}"
    words = ["mmdebstrap", "--quiet", "--variant=minbase", f"--aptopt={NO_MORE}", included]
    try:
        if subprocess.run([*words, DEBIAN, str(layer)], check=False).returncode:
            raise CannotMake("the image of torch was not made; what mmdebstrap said stands above")
        pack(partial, torch_image_name(), [layer], SETTINGS)
        partial.rename(image)
    finally:
        layer.unlink(missing_ok=True)
        shutil.rmtree(partial, ignore_errors=True)
    return image


def _recipe() -> str:
    """Return a hash of what the image is made of."""
    return hashlib.sha256(repr((DEBIAN, PACKAGES, NO_MORE, SETTINGS)).encode()).hexdigest()[:16]
