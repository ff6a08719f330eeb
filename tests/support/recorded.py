"""Stories as they would be recorded: each turn with its own cause, hashed and linked."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from jobledger.core.catalogue import read_event
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord, StoredEvent
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.ports.event_store import StreamAppend
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.turns import record_turn
from jobledger.core.values.ids import stream_id
from tests.support import rayjob_builders
from tests.support.ledgers import Ledger
from tests.support.records import NOON
from tests.support.rows import Played, Step

Story = Callable[[], Iterable[Step]]
"""Builds a story: called when it is known whose story it is."""


@contextmanager
def job_called(name: str, age_days: int = 0, run: str = "") -> Iterator[None]:
    """Let the builders of observations speak of a job of this name; `run` is part of its UID."""
    uid, created_at = f"uid-of-{name}{run}", NOON - timedelta(days=age_days)
    stream = stream_id("kind", uid, created_at)
    identity = replace(
        rayjob_builders.IDENTITY, name=name, uid=uid, stream_id=stream, created_at=created_at
    )
    words: dict[str, Any] = {"JOB": name, "UID": uid, "STREAM": stream, "IDENTITY": identity}
    with patch.multiple(rayjob_builders, **words):
        yield


def recorded(story: Iterable[Step], latency_seconds: float = 0.02) -> list[EventRecord]:
    """Return the records of a story of observations of the job that is spoken of."""
    played = Played(RAYJOB, RAYJOB.initial)
    tail = Tail(stream_id=rayjob_builders.IDENTITY.stream_id, version=0, chain=GENESIS)
    records: list[EventRecord] = []
    for step in story:
        seen = played.observed(step)
        played.take(step)
        now = seen.at + timedelta(seconds=latency_seconds)
        made, tail = record_turn(
            tail, Writer(actor="jobledger-0", epoch=1, now=now), seen, played.decided
        )
        records += made
    return records


def stored(records: Iterable[EventRecord], after: int = 0) -> tuple[StoredEvent, ...]:
    """Return records as the events of a log in which `after` others stand before."""
    return tuple(StoredEvent(position=after + item.version, record=item) for item in records)


def dossier_of(story: Iterable[Step]) -> Dossier:
    """Return the dossier of a job that lived a story."""
    return Dossier(events=stored(recorded(story)), evidence=reader_of({}), origin="a test")


def append_lives(ledger: Ledger, lives: Iterable[tuple[str, Story]]) -> None:
    """Put jobs with these names and stories into a ledger whose shards are held under epoch 1."""
    for name, story in lives:
        with job_called(name):
            records = recorded(story())
        append_records(ledger, records)


def append_records(ledger: Ledger, records: Sequence[EventRecord]) -> None:
    """Put the whole stream of a job into a ledger whose shards are held under epoch 1."""
    _, rows = advance(View(), (read_event(item) for item in records))
    part = StreamAppend(
        stream_id=records[0].stream_id,
        expected_version=0,
        events=tuple(records),
        rows=rows,
    )
    ledger.store.append([part])
