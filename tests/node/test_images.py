"""Images are as containerd reads them, and pip in a chroot is told what holds there."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Any

from tests.node.image import pack
from tests.node.ray_image import REQUIREMENTS, image_name, pip_environment, ray_version


def read(image: Path) -> dict[str, bytes]:
    """Return the files of an image."""
    with tarfile.open(image) as archive:
        opened = {name: archive.extractfile(name) for name in archive.getnames()}
        return {name: file.read() for name, file in opened.items() if file is not None}


def test_every_part_of_an_image_is_found_by_its_digest(tmp_path: Path) -> None:
    """From the index over the manifest to the layers, in their order; sizes are true."""
    layers = [tmp_path / "lower.tar", tmp_path / "upper.tar"]
    for layer in layers:
        layer.write_bytes(layer.name.encode())
    pack(tmp_path / "image.tar", "docker.io/local/x:1", layers, {"Entrypoint": ["/x"]})
    files = read(tmp_path / "image.tar")

    def part(reference: dict[str, Any]) -> bytes:
        algorithm, _, digest = reference["digest"].partition(":")
        content = files[f"blobs/{algorithm}/{digest}"]
        assert len(content) == reference["size"]
        assert hashlib.sha256(content).hexdigest() == digest
        return content

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (named,) = json.loads(files["index.json"])["manifests"]
    assert named["annotations"]["io.containerd.image.name"] == "docker.io/local/x:1"
    manifest = json.loads(part(named))
    config = json.loads(part(manifest["config"]))
    assert config["config"] == {"Entrypoint": ["/x"]}
    assert [part(one) for one in manifest["layers"]] == [b"lower.tar", b"upper.tar"]
    assert config["rootfs"]["diff_ids"] == [one["digest"] for one in manifest["layers"]]


def test_the_image_is_of_the_ray_that_is_pinned() -> None:
    """And another set of packages has another name."""
    assert f"ray=={ray_version()}" in REQUIREMENTS.read_text(encoding="utf-8")
    assert image_name().startswith(f"docker.io/local/ray:{ray_version()}-")


def test_pip_in_a_chroot_is_not_told_of_folders_outside() -> None:
    """Where packages come from is the user's; paths are not there."""
    told = pip_environment(
        {
            "PIP_INDEX_URL": "http://mirror.example/simple",
            "PIP_FIND_LINKS": "/opt/wheels",
            "PIP_CERT": "/etc/ssl/own.pem",
            "https_proxy": "http://proxy.example:3128",
            "SECRET": "x",
        }
    )
    assert told == {
        "PIP_INDEX_URL": "http://mirror.example/simple",
        "https_proxy": "http://proxy.example:3128",
        "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
    }
