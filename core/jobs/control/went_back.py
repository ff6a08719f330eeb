"""Tells an object that went back to an earlier form from an old look at it.

A generation never falls, so a look that shows an earlier one than the log knows is mostly old: one
watch lags behind another. But an etcd that was restored from a backup shows what was before, and
goes on from there. Which of the two it is follows from a look that was asked for after the log had
written down the later form, and names that (`instead_of`), or from a deletion, which nobody takes
back: whoever knew a later form would know of it.
"""

from jobledger.core.values.instants import Instant


def is_old_look(
    *,
    generation: int,
    known_generation: int,
    instead_of: int,
    deleting_at: Instant | None,
    known_deleting_at: Instant | None,
) -> bool:
    """Return whether a look at a job's object is older than what is known of it, so no news."""
    if generation >= known_generation or instead_of == known_generation:
        return False
    return deleting_at is None or known_deleting_at is not None
