"""Computes for which attempt a RayCluster was made, from its name."""

from jobledger.core.rayjob.names import cluster_name, submission_id
from jobledger.core.rayjob.state import RayJobState

NAMES_AHEAD = 256
"""For so many attempts beyond the last known one a name is told from any other."""


def number_ahead(state: RayJobState, name: str) -> int:
    """Return for which attempt after the last known one a RayCluster is called so; 0: for none."""
    identity = state.identity
    last = state.attempt.number if state.attempt is not None else 0
    if identity is None or (state.attempt is not None and name == state.attempt.cluster_name):
        return 0
    if any(name == cluster_name(identity.name, identity.uid, n) for n in range(1, last + 1)):
        return 0
    ahead = range(last + 1, last + 1 + NAMES_AHEAD)
    return next((n for n in ahead if name == cluster_name(identity.name, identity.uid, n)), 0)


def submission_ahead(state: RayJobState, job_id: str) -> int:
    """Return for which attempt after the last known one a submission is called so; 0: for none.

    Of attempts on the same RayCluster nothing else tells which is which.
    """
    identity = state.identity
    last = state.attempt.number if state.attempt is not None else 0
    if identity is None or not job_id:
        return 0
    ahead = range(last + 1, last + 1 + NAMES_AHEAD)
    ids = (n for n in ahead if job_id == submission_id(identity.name, identity.uid, n))
    return next(ids, 0)


def is_earlier(state: RayJobState, name: str) -> bool:
    """Return whether a RayCluster is that of a known attempt that is over."""
    identity, attempt = state.identity, state.attempt
    if identity is None or attempt is None:
        return False
    numbers = range(1, attempt.number + 1)
    return any(name == cluster_name(identity.name, identity.uid, n) for n in numbers)
