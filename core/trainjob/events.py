"""Events of TrainJobs.

These names are the storage format: `core.catalogue` gives each its stored type. `at` is the
instant the event was true; it is stored in the envelope as `occurred_at`.
"""

from typing import TypeAlias

from msgspec import Struct

from jobledger.core.jobs.events import SharedEvent
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.manifest.shared_manifest import SharedManifestReceived
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.contributions.contribution import Contribution
from jobledger.core.trainjob.observations import JobCounts, JobSetEnd, SeenTrainStatus
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.progress import TrainerProgress
from jobledger.core.trainjob.spec import TrainJobSpec
from jobledger.core.values.instants import Instant


class TrainJobDiscovered(Struct, frozen=True, kw_only=True):
    """A TrainJob was seen for the first time."""

    at: Instant
    identity: JobIdentity


class TrainJobAdopted(Struct, frozen=True, kw_only=True):
    """It already had a status: its life goes on from there."""

    at: Instant
    status: SeenTrainStatus


class TrainJobReceived(SharedManifestReceived, frozen=True, kw_only=True):
    """The specification, or what else decides about the job, is now this."""

    spec: TrainJobSpec
    policy: TrainPolicy


class JobsBuildFailed(Struct, frozen=True, kw_only=True):
    """The objects could not be built. Nothing but the runtime snapshot can have been written."""

    at: Instant
    generation: int
    digest: str
    """Of the specification that was built from."""
    runtime: str
    """Digest of the runtime that was built from; empty: there was none."""
    cause: str
    """The plugin or rule, and what it says; bounded and redacted."""
    may_pass: bool = False
    """Whether another try without any change can succeed."""
    builder: str = ""
    """Versions of what has built: the program and its plugins; empty: not known."""


class BuilderChanged(Struct, frozen=True, kw_only=True):
    """What could not be built is built again: by another version of the program or its plugins."""

    at: Instant
    builder: str
    """Their versions now."""


class RuntimePatchesWithheld(Struct, frozen=True, kw_only=True):
    """The runtimePatches of a running job were changed: they are not in force."""

    at: Instant
    generation: int
    digest: str
    """Of the specification that has them."""


class JobsCreationFailed(Struct, frozen=True, kw_only=True):
    """The objects were built, and one could not be applied. Those before it stay."""

    at: Instant
    generation: int
    digest: str
    """Of the specification that was built from."""
    runtime: str
    """Digest of the runtime that was built from."""
    cause: str
    """The object, and the API server's answer; bounded and redacted."""
    may_pass: bool = False
    """Whether another try without any change can succeed."""


class ObjectsApplied(Struct, frozen=True, kw_only=True):
    """The objects were built and are all in place."""

    at: Instant
    generation: int
    """Of the specification that was built from, which may have changed since."""
    digest: str
    """Of the specification that was built from."""
    runtime: str
    """Digest of the runtime that is there; empty: none, the snapshot was built from."""
    jobset_uid: str
    """UID of the JobSet as it was applied, or found and left alone."""
    jobset_generation: int
    """Its generation."""
    jobset_suspend: bool
    """spec.suspend of the JobSet as it is now."""
    names: tuple[str, ...] = ()
    """What was applied, as `Kind/name`; what was found and left alone is not among them."""
    snapshot: bool = False
    """Whether the runtime was snapshotted."""


class TrainAttemptStarted(Struct, frozen=True, kw_only=True):
    """An execution began: the JobSet is there and not suspended."""

    at: Instant
    attempt: int
    generation: int
    """That of the TrainJob the JobSet was built from; the newest, where nobody here knows."""
    jobset_uid: str
    """UID of the JobSet that it runs as."""
    restarts: int
    """How often the JobSet had been restarted by then."""
    cause: str
    """first, resumed, restarted or recreated."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class TrainAttemptEnded(Struct, frozen=True, kw_only=True):
    """An execution ended."""

    at: Instant
    attempt: int
    outcome: str
    """succeeded, failed, suspended or lost."""
    reason: str = ""
    message: str = ""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class TrainJobSuspended(Struct, frozen=True, kw_only=True):
    """The job is to be suspended, and says so."""

    at: Instant
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class TrainJobResumed(Struct, frozen=True, kw_only=True):
    """The job is no longer to be suspended. The active deadline counts from here."""

    at: Instant
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class TrainJobCompleted(Struct, frozen=True, kw_only=True):
    """The JobSet completed. Final."""

    at: Instant
    reason: str
    message: str
    ended_at: Instant
    """By the JobSet's controller."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class TrainJobFailed(Struct, frozen=True, kw_only=True):
    """The JobSet failed, the deadline passed, or the runtime is of no known kind. Final."""

    at: Instant
    reason: str
    message: str
    ended_at: Instant
    """By the JobSet's controller, or here by the deadline."""
    inferred: bool = False
    """Whether another controller did it, and this follows from what it left."""


