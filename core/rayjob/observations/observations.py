"""The types of observations of a RayJob."""

from typing import TypeAlias

from msgspec import Struct, field

from jobledger.core.jobs.identity import JobIdentity as JobIdentity  # noqa: PLC0414 asked for here as well
from jobledger.core.jobs.manifest.shared_manifest import SharedManifestSeen
from jobledger.core.jobs.observations import SharedObservation
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.options import NOTHING_ASKED, RetryOptions
from jobledger.core.rayjob.observations.pods import PodFact, PodLook
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.spec import RayJobSpec
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import ObservationId
from jobledger.core.values.instants import Instant

INVALID_STATUS = "InvalidRayJobStatus"
"""Kind of a `Problem` that lies in the status that is shown."""


class Problem(Struct, frozen=True, kw_only=True):
    """Why a manifest is not valid."""

    kind: str
    """Reason of the Kubernetes Event: that the metadata, the spec or the status is invalid.

    Source: KubeRay's InvalidRayJobMetadata, InvalidRayJobSpec and InvalidRayJobStatus.
    """
    message: str


class SeenStatus(Struct, frozen=True, kw_only=True, gc=False):
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


class ManifestSeen(SharedManifestSeen, frozen=True, kw_only=True, gc=False):
    """The RayJob object as it is."""

    spec: RayJobSpec
    problem: Problem | None
    policy: Policy
    finalizer: bool
    """Whether it carries the finalizer."""
    status: SeenStatus
    options: RetryOptions = NOTHING_ASKED
    """What its annotations ask for."""


class ManifestGone(Struct, frozen=True, kw_only=True):
    """The RayJob object is no longer there."""

    id: ObservationId
    at: Instant


class ClusterSeen(Struct, frozen=True, kw_only=True):
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
    instead_of: str = ""
    """`GONE`: the log had it as gone when it was asked for; empty: nobody asked."""


class ClusterGone(Struct, frozen=True, kw_only=True):
    """A RayCluster is no longer there."""

    id: ObservationId
    at: Instant
    name: str
    uid: str


class SubmitterSeen(Struct, frozen=True, kw_only=True):
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
    attempt: int = 0
    """The attempt it was made for; 0: it does not say."""
    job_id: str = ""
    """The submission that it hands in; empty: it does not say."""
    instead_of: str = ""
    """`GONE`: the log had it as gone when it was asked for; empty: nobody asked."""


class SubmitterGone(Struct, frozen=True, kw_only=True):
    """The submitter is no longer there."""

    id: ObservationId
    at: Instant
    name: str
    uid: str


class PollAnswered(Struct, frozen=True, kw_only=True):
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


class PollNotFound(Struct, frozen=True, kw_only=True):
    """The head does not know the submission id."""

    id: ObservationId
    at: Instant
    job_id: str


class PollUnanswered(Struct, frozen=True, kw_only=True):
    """The head gave no answer that makes sense."""

    id: ObservationId
    at: Instant
    job_id: str
    trouble: str


class HeadPodSeen(Struct, frozen=True, kw_only=True):
    """The Pod of the head of a RayCluster."""

    id: ObservationId
    at: Instant
    cluster: str
    """Name of its RayCluster."""
    cluster_uid: str
    name: str
    uid: str
    deleting: bool
    finished: str = ""
    """SidecarMode: how the submitter beside the head ended, Complete or Failed.

    Empty while it goes on, and where there is none.
    """
    finished_at: Instant | None = None
    message: str = ""
    taken: str = ""
    """Why Kubernetes or the node takes it away (evicted, preempted), in words; empty if not."""
    over: bool = False
    """None of its containers will run again."""
    restarts: int = 0
    """How often its Ray container was started again."""
    ended: str = ""
    """How that container ended before its last restart, in words."""
    keeps_jobs: bool = False
    """A restart of the head loses no jobs (fault tolerance of the GCS)."""


class HeadPodGone(Struct, frozen=True, kw_only=True):
    """The Pod of a head is no longer there."""

    id: ObservationId
    at: Instant
    name: str
    uid: str


class PodsSeen(Struct, frozen=True, kw_only=True):
    """The Pods of an attempt were listed; or could not be, and `trouble` says why."""

    id: ObservationId
    at: Instant
    attempt: int
    purpose: PodLook
    total: int
    pods: tuple[PodFact, ...] = ()
    """The most telling of them."""
    trouble: str = ""


class PartGone(Struct, frozen=True, kw_only=True):
    """An object that was made for the job besides what it runs on was asked for and is not there.

    Nobody watches these: the Service of its head, and its PodGroup.
    """

    id: ObservationId
    at: Instant
    kind: str
    name: str


RayJobOwn: TypeAlias = (
    ManifestSeen
    | ManifestGone
    | ClusterSeen
    | ClusterGone
    | SubmitterSeen
    | SubmitterGone
    | PollAnswered
    | PollNotFound
    | PollUnanswered
    | PodsSeen
    | HeadPodSeen
    | HeadPodGone
    | PartGone
)
"""Observations that only this kind has."""

RayJobObservation: TypeAlias = RayJobOwn | SharedObservation
