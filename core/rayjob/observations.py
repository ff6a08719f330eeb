"""Facts from outside: the RayJob, its RayCluster, its submitter, its entrypoint."""

from dataclasses import dataclass, field
from typing import TypeAlias

from core.jobs.observations import SharedObservation
from core.jobs.policy import Policy
from core.rayjob.phases import JobStatus
from core.rayjob.spec import RayJobSpec
from core.values.documents import Manifest
from core.values.ids import ObservationId, StreamId
from core.values.instants import Instant


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a manifest is not valid."""

    kind: str
    """Reason of the Kubernetes Event: that the metadata, the spec or the status is invalid.

    Source: KubeRay's InvalidRayJobMetadata, InvalidRayJobSpec and InvalidRayJobStatus.
    """
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenStatus:
    """The `.status` that an object had when it was first seen.

    It is another controller's work, or our own of an earlier life.
    """

    phase: str
    job_status: str = ""
    job_id: str = ""
    cluster_name: str = ""
    address: str = ""
    reason: str = ""
    message: str = ""
    started_at: Instant | None = None
    ended_at: Instant | None = None
    succeeded: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSeen:
    """The RayJob object as it is."""

    id: ObservationId
    at: Instant
    identity: JobIdentity
    generation: int
    digest: str
    """Keyed digest of the whole specification."""
    spec: RayJobSpec
    problem: Problem | None
    policy: Policy
    finalizer: bool
    """Whether it carries the finalizer."""
    deleting_at: Instant | None
    status: SeenStatus
    document: Manifest = field(default_factory=dict)
    """The redacted specification, labels and annotations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestGone:
    """The RayJob object is no longer there."""

    id: ObservationId
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSeen:
    """A RayCluster that is owned by the job, or selected by it."""

    id: ObservationId
    at: Instant
    name: str
    uid: str
    owned: bool
    """Whether its owner reference carries the job's UID."""
    state: str
    """status.state; `ready` is the only readiness test."""
    address: str
    """`host:port` of its head's dashboard; empty if its specification names no such port."""
    deleting: bool
    status: Manifest = field(default_factory=dict)
    """The part of its status that is mirrored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterGone:
    """A RayCluster is no longer there."""

    id: ObservationId
    at: Instant
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterSeen:
    """The submitter (a batch Job)."""

    id: ObservationId
    at: Instant
    name: str
    uid: str
    owned: bool
    finished: str
    """Complete or Failed; empty while it goes on."""
    finished_at: Instant | None
    reason: str
    message: str
    deleting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterGone:
    """The submitter is no longer there."""

    id: ObservationId
    at: Instant
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PollAnswered:
    """The head told what it knows of the entrypoint."""

    id: ObservationId
    at: Instant
    job_id: str
    status: JobStatus
    message: str = ""
    started_at: Instant | None = None
    ended_at: Instant | None = None
    error_type: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PollNotFound:
    """The head does not know the submission id."""

    id: ObservationId
    at: Instant
    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PollUnanswered:
    """The head gave no answer that makes sense."""

    id: ObservationId
    at: Instant
    job_id: str
    trouble: str


RayJobObservation: TypeAlias = (
    ManifestSeen
    | ManifestGone
    | ClusterSeen
    | ClusterGone
    | SubmitterSeen
    | SubmitterGone
    | PollAnswered
    | PollNotFound
    | PollUnanswered
    | SharedObservation
)
