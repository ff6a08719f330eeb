"""Events: facts observed of the RayCluster, head, submitter and Ray job.

The other events, and what holds for all: `core.rayjob.events.lifecycle`.
"""

from typing import TypeAlias

from msgspec import Struct, field

from jobledger.core.rayjob.events.pods import PodsObserved
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant


class ClusterObserved(Struct, frozen=True, kw_only=True):
    """The attempt's RayCluster is there, in this state."""

    at: Instant
    name: str
    uid: str
    state: str
    address: str
    deleting: bool = False
    status: Manifest = field(default_factory=dict)


class ClusterVanished(Struct, frozen=True, kw_only=True):
    """The attempt's RayCluster is no longer there."""

    at: Instant
    name: str
    uid: str
    asked: bool
    """Whether its deletion had been asked for here."""
    inferred: str = ""
    """Of a recorded job: why the controller in charge must have asked for it; empty: not known."""


class OrphanClusterFound(Struct, frozen=True, kw_only=True):
    """A RayCluster of this job that belongs to no present attempt; it is deleted."""

    at: Instant
    name: str
    uid: str


class OrphanClusterVanished(Struct, frozen=True, kw_only=True):
    """Such a RayCluster is gone."""

    at: Instant
    name: str
    uid: str


class SubmitterObserved(Struct, frozen=True, kw_only=True):
    """The attempt's submitter is there."""

    at: Instant
    name: str
    uid: str
    deleting: bool = False
    orphan: bool = False
    """Whether it was made for an attempt that is over: its request had been held up."""


class SubmitterFinished(Struct, frozen=True, kw_only=True):
    """The submitter ended."""

    at: Instant
    name: str
    uid: str
    outcome: str
    """Complete or Failed."""
    finished_at: Instant
    """By the cluster's clock."""
    reason: str = ""
    message: str = ""


class SubmitterVanished(Struct, frozen=True, kw_only=True):
    """The submitter is no longer there."""

    at: Instant
    name: str
    uid: str
    asked: bool
    """Whether its deletion had been asked for here."""
    inferred: str = ""
    """Of a recorded job: why the controller in charge must have asked for it; empty: not known."""


class EntrypointObserved(Struct, frozen=True, kw_only=True):
    """Ray's account of the entrypoint is now this."""

    at: Instant
    job_id: str
    status: JobStatus
    message: str = ""
    started_at: Instant | None = None
    """By the head's clock."""
    ended_at: Instant | None = None
    """By the head's clock."""
    error_type: str = ""
    exit_code: int | None = None
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class EntrypointMissed(Struct, frozen=True, kw_only=True):
    """The head answered that it does not know the submission."""

    at: Instant
    job_id: str


class StatusCheckFailed(Struct, frozen=True, kw_only=True):
    """The head gave no answer that makes sense (the first time, or a new kind of trouble)."""

    at: Instant
    job_id: str
    trouble: str


class StatusCheckRecovered(Struct, frozen=True, kw_only=True):
    """The head answers again."""

    at: Instant
    job_id: str


class HeadPodObserved(Struct, frozen=True, kw_only=True):
    """The Pod of the head is there; only seen ones can be seen to have gone."""

    at: Instant
    name: str
    uid: str
    taken: str = ""
    """Why Kubernetes or the node takes it away; empty if it does not."""
    restarts: int = 0
    """How often its Ray container was started again; the jobs of before are lost then."""
    ended: str = ""
    """How that container ended before its last restart, in words."""
    keeps_jobs: bool = False
    """A restart of the head loses no jobs (fault tolerance of the GCS)."""
    deleting: bool = False
    """Somebody has asked for it to go: what runs there may fail before it is gone."""


class HeadPodVanished(Struct, frozen=True, kw_only=True):
    """The Pod of the head is no longer there, or will not run again, while the job needs it."""

    at: Instant
    name: str
    uid: str
    taken: str = ""
    """Why Kubernetes or the node took it away, as it was last seen; empty if nothing was said."""


class SidecarFinished(Struct, frozen=True, kw_only=True):
    """The submitter beside the head ended (SidecarMode)."""

    at: Instant
    name: str
    """Name of the head's Pod."""
    uid: str
    outcome: str
    """Complete or Failed."""
    finished_at: Instant
    """By the node's clock."""
    message: str = ""


class PartVanished(Struct, frozen=True, kw_only=True):
    """An object that the job needs besides what it runs on (its Service, its PodGroup) is gone."""

    at: Instant
    kind: str
    name: str


FactEvent: TypeAlias = (
    EntrypointObserved
    | ClusterObserved
    | ClusterVanished
    | OrphanClusterFound
    | OrphanClusterVanished
    | SubmitterObserved
    | SubmitterFinished
    | SubmitterVanished
    | EntrypointMissed
    | StatusCheckFailed
    | StatusCheckRecovered
    | HeadPodObserved
    | HeadPodVanished
    | SidecarFinished
    | PodsObserved
    | PartVanished
)
"""What was seen of the RayCluster, the submitter and the Ray job."""
