"""Packs layers as an OCI image, which containerd takes without a registry.

Source: OCI Image Layout Specification 1.0, in the form that `ctr images import` takes.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

OCI = "application/vnd.oci.image"


def kept(
    folder: Path, name: str, settings: Mapping[str, object], make_layer: Callable[[Path], None]
) -> Path:
    """Return an image of one layer, made first if the folder does not have it yet.

    Args:
        folder: of this image alone.
        name: as `pack` takes it.
        settings: as `pack` takes them.
        make_layer: writes the tar of the root file system.
    """
    image, layer, partial = (folder / one for one in ("image.tar", "layer.tar", "image.partial"))
    if image.is_file():
        return image
    folder.mkdir(parents=True, exist_ok=True)
    try:
        make_layer(layer)
        pack(partial, name, [layer], settings)
        partial.rename(image)
    finally:
        layer.unlink(missing_ok=True)
    return image


def pack(image: Path, name: str, layers: Sequence[Path], settings: Mapping[str, object]) -> None:
    """Write an image.

    Args:
        image: the file to be written, a tar.
        name: with its tag, such as `docker.io/local/pause:1`.
        layers: tars of the root file system, the lowest first.
        settings: of the container, as `Env` and `Entrypoint`.
    """
    digests = [_digest(layer) for layer in layers]
    blobs: dict[str, bytes] = {}
    config = _blob(
        blobs,
        "config.v1",
        {
            "architecture": "amd64",
            "os": "linux",
            "config": dict(settings),
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        },
    )
    sizes = [layer.stat().st_size for layer in layers]
    manifest = _blob(
        blobs,
        "manifest.v1",
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": config,
            "layers": [
                _reference("layer.v1.tar", digest, size)
                for digest, size in zip(digests, sizes, strict=True)
            ],
        },
    )
    manifest["annotations"] = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name,
    }
    with tarfile.open(image, "w") as archive:
        _add(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        index = {"schemaVersion": 2, "manifests": [manifest]}
        _add(archive, "index.json", json.dumps(index).encode())
        for key, content in blobs.items():
            _add(archive, f"blobs/sha256/{key}", content)
        for layer, digest in zip(layers, digests, strict=True):
            archive.add(layer, f"blobs/sha256/{digest}")


def _digest(layer: Path) -> str:
    with layer.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _blob(blobs: dict[str, bytes], kind: str, document: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(document).encode()
    digest = hashlib.sha256(text).hexdigest()
    blobs[digest] = text
    return _reference(f"{kind}+json", digest, len(text))


def _reference(kind: str, digest: str, size: int) -> dict[str, Any]:
    return {"mediaType": f"{OCI}.{kind}", "digest": f"sha256:{digest}", "size": size}


def _add(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
