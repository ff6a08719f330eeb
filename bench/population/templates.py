"""A played life as texts with slots: what COPY takes, ready to be stamped as another job."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import asdict, astuple

from bench.population.life import MARK, Life
from jobledger.adapters.postgres.reports.projecting.rows import as_columns
from jobledger.core.log.chain import canonical
from jobledger.core.projections.reporting.fold import rows_of

INLINE = ("job", "attempt", "decision", "effect")
"""Tables whose rows are those of the inline projections."""


SHARD_MARK = "@shard@"
"""Stands in rows where a stamped job has its shard."""


_TOKENS = re.compile(
    rf"{MARK}|{SHARD_MARK}"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00"
)


class Kind(Enum):
    """What a slot is filled with."""

    NUMBER = "the number of the job, six digits"
    STREAM = "the stream"
    ID = "another id"
    INSTANT = "an instant"
    SHARD = "the shard"


@dataclass(frozen=True, slots=True)
class Slotted:
    """A text: its parts, and which of them are slots of which token."""

    parts: tuple[str, ...]
    slots: tuple[tuple[int, int], ...]
    """(index among the parts, number of the token)."""

    def filled(self, tokens: Sequence[str]) -> str:
        """Return the text with its slots filled."""
        parts = list(self.parts)
        for index, token in self.slots:
            parts[index] = tokens[token]
        return "".join(parts)


@dataclass(slots=True)
class Tokens:
    """The distinct tokens of a life, in the order they were met."""

    stream: UUID
    numbers: dict[tuple[Kind, object], int] = field(default_factory=dict)

    def number(self, kind: Kind, value: object) -> int:
        """Return the number of a token."""
        return self.numbers.setdefault((kind, value), len(self.numbers))

    def of_text(self, text: str) -> int:
        """Return the number of what a text that is a token stands for."""
        if text == MARK:
            return self.number(Kind.NUMBER, None)
        if text == SHARD_MARK:
            return self.number(Kind.SHARD, None)
        if len(text) == 36 and text[8] == "-":
            return self.of_id(UUID(text))
        return self.number(Kind.INSTANT, datetime.fromisoformat(text))

    def of_id(self, value: UUID) -> int:
        """Return the number of an id."""
        if value == self.stream:
            return self.number(Kind.STREAM, None)
        return self.number(Kind.ID, value.int)

    def slotted(self, text: str) -> Slotted:
        """Return a text with a slot for each of its tokens."""
        parts: list[str] = []
        slots: list[tuple[int, int]] = []
        at = 0
        for found in _TOKENS.finditer(text):
            parts.append(text[at : found.start()])
            slots.append((len(parts), self.of_text(found.group())))
            parts.append("")
            at = found.end()
        parts.append(text[at:])
        return Slotted(tuple(parts), tuple(slots))


@dataclass(frozen=True, slots=True)
class EventTemplate:
    """An event: its payload, and the numbers of the tokens in its envelope."""

    payload: Slotted
    type: str
    event_id: int
    occurred_at: int
    recorded_at: int
    causation_id: int
    correlation_id: int


@dataclass(frozen=True, slots=True)
class Template:
    """A life that can be stamped."""

    born: datetime
    span_seconds: float
    """From its birth to its last event."""
    cluster: str
    uid: str
    events: tuple[EventTemplate, ...]
    rows: tuple[tuple[str, Slotted], ...]
    """Table and line of each row but those of `event`."""
    dimension: tuple[str, ...]
    dimension_id: int
    tokens: tuple[tuple[Kind, object], ...]


def template_of(life: Life) -> Template:
    """Return a life as a template."""
    tokens = Tokens(life.identity.stream_id)
    events = tuple(
        EventTemplate(
            payload=tokens.slotted(canonical(one.data).decode()),
            type=one.type,
            event_id=tokens.of_id(one.event_id),
            occurred_at=tokens.number(Kind.INSTANT, one.occurred_at),
            recorded_at=tokens.number(Kind.INSTANT, one.recorded_at),
            causation_id=tokens.of_id(one.causation_id),
            correlation_id=tokens.of_id(one.correlation_id),
        )
        for one in life.records
    )
    facts = rows_of(life.folded)
    rows = [(table, tokens.slotted(line)) for table, line in _inline(life)]
    dimension = 0
    for table, columns in as_columns(facts):
        dimension = columns["dimension_id"]
        rows.append((table, tokens.slotted(copy_line(columns.values()))))
    return Template(
        born=life.identity.created_at,
        span_seconds=(life.at - life.identity.created_at).total_seconds(),
        cluster=life.identity.cluster,
        uid=life.identity.uid,
        events=events,
        rows=tuple(rows),
        dimension=astuple(facts.dimension),
        dimension_id=dimension,
        tokens=tuple(tokens.numbers),
    )


def copy_line(values: Iterable[object]) -> str:
    """Return a row as COPY's text form has it."""
    return "\t".join(_cell(value) for value in values) + "\n"


def escaped(text: str) -> str:
    """Return a text as it stands in a cell of COPY."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def _cell(value: object) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, list):
        return escaped(msgspec.json.encode(value).decode())
    return escaped(str(value))


def _inline(life: Life) -> Iterable[tuple[str, str]]:
    """Yield the rows of the inline projections; the shard is a slot of its own."""
    rows = life.rows
    told: dict[str, Sequence[Any]] = {
        "job": (rows.job,),
        "attempt": rows.attempts,
        "decision": rows.decisions,
        "effect": rows.effects,
    }
    for table in INLINE:
        for row in told[table]:
            columns = asdict(row)
            if "shard" in columns:
                columns["shard"] = SHARD_MARK
            yield table, copy_line(columns.values())
