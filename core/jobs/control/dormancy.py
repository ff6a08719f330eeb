"""Whether anything may still be done about a job, whatever its kind."""

from typing import Protocol

from jobledger.core.values.instants import Instant


class _Spec(Protocol):
    @property
    def is_ours(self) -> bool: ...


class _Manifest(Protocol):
    @property
    def spec(self) -> _Spec: ...
    @property
    def deleting_at(self) -> Instant | None: ...


class _Job(Protocol):
    @property
    def manifest(self) -> _Manifest | None: ...
    @property
    def recorded(self) -> object | None: ...
    @property
    def deleted_at(self) -> Instant | None: ...


def is_dormant(state: _Job) -> bool:
    """Return whether nothing may be done about the job: it is gone, unknown, or somebody else's."""
    if state.recorded is not None:
        return True
    return state.deleted_at is not None or state.manifest is None or not state.manifest.spec.is_ours


def is_leaving(state: _Job) -> bool:
    """Return whether the object is being deleted."""
    return state.manifest is not None and state.manifest.deleting_at is not None