class TrainJobDeletionStarted(Struct, frozen=True, kw_only=True):
    """Somebody asked for the TrainJob object to be deleted."""

    at: Instant


class TrainJobDeleted(Struct, frozen=True, kw_only=True):
    """The TrainJob object is gone. Nothing more will happen."""

    at: Instant


class RuntimeObserved(Struct, frozen=True, kw_only=True):
    """The runtime that the job names is there in this form, or is not there."""

    at: Instant
    digest: str
    """Keyed digest of its specification, labels and annotations; empty: it is not there."""


class DependentVanished(Struct, frozen=True, kw_only=True):
    """An object of the job (its runtime snapshot, its hostfile, its keys, its gang) is gone."""

    at: Instant
    name: str
    uid: str
    """Empty where it was asked for by its name and not found."""
    kind: str = "ConfigMap"
    """Its kind, with the group where the kind alone does not tell."""


class JobSetObserved(Struct, frozen=True, kw_only=True):
    """The JobSet is there, in this state."""

    at: Instant
    name: str
    uid: str
    generation: int
    suspend: bool
    """spec.suspend."""
    restarts: int = 0
    """How often its controller has restarted it."""
    deleting: bool = False
    jobs: tuple[JobCounts, ...] = ()
    """How many Jobs of each replicatedJob are in which state."""
    end: JobSetEnd | None = None
    """Its terminal condition, if it has one."""
    contributed: tuple[Condition, ...] = ()
    """What plugins make of it; empty since that is `PluginConditionsObserved`."""
    version: str = ""
    """Its resourceVersion; empty: it was not written down yet."""


class JobSetVanished(Struct, frozen=True, kw_only=True):
    """The JobSet is no longer there."""

    at: Instant
    name: str
    uid: str
    asked: bool
    """Whether its deletion had been asked for here."""
    inferred: str = ""
    """Why somebody else must have asked for it: the controller in charge of a recorded job, or
    whoever deletes the TrainJob; empty: not known."""


class TrainerProgressReported(Struct, frozen=True, kw_only=True):
    """The job's Pods have reported how far they are, and its status shows it."""

    at: Instant
    progress: TrainerProgress
    """What the status shows: per cent, time left and metrics, as the Pods reported them."""
    attempt: int = 0
    """During which attempt; 0: before the first."""
    reports: int = 1
    """How many different ones were seen since the last event of this type, this one included.

    The others are not written down.
    """


class PluginConditionsObserved(Struct, frozen=True, kw_only=True):
    """A plugin makes these conditions of the job out of an object that it owns."""

    at: Instant
    contribution: Contribution
    """The plugin, the object, the conditions that are taken, and why others are not."""
    gone: bool = False
    """Whether the object is gone: its conditions are Unknown from now on."""


TrainFactEvent: TypeAlias = (
    RuntimeObserved
    | DependentVanished
    | JobSetObserved
    | JobSetVanished
    | TrainerProgressReported
    | PluginConditionsObserved
)
"""What was seen of the runtime, the JobSet and the other objects, and what the Pods report."""


class OthersTrainStatusObserved(Struct, frozen=True, kw_only=True):
    """The `.status` that another controller has written is now this."""

    at: Instant
    status: SeenTrainStatus


TrainLifeEvent: TypeAlias = (
    TrainJobDiscovered
    | TrainJobAdopted
    | TrainJobReceived
    | JobsBuildFailed
    | BuilderChanged
    | RuntimePatchesWithheld
    | JobsCreationFailed
    | ObjectsApplied
    | TrainAttemptStarted
    | TrainAttemptEnded
    | TrainJobSuspended
    | TrainJobResumed
    | TrainJobCompleted
    | TrainJobFailed
    | TrainJobDeletionStarted
    | TrainJobDeleted
    | OthersTrainStatusObserved
)
"""What became of the job itself."""

TrainJobEvent: TypeAlias = TrainFactEvent | TrainLifeEvent | SharedEvent
