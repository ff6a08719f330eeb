"""The stored names of events and observations that every kind of job has.

They stay, whatever the classes' do.
"""

from collections.abc import Mapping

from jobledger.core.jobs import events as shared
from jobledger.core.jobs import observations as seen

TYPES: Mapping[str, type[shared.SharedEvent]] = {
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
    "StatusWriteFailed": shared.StatusWriteFailed,
    "EvidenceCaptured": shared.EvidenceCaptured,
    "ControlReleased": shared.ControlReleased,
    "ControlTaken": shared.ControlTaken,
    "LedgerBehindFound": shared.LedgerBehindFound,
    "RecoveredFromCluster": shared.RecoveredFromCluster,
    "AnnotationsRejected": shared.AnnotationsRejected,
}
"""Stored name -> class of the newest version."""

OBSERVATION_TYPES: Mapping[str, type[seen.SharedObservation]] = {
    "EffectEnded": seen.EffectEnded,
    "DecisionDue": seen.DecisionDue,
    "WatchInterrupted": seen.WatchInterrupted,
    "NothingNew": seen.NothingNew,
    "StatusWritten": seen.StatusWritten,
    "StatusNotWritten": seen.StatusNotWritten,
    "EvidenceSeen": seen.EvidenceSeen,
    "LedgerSetBack": seen.LedgerSetBack,
}
"""Stored name -> class."""
