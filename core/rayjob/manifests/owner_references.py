"""Builds the ownerReferences that make the RayJob the owner of its objects."""

from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import Manifest, text


def owner_reference(job: Manifest) -> Manifest:
    """Return the reference that makes a RayJob the controller of an object."""
    return {
        "apiVersion": RAYJOBS.api_version,
        "kind": RAYJOBS.kind,
        "name": text(job, "metadata", "name"),
        "uid": text(job, "metadata", "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }
