"""Builds the ownerReferences that make the RayJob the owner of its objects."""

from jobledger.core.jobs.control.ownership import controller_reference
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import Manifest


def owner_reference(job: Manifest) -> Manifest:
    """Return the reference that makes a RayJob the controller of an object."""
    return controller_reference(RAYJOBS.api_version, RAYJOBS.kind, job)
