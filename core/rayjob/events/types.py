"""The stored names of the events of RayJobs. A class may be renamed, its name here stays."""

from collections.abc import Mapping

from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.events.lifecycle import FactEvent, LifeEvent

TYPES: Mapping[str, type[FactEvent | LifeEvent]] = {
    "JobDiscovered": rayjob.JobDiscovered,
    "JobAdopted": rayjob.JobAdopted,
    "ManifestReceived": rayjob.ManifestReceived,
    "ManifestRejected": rayjob.ManifestRejected,
    "ManifestAccepted": rayjob.ManifestAccepted,
    "AttemptStarted": rayjob.AttemptStarted,
    "ClusterObserved": rayjob.ClusterObserved,
    "ClusterVanished": rayjob.ClusterVanished,
    "OrphanClusterFound": rayjob.OrphanClusterFound,
    "OrphanClusterVanished": rayjob.OrphanClusterVanished,
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
    "PartVanished": rayjob.PartVanished,
    "SuspensionPostponed": rayjob.SuspensionPostponed,
    "ClusterKept": rayjob.ClusterKept,
    "ClusterCovered": rayjob.ClusterCovered,
    "PodsObserved": rayjob.PodsObserved,
    "FailureNoticed": rayjob.FailureNoticed,
    "OthersStatusObserved": rayjob.OthersStatusObserved,
    "TransitionsMissed": rayjob.TransitionsMissed,
}
"""Stored name -> class of the newest version."""
