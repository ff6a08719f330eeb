"""Builds the records of new events: ids, hashes and links."""

from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from msgspec import Struct
from msgspec.structs import force_setattr

from jobledger.core.log.chain import canonical, link
from jobledger.core.log.codec import encode
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.observed import KEY
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import ObservationId, StreamId, event_id
from jobledger.core.values.instants import Instant


class Tail(Struct, frozen=True, kw_only=True, gc=False):
    """Where a stream ends."""

    stream_id: StreamId
    version: int
    chain: bytes


class Writer(Struct, frozen=True, kw_only=True):
    """Who writes, under which lease, and when."""

    actor: str
    epoch: int
    now: Instant


class NamedEvent(Struct, frozen=True, kw_only=True):
    """An event with its stored name and the instant it was true."""

    name: str
    schema_version: int
    at: Instant
    event: Struct


def record(
    tail: Tail,
    writer: Writer,
    cause: ObservationId,
    events: Sequence[NamedEvent],
    observed: Manifest | None = None,
) -> tuple[tuple[EventRecord, ...], Tail]:
    """Return the records of `events` behind `tail`, and the new tail.

    `observed` is what is kept of the observation; the first event carries it.
    """
    records: list[EventRecord] = []
    chain = tail.chain
    for ordinal, named in enumerate(events):
        data = encode(named.event)
        if observed is not None and ordinal == 0:
            data = {**data, KEY: observed}
        payload = canonical(data)
        made = EventRecord(
            stream_id=tail.stream_id,
            version=tail.version + ordinal + 1,
            event_id=event_id(cause, ordinal),
            type=named.name,
            schema_version=named.schema_version,
            occurred_at=named.at,
            recorded_at=writer.now,
            actor=writer.actor,
            epoch=writer.epoch,
            causation_id=cause,
            correlation_id=_correlation(tail.stream_id, named.event),
            payload=payload,
            data_sha=sha256(payload).digest(),
            chain=b"",
        )
        chain = link(chain, made)
        force_setattr(made, "chain", chain)  # nobody has seen it yet; a copy costs as much
        records.append(made)
    end = Tail(stream_id=tail.stream_id, version=tail.version + len(records), chain=chain)
    return tuple(records), end


_CORRELATED_BY: dict[type[Struct], str] = {}


def _correlation(stream: StreamId, event: Struct) -> UUID:
    cls = type(event)
    if (name := _CORRELATED_BY.get(cls)) is None:
        has = cls.__struct_fields__
        name = next((one for one in ("effect_id", "decision_id") if one in has), "")
        _CORRELATED_BY[cls] = name
    found = getattr(event, name) if name else None
    return found if isinstance(found, UUID) else stream
