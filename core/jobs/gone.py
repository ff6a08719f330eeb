"""The children of a job that are known to be gone: late news of them is no news."""

from typing import TypeVar

from msgspec.structs import replace

from jobledger.core.jobs.evolve.shared_state import SharedState

State = TypeVar("State", bound=SharedState)

REMEMBERED_MAX = 8
"""How many UIDs are remembered; late news comes within moments."""


def remember_gone(state: State, uid: str) -> State:
    """Return the state with one more UID that is known to be gone."""
    if not uid or uid in state.gone:
        return state
    return replace(state, gone=(*state.gone, uid)[-REMEMBERED_MAX:])


def is_there_again(state: State, uid: str) -> State:
    """Return the state without one that is there, as after a restore of etcd."""
    if uid not in state.gone:
        return state
    return replace(state, gone=tuple(one for one in state.gone if one != uid))
