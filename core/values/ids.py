"""Identifiers, derived deterministically from their causes.

Nothing is minted: an id is the UUIDv5 of what it names, so a controller without memory finds the
same one,
and a repeated observation, a lost commit acknowledgement or a re-run effect collapses into one row.
"""

import hashlib
from typing import NewType
from uuid import UUID

from jobledger.core.values.instants import EPOCH, Instant

StreamId = NewType("StreamId", UUID)
ObservationId = NewType("ObservationId", UUID)
EventId = NewType("EventId", UUID)
EffectId = NewType("EffectId", UUID)
DecisionId = NewType("DecisionId", UUID)

NAMESPACE = UUID("6f1d9a52-3c0b-5b0e-9a51-8e0f6c1b7a20")
"""The namespace of every UUIDv5 here. Part of the storage format: never change it."""

SHARDS = 16
"""Into how many parts the work is split. Part of the storage format."""

NAME_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The alphabet of generated names. Source: k8s.io/apimachinery/pkg/util/rand."""


_NAMESPACE_BYTES = NAMESPACE.bytes
_VERSION_AND_VARIANT = ~((0xF000 << 64) | (0xC000 << 48)), (0x5 << 76) | (0x8000 << 48)


def _uuid5(*parts: str) -> UUID:
    """Return the UUIDv5 of the parts; `uuid.uuid5` says the same in twice the time."""
    name = "\x1f".join(parts).encode()
    digest = hashlib.sha1(_NAMESPACE_BYTES + name, usedforsecurity=False).digest()
    cleared, marked = _VERSION_AND_VARIANT
    return UUID(int=int.from_bytes(digest[:16]) & cleared | marked)


def stream_id(cluster: str, uid: str, created_at: Instant) -> StreamId:
    """Return a job's stream: a UUIDv7 of the object's creation and a hash of (cluster, uid).

    Streams sort by the age of their jobs, so whole jobs share a partition and age out together.
    """
    milliseconds = int((created_at - EPOCH).total_seconds() * 1000)
    digest = int.from_bytes(hashlib.sha256(f"{cluster}\x1f{uid}".encode()).digest()[:10])
    random_a, random_b = (digest >> 62) & 0xFFF, digest & ((1 << 62) - 1)
    value = (milliseconds << 80) | (0x7 << 76) | (random_a << 64) | (0b10 << 62) | random_b
    return StreamId(UUID(int=value))


def first_stream_at(instant: Instant) -> StreamId:
    """Return what sorts before every stream of a job that was created at `instant` or later."""
    milliseconds = max(0, int((instant - EPOCH).total_seconds() * 1000))
    return StreamId(UUID(int=milliseconds << 80))


def shard_of(stream: StreamId) -> int:
    """Return the shard that a stream belongs to, from 0 to `SHARDS` - 1."""
    return stream.int % SHARDS


def observation_id(stream: StreamId, *what: str) -> ObservationId:
    """Return the id of an observation, from what was seen (kind, uid, resourceVersion, …)."""
    return ObservationId(_uuid5(str(stream), "observation", *what))


def event_id(observation: ObservationId, ordinal: int) -> EventId:
    """Return the id of the event that was decided as number `ordinal` because of `observation`."""
    return EventId(_uuid5(str(observation), str(ordinal)))


def effect_id_of(observation: ObservationId, kind: str, target: str) -> EffectId:
    """Return the id of the effect that was asked for because of an observation."""
    return EffectId(_uuid5(str(observation), "effect", kind, target))


def decision_id_of(observation: ObservationId, kind: str, subject: str) -> DecisionId:
    """Return the id of the decision that was scheduled because of an observation."""
    return DecisionId(_uuid5(str(observation), "decision", kind, subject))


def notice_id_of(event: EventId, rule: str, target: str) -> UUID:
    """Return the id of what a target is told of an event because of a rule."""
    return _uuid5(str(event), "notice", rule, target)


def name_suffix(uid: str, *what: str) -> str:
    """Return five characters that follow from a job's UID and what they are for.

    Upstream draws them; derived, a second create meets AlreadyExists instead of making a double.
    """
    digest = int.from_bytes(hashlib.sha256("\x1f".join((uid, *what)).encode()).digest()[:8])
    characters = []
    for _ in range(5):
        digest, index = divmod(digest, len(NAME_CHARACTERS))
        characters.append(NAME_CHARACTERS[index])
    return "".join(characters)
