"""Writes a turn and reads it again: what was seen, then what was decided from it.

The first event of a turn carries the observation (`core.log.observed`). What the job's state knew
before the turn is said already, where a look at the job's own object only repeats it.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import fields

from jobledger.core.catalogue import NAMES, SCHEMA_VERSION, JobEvent
from jobledger.core.decider import Decided
from jobledger.core.errors import UnknownEventType
from jobledger.core.jobs.history.shared_types import OBSERVATION_TYPES as SHARED_OBSERVATIONS
from jobledger.core.jobs.observations import EffectEnded
from jobledger.core.kinds import KINDS, JobObservation, JobState, is_job_seen, kind_of
from jobledger.core.log import observed
from jobledger.core.log.codec import learn
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import NamedEvent, Tail, Writer, record
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.ids import ObservationId

OBSERVATIONS: Mapping[str, type[JobObservation]] = {
    **SHARED_OBSERVATIONS,
    **{name: cls for kind in KINDS.values() for name, cls in kind.observations.items()},
}
"""Stored name -> class of an observation."""

learn(OBSERVATIONS.values())

OBSERVATION_NAMES = {cls: name for name, cls in OBSERVATIONS.items()}
"""Class -> stored name."""


def record_turn(
    tail: Tail, writer: Writer, observation: JobObservation, decided: Decided[JobState, JobEvent]
) -> tuple[tuple[EventRecord, ...], Tail]:
    """Return the records of a turn behind `tail`, and the new tail; none if there was no news."""
    if not decided.events:
        return (), tail
    named = [
        NamedEvent(name=NAMES[type(one)], schema_version=SCHEMA_VERSION, at=one.at, event=one)
        for one in decided.events
    ]
    return record(tail, writer, observation.id, named, kept_of(observation, decided))


def kept_of(observation: JobObservation, decided: Decided[JobState, JobEvent]) -> Manifest:
    """Return what the first event carries of an observation that was news."""
    said = _said(decided.before, type(observation), decided.events, observation.id)
    return observed.written(OBSERVATION_NAMES[type(observation)], observation, said)


def observation_of(
    state: JobState, events: Sequence[JobEvent], cause: ObservationId, payload: Manifest
) -> JobObservation | None:
    """Return what was seen in a turn; None if its first event does not carry it.

    Args:
        state: That before the turn.
        events: Those of the turn.
        cause: The id of the observation.
        payload: That of the first event, as it is stored.

    Raises:
        UnknownEventType: it was written by a newer version.
        BrokenChain: it is not of its type.
    """
    kept = child(payload, observed.KEY)
    name = kept.get(observed.TYPE)
    if name is None:
        return None
    cls = OBSERVATIONS.get(str(name))
    if cls is None:
        raise UnknownEventType(str(name), SCHEMA_VERSION)
    return observed.read(cls, kept, _said(state, cls, events, cause))


def _said(
    state: JobState, cls: type[JobObservation], events: Sequence[JobEvent], cause: ObservationId
) -> Mapping[str, object]:
    """Return what is said of an observation without it, by field: by events, then by the state."""
    said: dict[str, object] = {"id": cause}
    for event in events:
        for name in _shared(cls, type(event)):
            if name not in said:
                said[name] = getattr(event, name)
    if cls is EffectEnded:
        said["details"] = kind_of(state).log.details_told(events)
    if is_job_seen(cls):
        for name, value in _known(state).items():
            said.setdefault(name, value)
    return said


def _known(state: JobState) -> dict[str, object]:
    """Return what is known of a job's own object, by the fields of a look at it."""
    known: dict[str, object] = {}
    if state.identity is not None:
        known["identity"] = state.identity
    if state.manifest is not None:
        known |= {
            field.name: getattr(state.manifest, field.name) for field in fields(state.manifest)
        }
        known["instead_of"] = state.manifest.generation
    if state.recorded is not None and state.recorded.shown is not None:
        known["status"] = state.recorded.shown
    if state.recorded is not None and not state.recorded.behind:
        known["recorded"] = state.recorded.why
    return known


_SHARED: dict[tuple[type, type], tuple[str, ...]] = {}


def _shared(seen: type, event: type) -> tuple[str, ...]:
    """Return the names of the fields that an observation and an event both have."""
    if (known := _SHARED.get((seen, event))) is None:
        names = {field.name for field in fields(event)}
        known = tuple(field.name for field in fields(seen) if field.name in names)
        _SHARED[seen, event] = known
    return known
