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

from jobledger.core.log.envelope import EventRecord
from jobledger.core.values.documents import Json
from jobledger.core.values.instants import EPOCH, Instant

GENESIS = bytes(32)
"""The link before the first event of a stream."""

_MICROSECOND = timedelta(microseconds=1)

_encoder = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical(data: Json) -> bytes:
    """Return the one text of a payload that is hashed: sorted keys, no spaces, UTF-8.

    Whole-number floats must not occur (Postgres gives them back as integers): redaction removes
    them at the door.
    """
    return _encoder.encode(data).encode()


def data_sha(data: Json) -> bytes:
    """Return the SHA-256 of the canonical payload."""
    return hashlib.sha256(canonical(data)).digest()


def _microseconds(instant: Instant) -> int:
    return (instant - EPOCH) // _MICROSECOND


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">i", len(encoded)) + encoded


def link(previous: bytes, record: EventRecord) -> bytes:
    """Return the link that belongs to `record` after `previous`.

    The record's own `chain` is not read.
    """
    envelope = b"".join(
        (
            previous,
            record.stream_id.bytes,
            struct.pack(">i", record.version),
            record.event_id.bytes,
            _text(record.type),
            struct.pack(
                ">hqq",
                record.schema_version,
                _microseconds(record.occurred_at),
                _microseconds(record.recorded_at),
            ),
            _text(record.actor),
            struct.pack(">q", record.epoch),
            record.causation_id.bytes,
            record.correlation_id.bytes,
            record.data_sha,
        )
    )
    return hashlib.sha256(envelope).digest()


def first_fault(previous: bytes, records: Iterable[EventRecord]) -> tuple[EventRecord, str] | None:
    """Return the first record that breaks the chain after `previous`, with the fault.

    None if there is none.
    """
    version: int | None = None
    for record in records:
        if version is not None and record.version != version + 1:
            return record, f"version {record.version} follows version {version}"
        if data_sha(record.data) != record.data_sha:
            return record, "the payload does not have the recorded hash"
        expected = link(previous, record)
        if expected != record.chain:
            return record, "the link does not continue the chain"
        previous, version = expected, record.version
    return None
