"""Which events begin an attempt, or find the job in one that another controller has begun."""

from collections.abc import Mapping, Sequence

from jobledger.core.catalogue import JobEvent
from jobledger.core.kinds import NOTHING, ROLES, evolve


def attempts_begun(events: Sequence[JobEvent]) -> Mapping[int, int]:
    """Return the number of each attempt, by the version of the event from which on it is told of.

    Args:
        events: of the job, all of them.
    """
    found: dict[int, int] = {}
    for version, event in enumerate(events, 1):
        if isinstance(event, ROLES.attempt_started):
            found[version] = event.attempt
        elif isinstance(event, ROLES.adopted):
            state = NOTHING
            for before in events[:version]:
                state = evolve(state, before)
            if state.attempt is not None:
                found[version] = state.attempt.number
    return found
