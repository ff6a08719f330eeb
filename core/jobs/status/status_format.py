"""How the `.status` of a kind of job is written."""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.core.values.documents import Manifest


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
