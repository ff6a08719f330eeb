"""Computes for which attempt a RayCluster or a submission was made, from its name."""

from collections.abc import Callable

from jobledger.core.rayjob.names import cluster_name, submission_id
from jobledger.core.rayjob.state import RayJobState

NAMES_AHEAD = 256
"""For so many attempts beyond the last known one a name is told from any other."""


def number_ahead(state: RayJobState, name: str) -> int:
    """Return for which attempt after the last known one a RayCluster is called so; 0: for none."""
    if state.attempt is not None and name == state.attempt.cluster_name:
        return 0
    return _ahead(state, name, cluster_name)


def submission_ahead(state: RayJobState, job_id: str) -> int:
    """Return for which attempt after the last known one a submission is called so; 0: for none.

    Of attempts on the same RayCluster nothing else tells which is which.
    """
    return _ahead(state, job_id, submission_id) if job_id else 0


def _ahead(state: RayJobState, name: str, naming: Callable[[str, str, int], str]) -> int:
    """Return the number of the first attempt that has this name, if the log does not know it.

    Five characters are few: of 56,000 jobs one has an attempt that a later one would be called as.
    """
    identity = state.identity
    if identity is None:
        return 0
    last = state.attempt.number if state.attempt is not None else 0
    numbers = range(1, last + 1 + NAMES_AHEAD)
    first = next((n for n in numbers if name == naming(identity.name, identity.uid, n)), 0)
    return first if first > last else 0


def is_earlier(state: RayJobState, name: str) -> bool:
    """Return whether a RayCluster is that of a known attempt that is over."""
    identity, attempt = state.identity, state.attempt
    if identity is None or attempt is None:
        return False
    numbers = range(1, attempt.number + 1)
    return any(name == cluster_name(identity.name, identity.uid, n) for n in numbers)


def is_of_a_user(job: str, name: str) -> bool:
    """Return whether a RayCluster has no name that controllers give those they make for a job."""
    return not name.startswith(f"{job}-")
