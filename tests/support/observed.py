"""Holds what the log keeps of an observation against what was seen."""

import json
from dataclasses import fields

from jobledger.core.catalogue import JobEvent
from jobledger.core.decider import Decided
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.log.chain import canonical
from jobledger.core.log.observed import KEY, TOLD_ONCE
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
    for field in fields(observation):
        now, then = getattr(found, field.name), getattr(observation, field.name)
        assert now == then or (not now and field.metadata == TOLD_ONCE), field.name
