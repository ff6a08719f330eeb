"""The volumes of a Pod as directories and files, and where each container finds them.

ConfigMaps, Secrets, the downward API and projected volumes become files; a hostPath becomes a
directory of the node's own (never the machine's), which the Pods that name it share, and so does a
claim; every other kind (emptyDir …) becomes an empty directory of the Pod's own.
"""

import base64
import binascii
import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from jobledger.core.ports.cluster import CONFIGMAPS, SECRETS, Cluster
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.sandbox.agent.pods.fields import field_text


class VolumeNotReady(Exception):
    """Something that a volume needs is not there (yet)."""


def make_volumes(cluster: Cluster, pod: Manifest, root: Path) -> None:
    """Write all volumes of the Pod under `root`/volumes.

    Raises:
        VolumeNotReady: a ConfigMap, Secret or key is missing and not optional.
    """
    namespace = text(pod, "metadata", "namespace")
    for volume in items(pod, "spec", "volumes"):
        name = text(volume, "name")
        if not name or "/" in name or name.startswith("."):
            continue
        directory = root / "volumes" / name
        if path := text(volume, "hostPath", "path"):
            _link_shared(root, directory, path)
            continue
        if claim := text(volume, "persistentVolumeClaim", "claimName"):
            _link_shared(root, directory, f"claim {namespace}/{claim}")
            continue
        directory.mkdir(parents=True, exist_ok=True)
        if child(volume, "projected"):
            for source in items(volume, "projected", "sources"):
                _fill(cluster, pod, namespace, source, directory)
        else:
            _fill(cluster, pod, namespace, volume, directory)


def _link_shared(root: Path, directory: Path, path: str) -> None:
    """Let the volume be a directory of the node's own, which outlives the Pod."""
    place = root.parent / "host-paths" / hashlib.sha256(path.encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    directory.parent.mkdir(parents=True, exist_ok=True)
    if not directory.is_symlink():
        directory.symlink_to(place, target_is_directory=True)


def mounts_of(container: Json, root: Path) -> dict[str, str]:
    """Return where each mount path of the container is in the sandbox."""
    found = {}
    for mount in items(container, "volumeMounts"):
        path, name = text(mount, "mountPath"), text(mount, "name")
        if not path.strip("/") or not name or "/" in name or name.startswith("."):
            continue
        place = root / "volumes" / name
        below = text(mount, "subPath")
        if below and ".." not in Path(below).parts and not below.startswith("/"):
            place = place / below
        found[path] = str(place)
    return found


def remove_volumes(root: Path) -> None:
    """Remove everything under `root`."""
    shutil.rmtree(root, ignore_errors=True)


def values_of(cluster: Cluster, kind: str, namespace: str, name: str) -> Mapping[str, bytes] | None:
    """Return the values of a ConfigMap or Secret (`kind`), or None if it is not there."""
    found = cluster.get(SECRETS if kind == "secret" else CONFIGMAPS, namespace, name)
    if found is None:
        return None
    plain = {key: str(value).encode() for key, value in child(found, "data").items()}
    if kind == "configMap":
        coded = {key: _decoded(value) for key, value in child(found, "binaryData").items()}
        return {**plain, **coded}
    literal = {key: str(value).encode() for key, value in child(found, "stringData").items()}
    return {**{key: _decoded(value.decode()) for key, value in plain.items()}, **literal}


def _fill(cluster: Cluster, pod: Manifest, namespace: str, source: Json, directory: Path) -> None:
    for kind, name_field in (("configMap", "name"), ("secret", "secretName")):
        part = child(source, kind)
        if part:
            name = text(part, name_field) or text(part, "name")
            values = values_of(cluster, kind, namespace, name)
            _write_values(values, part, f'{kind.lower()} "{name}" not found', directory)
    for item in items(source, "downwardAPI", "items"):
        value = field_text(pod, text(item, "fieldRef", "fieldPath"), "")
        _write(directory, text(item, "path"), value.encode())


def _write_values(
    values: Mapping[str, bytes] | None, part: Manifest, missing: str, directory: Path
) -> None:
    optional = part.get("optional") is True
    if values is None:
        if optional:
            return
        raise VolumeNotReady(missing)
    chosen = [(text(item, "key"), text(item, "path")) for item in items(part, "items")]
    for key, path in chosen or [(key, key) for key in values]:
        if key in values:
            _write(directory, path, values[key])
        elif not optional:
            raise VolumeNotReady(f"references non-existent config key: {key}")


def _write(directory: Path, path: str, value: bytes) -> None:
    if not path or path.startswith("/") or ".." in Path(path).parts:
        return  # the API server refuses it; nothing may be written outside
    place = directory / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(value)


def _decoded(value: Json) -> bytes:
    try:
        return base64.b64decode(str(value), validate=True)
    except (binascii.Error, ValueError):
        return b""
