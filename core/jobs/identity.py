"""Decides whether two sightings show the same object (by UID) or two objects of one name."""

from msgspec import Struct

from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


def is_another(known_uid: str, uid: str) -> bool:
    """Return whether two objects of one name are two; a UID that is not known tells nothing."""
    return "" not in (known_uid, uid) and known_uid != uid


class JobIdentity(Struct, frozen=True, kw_only=True, gc=False):
    """Which object this is. It never changes during a stream."""

    stream_id: StreamId
    cluster: str
    """Name of the Kubernetes cluster, as this installation calls it."""
    namespace: str
    name: str
    uid: str
    created_at: Instant
