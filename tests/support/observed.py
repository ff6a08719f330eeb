"""Holds what the log keeps of an observation against what was seen."""

import json

from jobledger.core.catalogue import JobEvent
from jobledger.core.decider import Decided
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.log.chain import canonical
from jobledger.core.log.observed import KEY, told_once
from jobledger.core.turns import kept_of, observation_of


def assert_kept_as_it_came(
    observation: JobObservation, decided: Decided[JobState, JobEvent]
) -> None:
    """Hold that the log gives back an observation that brought news, field by field."""
    if not decided.events:
        return
    payload = {KEY: json.loads(canonical(kept_of(observation, decided)))}
    found = observation_of(decided.before, decided.events, observation.id, payload)
    assert type(found) is type(observation)
    for name in observation.__struct_fields__:
        now, then = getattr(found, name), getattr(observation, name)
        assert now == then or (not now and name in told_once(type(observation))), name
