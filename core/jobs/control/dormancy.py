"""Whether anything may still be done about a job, whatever its kind."""

from jobledger.core.jobs.evolve.shared_state import SharedState


def is_dormant(state: SharedState) -> bool:
    """Return whether nothing may be done about the job: it is gone, unknown, or somebody else's."""
    if state.recorded is not None:
        return True
    return state.deleted_at is not None or state.manifest is None or not state.manifest.spec.is_ours


def is_leaving(state: SharedState) -> bool:
    """Return whether the object is being deleted."""
    return state.manifest is not None and state.manifest.deleting_at is not None
