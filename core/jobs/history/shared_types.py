"""The stored names of events that every kind of job has. They stay, whatever the classes' do."""

from collections.abc import Mapping

from jobledger.core.jobs import events as shared

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
    "EvidenceCaptured": shared.EvidenceCaptured,
    "ControlReleased": shared.ControlReleased,
    "ControlTaken": shared.ControlTaken,
    "LedgerBehindFound": shared.LedgerBehindFound,
    "RecoveredFromCluster": shared.RecoveredFromCluster,
    "AnnotationsRejected": shared.AnnotationsRejected,
}
"""Stored name -> class of the newest version."""
