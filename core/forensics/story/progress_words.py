"""Words for the progress that the Pods of a TrainJob have reported."""

from collections.abc import Iterator, Sequence

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.progress import in_words
from jobledger.core.values.instants import rfc3339


def progress_told(events: Sequence[ReadEvent]) -> Iterator[tuple[str, int]]:
    """Yield the last report, as a sentence with the version of its event; nothing without one."""
    for read in reversed(events):
        if isinstance(read.event, TrainerProgressReported):
            said = in_words(read.event.progress)
            yield f"Training last reported at {rfc3339(read.occurred_at)}: {said}.", read.version
            return
