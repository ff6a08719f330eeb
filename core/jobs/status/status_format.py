"""How the `.status` of a kind of job is written."""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.core.values.documents import Json, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFormat:
    """What is different about the status of one kind of job."""

    fields: frozenset[str]
    """Every field that this controller writes."""
    milestone: Callable[[Manifest], str]
    """Statuses of one milestone that follow each other may go out as one write."""
    words: Callable[[Manifest], str]
    """What the log says was published."""
    is_merged: bool
    """Whether it is written as a merge patch, which replaces lists, and not applied."""
    copied: frozenset[str] = frozenset()
    """Those of the fields that hold what another controller shows of an object of its own."""
    counters: frozenset[str] = frozenset()
    """Those of the fields that an API server leaves out of its answers while they are 0."""
    rising: frozenset[str] = frozenset()
    """Those of the counters that never fall: an API server refuses a status in which one does."""
    lasting: frozenset[str] = frozenset()
    """Those of the fields that stay once they are shown, by the same rule."""

    def own(self, status: Manifest) -> dict[str, Json]:
        """Return the fields of a status that are written here, in the form in which they are."""
        zeros: dict[str, Json] = dict.fromkeys(self.counters, 0)
        return zeros | {name: value for name, value in status.items() if name in self.fields}
