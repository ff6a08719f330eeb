"""Selects the runtime of a TrainJob: the live one or the recorded snapshot.

Source: Trainer v2.3, pkg/runtime/core (KEP-2599).
"""

from jobledger.core.jobs.control.ownership import controller_uid, is_controlled_by
from jobledger.core.ports.cluster import CONFIGMAPS, TRAINJOBS
from jobledger.core.trainjob.building.framework import BuildFailed
from jobledger.core.trainjob.names import SNAPSHOT_KEY, snapshot_name
from jobledger.core.trainjob.spec import RuntimeRef
from jobledger.core.values.documents import Json, Manifest, child, text

INVALID = "invalid runtime snapshot: "


def not_found(ref: RuntimeRef) -> str:
    """Return upstream's text for a runtime that is not there."""
    return f"{ref.kind} specified in TrainJob is not found: {ref.name}"


def content_of(runtime: Manifest) -> Manifest:
    """Return what of a runtime decides about a build: its specification, labels, annotations."""
    metadata = child(runtime, "metadata")
    return {
        "spec": child(runtime, "spec"),
        "labels": child(metadata, "labels"),
        "annotations": child(metadata, "annotations"),
    }


def snapshot_of(job: Manifest, text_of_runtime: str) -> Manifest:
    """Return the ConfigMap that holds a runtime, without namespace and owner."""
    return {
        "apiVersion": CONFIGMAPS.api_version,
        "kind": CONFIGMAPS.kind,
        "metadata": {"name": snapshot_name(text(job, "metadata", "name"))},
        "data": {SNAPSHOT_KEY: text_of_runtime},
    }


def snapshotted(runtime: Manifest, ref: RuntimeRef) -> Manifest:
    """Return a runtime as it is written down: with version and kind, without managed fields."""
    metadata = {
        key: value for key, value in child(runtime, "metadata").items() if key != "managedFields"
    }
    return {
        "apiVersion": f"{ref.group}/v1alpha1",
        "kind": ref.kind,
        "metadata": metadata,
        "spec": child(runtime, "spec"),
    }


def check_snapshot(snapshot: Manifest, job_uid: str, ref: RuntimeRef, read: Json) -> Manifest:
    """Return the runtime that a snapshot holds.

    Args:
        snapshot: The ConfigMap.
        job_uid: UID of the TrainJob that must own it.
        ref: The runtime that it must hold.
        read: Its content, read as YAML; anything but an object where it cannot be.

    Raises:
        BuildFailed: it is not sound. It is never mended: somebody has to delete it.
    """
    if not is_controlled_by(snapshot, job_uid):
        raise BuildFailed("", f"{INVALID}it is not controlled by this TrainJob")
    if SNAPSHOT_KEY not in child(snapshot, "data"):
        raise BuildFailed("", f"{INVALID}key {SNAPSHOT_KEY!r} is missing")
    runtime = child(read)
    if not runtime:
        raise BuildFailed("", f"{INVALID}its content is not readable as YAML")
    found = RuntimeRef(
        name=text(runtime, "metadata", "name"),
        group=text(runtime, "apiVersion").partition("/")[0],
        kind=text(runtime, "kind"),
    )
    if found != ref:
        raise BuildFailed(
            "",
            f"{INVALID}it holds {found.kind or 'no kind'} {found.name!r} of {found.group!r}, "
            f"runtimeRef names {ref.kind} {ref.name!r} of {ref.group!r}",
        )
    return runtime


def trainjob_owner(manifest: Manifest) -> str:
    """Return the UID of the TrainJob that controls an object; empty if none does."""
    return controller_uid(manifest, TRAINJOBS.group, TRAINJOBS.kind)
