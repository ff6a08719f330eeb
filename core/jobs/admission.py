"""The answer of an admission webhook: allowed or refused, with warnings and defaults."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobledger.core.values.documents import Manifest, child, text

WARNINGS_MAX = 10
"""So many warnings are shown; kubectl prints each on a line of its own."""

WARNING_LENGTH_MAX = 250
"""Kubernetes cuts longer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether an object is let in."""

    refusal: str = ""
    """Why it is not; empty: it is."""
    warnings: tuple[str, ...] = ()
    """What its author should know of an object that is let in."""


ADMITTED = Verdict()


def refused(reason: str) -> Verdict:
    """Return the verdict on an object that is not let in."""
    return Verdict(refusal=reason)


def warned(problems: Sequence[str]) -> Verdict:
    """Return the verdict on an object that is let in with warnings."""
    return Verdict(warnings=tuple(one[:WARNING_LENGTH_MAX] for one in problems[:WARNINGS_MAX]))


def leaves_spec(new: Manifest, old: Manifest | None) -> bool:
    """Return whether an update needs no judgement: it changes no spec, or the job is going.

    A finalizer must be removable from a job that would not be let in any more.
    """
    if old is None:
        return False
    return bool(text(new, "metadata", "deletionTimestamp")) or child(new, "spec") == child(
        old, "spec"
    )
