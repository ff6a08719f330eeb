"""Which object a job is: the same for every kind of job."""

from dataclasses import dataclass

from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class JobIdentity:
    """Which object this is. It never changes during a stream."""

    stream_id: StreamId
    cluster: str
    """Name of the Kubernetes cluster, as this installation calls it."""
    namespace: str
    name: str
    uid: str
    created_at: Instant
