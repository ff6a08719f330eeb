"""The registry of event types: maps each stored type name to its class, for every release.

A name is part of the storage format: a class may be renamed, its name here stays. A change of
shape that a default
cannot express raises the schema version and adds a step in `core.log.upcasting`.
"""

from collections.abc import Mapping
from typing import TypeAlias

from jobledger.core.errors import UnknownEventType
from jobledger.core.jobs import events as shared
from jobledger.core.log.codec import decode
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.upcasting import upcast
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.trainjob import events as trainjob
from jobledger.core.trainjob.events import TrainJobEvent

SCHEMA_VERSION = 1
"""Newest version of every type; they are all in their first."""

JobEvent: TypeAlias = RayJobEvent | TrainJobEvent
"""An event of any kind of job."""

TYPES: Mapping[str, type[JobEvent]] = {
    "EffectRequested": shared.EffectRequested,
    "EffectSucceeded": shared.EffectSucceeded,
    "EffectFaltered": shared.EffectFaltered,
    "EffectFailed": shared.EffectFailed,
    "EffectSuperseded": shared.EffectSuperseded,
    "DecisionScheduled": shared.DecisionScheduled,
    "DecisionFired": shared.DecisionFired,
    "DecisionCancelled": shared.DecisionCancelled,
    "ObservationGapFound": shared.ObservationGapFound,
    "ObservationsConfirmed": shared.ObservationsConfirmed,
    "StatusPublished": shared.StatusPublished,
    "EvidenceCaptured": shared.EvidenceCaptured,
    "ControlReleased": shared.ControlReleased,
    "ControlTaken": shared.ControlTaken,
    "LedgerBehindFound": shared.LedgerBehindFound,
    "RecoveredFromCluster": shared.RecoveredFromCluster,
    "JobDiscovered": rayjob.JobDiscovered,
    "JobAdopted": rayjob.JobAdopted,
    "ManifestReceived": rayjob.ManifestReceived,
    "ManifestRejected": rayjob.ManifestRejected,
    "ManifestAccepted": rayjob.ManifestAccepted,
    "AttemptStarted": rayjob.AttemptStarted,
    "ClusterObserved": rayjob.ClusterObserved,
    "ClusterVanished": rayjob.ClusterVanished,
    "StrayClusterFound": rayjob.StrayClusterFound,
    "StrayClusterVanished": rayjob.StrayClusterVanished,
    "SubmitterObserved": rayjob.SubmitterObserved,
    "SubmitterFinished": rayjob.SubmitterFinished,
    "SubmitterVanished": rayjob.SubmitterVanished,
    "AttemptReachedRunning": rayjob.AttemptReachedRunning,
    "AttemptReachedWaiting": rayjob.AttemptReachedWaiting,
    "SubmissionNamed": rayjob.SubmissionNamed,
    "EntrypointObserved": rayjob.EntrypointObserved,
    "EntrypointMissed": rayjob.EntrypointMissed,
    "StatusCheckFailed": rayjob.StatusCheckFailed,
    "StatusCheckRecovered": rayjob.StatusCheckRecovered,
    "AttemptFailed": rayjob.AttemptFailed,
    "RetryGranted": rayjob.RetryGranted,
    "RetryRefused": rayjob.RetryRefused,
    "AttemptCleared": rayjob.AttemptCleared,
    "ClusterGivenUp": rayjob.ClusterGivenUp,
    "SuspensionStarted": rayjob.SuspensionStarted,
    "JobSuspended": rayjob.JobSuspended,
    "JobResumed": rayjob.JobResumed,
    "JobCompleted": rayjob.JobCompleted,
    "JobFailed": rayjob.JobFailed,
    "DeletionStarted": rayjob.DeletionStarted,
    "JobDeleted": rayjob.JobDeleted,
    "HeadPodObserved": rayjob.HeadPodObserved,
    "HeadPodVanished": rayjob.HeadPodVanished,
    "SidecarFinished": rayjob.SidecarFinished,
    "SuspensionPostponed": rayjob.SuspensionPostponed,
    "ClusterKept": rayjob.ClusterKept,
    "ClusterCovered": rayjob.ClusterCovered,
    "PodsObserved": rayjob.PodsObserved,
    "FailureNoticed": rayjob.FailureNoticed,
    "AnnotationsRejected": shared.AnnotationsRejected,
    "OthersStatusObserved": rayjob.OthersStatusObserved,
    "TransitionsMissed": rayjob.TransitionsMissed,
    "TrainJobDiscovered": trainjob.TrainJobDiscovered,
    "TrainJobAdopted": trainjob.TrainJobAdopted,
    "TrainJobReceived": trainjob.TrainJobReceived,
    "JobsBuildFailed": trainjob.JobsBuildFailed,
    "BuilderChanged": trainjob.BuilderChanged,
    "RuntimePatchesWithheld": trainjob.RuntimePatchesWithheld,
    "JobsCreationFailed": trainjob.JobsCreationFailed,
    "ObjectsApplied": trainjob.ObjectsApplied,
    "TrainAttemptStarted": trainjob.TrainAttemptStarted,
    "TrainAttemptEnded": trainjob.TrainAttemptEnded,
    "TrainJobSuspended": trainjob.TrainJobSuspended,
    "TrainJobResumed": trainjob.TrainJobResumed,
    "TrainJobCompleted": trainjob.TrainJobCompleted,
    "TrainJobFailed": trainjob.TrainJobFailed,
    "TrainJobDeletionStarted": trainjob.TrainJobDeletionStarted,
    "TrainJobDeleted": trainjob.TrainJobDeleted,
    "RuntimeObserved": trainjob.RuntimeObserved,
    "BelongingVanished": trainjob.BelongingVanished,
    "JobSetObserved": trainjob.JobSetObserved,
    "JobSetVanished": trainjob.JobSetVanished,
    "TrainerProgressReported": trainjob.TrainerProgressReported,
    "OthersTrainStatusObserved": trainjob.OthersTrainStatusObserved,
}
"""Stored name -> class of the newest version."""

KEPT = "ClusterKept"
FATES_OF_A_CLUSTER = (KEPT, "ClusterCovered", "ClusterVanished")
"""What was said last of a job's RayCluster after the end: kept or not."""

NAMES: Mapping[type[JobEvent], str] = {cls: name for name, cls in TYPES.items()}
"""Class -> stored name."""


def read_event(record: EventRecord) -> JobEvent:
    """Return the event a record holds.

    Raises:
        UnknownEventType: it was written by a newer version.
        BrokenChain: its payload is not one of its type.
    """
    cls = TYPES.get(record.type)
    if cls is None or record.schema_version > SCHEMA_VERSION:
        raise UnknownEventType(record.type, record.schema_version)
    data = upcast(record.type, record.schema_version, record.data)
    return decode(cls, data, record.occurred_at)
