"""Templates stamped as jobs: another number, other ids, another hour; the chain hashed anew."""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from bench.population.life import ACTOR, MARK
from bench.population.templates import Kind, Template, escaped
from jobledger.core.log.chain import GENESIS
from jobledger.core.values.ids import shard_of, stream_id
from jobledger.core.values.instants import EPOCH

_MICROSECOND = timedelta(microseconds=1)
_KEPT_BITS = ~((0xF << 76) | (0x3 << 62)) & ((1 << 128) - 1)
"""Bits of a UUID that are not its version and variant."""

_ACTOR = struct.pack(">i", len(ACTOR)) + ACTOR.encode()
_EPOCH_1 = struct.pack(">q", 1)


class Birth(NamedTuple):
    """A job that is to be stamped."""

    number: int
    template: int
    hours: int
    """After the template's own birth."""


@dataclass(slots=True)
class Stamped:
    """The lines of COPY of some jobs, by table."""

    lines: dict[str, list[str]]
    events: int = 0
    last_recorded_at: str = ""


class _Value(NamedTuple):
    text: str
    packed: bytes


def stamp(templates: Sequence[Template], births: Sequence[Birth], first: int) -> Stamped:
    """Return the lines of jobs whose first event has the position `first`."""
    done = Stamped(lines={"event": [], "stream": []})
    position = first
    for birth in births:
        template = templates[birth.template]
        tokens = _tokens(template, birth)
        texts = [value.text for value in tokens]
        for table, line in template.rows:
            done.lines.setdefault(table, []).append(line.filled(texts))
        position = _events(done, template, tokens, texts, position)
        done.events += len(template.events)
    return done


def _events(
    done: Stamped, template: Template, tokens: list[_Value], texts: list[str], position: int
) -> int:
    stream = tokens[_stream_token(template)]
    chain = GENESIS
    lines = done.lines["event"]
    for version, one in enumerate(template.events, start=1):
        payload = one.payload.filled(texts)
        sha = hashlib.sha256(payload.encode()).digest()
        kind = one.type.encode()
        envelope = b"".join(
            (
                chain,
                stream.packed,
                struct.pack(">i", version),
                tokens[one.event_id].packed,
                struct.pack(">i", len(kind)),
                kind,
                b"\x00\x01",
                tokens[one.occurred_at].packed,
                tokens[one.recorded_at].packed,
                _ACTOR,
                _EPOCH_1,
                tokens[one.causation_id].packed,
                tokens[one.correlation_id].packed,
                sha,
            )
        )
        chain = hashlib.sha256(envelope).digest()
        lines.append(
            f"{position}\t{stream.text}\t{version}\t{texts[one.event_id]}\t{one.type}\t1\t"
            f"{texts[one.occurred_at]}\t{texts[one.recorded_at]}\t{ACTOR}\t1\t"
            f"{texts[one.causation_id]}\t{texts[one.correlation_id]}\t{escaped(payload)}\t"
            f"\\\\x{sha.hex()}\t\\\\x{chain.hex()}\n"
        )
        position += 1
    shard = shard_of(UUID(bytes=stream.packed))  # type: ignore[arg-type] # a stream's id
    done.lines["stream"].append(
        f"{stream.text}\t{len(template.events)}\t\\\\x{chain.hex()}\t{shard}\n"
    )
    done.last_recorded_at = texts[template.events[-1].recorded_at]
    return position


def _stream_token(template: Template) -> int:
    return template.tokens.index((Kind.STREAM, None))


def _tokens(template: Template, birth: Birth) -> list[_Value]:
    """Return what every slot of a template is filled with."""
    number = f"{birth.number:06d}"
    later = timedelta(hours=birth.hours)
    uid = template.uid.replace(MARK, number)
    stream = stream_id(template.cluster, uid, template.born + later)
    seed = hashlib.sha256(f"{birth.number}".encode()).digest()[:16]
    mask = int.from_bytes(seed) & _KEPT_BITS
    return [_value(kind, value, number, later, stream, mask) for kind, value in template.tokens]


def _value(
    kind: Kind, value: object, number: str, later: timedelta, stream: UUID, mask: int
) -> _Value:
    if kind is Kind.INSTANT:
        assert isinstance(value, datetime)
        moved = value + later
        return _Value(moved.isoformat(), struct.pack(">q", (moved - EPOCH) // _MICROSECOND))
    if kind is Kind.ID:
        assert isinstance(value, int)
        made = UUID(int=value ^ mask)
        return _Value(str(made), made.bytes)
    if kind is Kind.STREAM:
        return _Value(str(stream), stream.bytes)
    if kind is Kind.SHARD:
        return _Value(str(shard_of(stream)), b"")  # type: ignore[arg-type] # a stream's id
    return _Value(number, b"")


def shares(births: Sequence[Birth], size: int) -> Iterator[Sequence[Birth]]:
    """Yield the jobs in shares."""
    for at in range(0, len(births), size):
        yield births[at : at + size]
