"""Classifies failures for reports from the events alone, without reading evidence."""

from collections.abc import Sequence
from typing import cast

from jobledger.core.catalogue import JobEvent
from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.failures.signs import Sign, signs
from jobledger.core.forensics.story.explain import diagnose
from jobledger.core.jobs import events as shared

_SILENT = (
    shared.StatusPublished,
    shared.EffectRequested,
    shared.EffectSucceeded,
    shared.ObservationsConfirmed,
    shared.DecisionScheduled,
    shared.DecisionCancelled,
)
"""Frequent events that are no sign of a failure."""


class ExplainedCauses:
    """Sorts failures as `jobledger explain` does; see `core.projections.reporting.failures`."""

    def signs(self, event: JobEvent, version: int) -> Sequence[object]:
        """Return the signs that an event shows."""
        if isinstance(event, _SILENT):
            return ()
        read = ReadEvent(
            version=version, occurred_at=event.at, recorded_at=event.at, actor="", event=event
        )
        return tuple(signs((read,), lambda _: None))

    def cause(self, signs: Sequence[object], *, ran: bool) -> str:
        """Return the class that the signs of one attempt speak for."""
        return diagnose(cast("Sequence[Sign]", signs), ran=ran).rule.name
