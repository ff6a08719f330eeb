"""The hash chain of a stream: computes the next link, and checks a sequence of links.

`chain` = SHA-256(previous link, stream, version, event id, type, schema version, occurred_at,
recorded_at,
actor, epoch, causation, correlation, SHA-256 of the payload). Numbers are big-endian, texts carry
their length,
instants are microseconds since 1970. The append function in Postgres computes the same and refuses
what differs.
"""

import hashlib
import json
import struct
from collections.abc import Iterable
from datetime import timedelta
from typing import NoReturn

import msgspec

from jobledger.core.log.envelope import EventRecord
from jobledger.core.values.documents import Json, read_json
from jobledger.core.values.instants import EPOCH

GENESIS = bytes(32)
"""The link before the first event of a stream."""

_MICROSECOND = timedelta(microseconds=1)

_times = struct.Struct(">hqqi").pack
"""Schema version, occurred_at, recorded_at and the length of the actor."""

_encoder = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def _refuse(number: str) -> NoReturn:
    raise ValueError(number)


sorted_encoder = msgspec.json.Encoder(order="sorted")
"""Writes canonical JSON, but for some fractions and for NaN."""
_without_fractions = msgspec.json.Decoder(float_hook=_refuse)


def canonical(data: Json) -> bytes:
    """Return the one text of a payload that is hashed: sorted keys, no spaces, UTF-8.

    Whole-number floats must not occur (Postgres gives them back as integers): redaction removes
    them at the door.
    """
    # The quick encoder writes the same text ten times as fast, but for some fractions (1e-7, not
    # 1e-07) and for NaN, which it takes for null: where either may be, the other one writes.
    try:
        text = sorted_encoder.encode(data)
        if b"null" not in text:
            _without_fractions.decode(text)
            return text
    except (TypeError, ValueError, OverflowError):
        pass
    return _encoder.encode(data).encode()


def data_sha(data: Json) -> bytes:
    """Return the SHA-256 of the canonical payload."""
    return hashlib.sha256(canonical(data)).digest()


def is_hash_of(digest: bytes, payload: bytes) -> bool:
    """Return whether `digest` is that of a payload, given as its canonical text or as any other.

    Raises `ValueError` or `RecursionError` for a text that holds no document.
    """
    if hashlib.sha256(payload).digest() == digest:
        return True
    document = read_json(payload)
    try:  # mostly this is the canonical text, at a third of its cost
        written = sorted_encoder.encode(document)
    except OverflowError:
        written = b""
    return hashlib.sha256(written).digest() == digest or data_sha(document) == digest


def link(previous: bytes, record: EventRecord) -> bytes:
    """Return the link that belongs to `record` after `previous`.

    The record's own `chain` is not read.
    """
    kind, actor = record.type.encode(), record.actor.encode()
    envelope = (
        previous,
        record.stream_id.int.to_bytes(16),
        record.version.to_bytes(4, signed=True),
        record.event_id.int.to_bytes(16),
        len(kind).to_bytes(4),
        kind,
        _times(
            record.schema_version,
            (record.occurred_at - EPOCH) // _MICROSECOND,
            (record.recorded_at - EPOCH) // _MICROSECOND,
            len(actor),
        ),
        actor,
        record.epoch.to_bytes(8, signed=True),
        record.causation_id.int.to_bytes(16),
        record.correlation_id.int.to_bytes(16),
        record.data_sha,
    )
    return hashlib.sha256(b"".join(envelope)).digest()


def first_fault(previous: bytes, records: Iterable[EventRecord]) -> tuple[EventRecord, str] | None:
    """Return the first record that breaks the chain after `previous`, with the fault.

    None if there is none.
    """
    version: int | None = None
    for record in records:
        if version is not None and record.version != version + 1:
            return record, f"version {record.version} follows version {version}"
        if not is_hash_of(record.data_sha, record.payload):
            return record, "the payload does not have the recorded hash"
        expected = link(previous, record)
        if expected != record.chain:
            return record, "the link does not continue the chain"
        previous, version = expected, record.version
    return None
