"""Reports do not depend on where a batch ends: tables carried on by pieces equal the whole fold."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple

from bench.population.habits import pick_user, pick_workload
from bench.population.life import Life
from bench.population.rayjobs import STOPS, RayJobLife
from bench.population.trainjobs import TrainJobLife
from jobledger.core.catalogue import read_event
from jobledger.core.log.envelope import EventRecord
from jobledger.core.projections.reporting.fold import Folded, Rows, Rules, fold, key_of, rows_of
from jobledger.core.values.ids import StreamId

BORN = datetime(2026, 11, 2, 9, tzinfo=UTC)
RULES = Rules()
KEYS = {"report_job": 0, "report_decision": 1, "report_activity": 1}
"""How many of a fact's first columns are its key within the job; 1 where nothing is said."""

Tables = dict[tuple[object, ...], tuple[object, ...]]


@cache
def log() -> tuple[EventRecord, ...]:
    """Return the events of five jobs of both kinds, as a controller would mix them."""
    dice = Random(7)
    lives: list[Life] = []
    for number in range(5):
        work, user = pick_workload(dice), pick_user(dice)
        kind = RayJobLife if work.kind == "RayJob" else TrainJobLife
        life = kind(work, user, BORN, dice, f"{number:06d}")
        life.play(STOPS[number % 3] if number >= 3 else "")
        lives.append(life)
    records = [one for life in lives for one in life.records]
    return tuple(sorted(records, key=lambda one: one.recorded_at))


def put(tables: Tables, rows: Rows) -> None:
    """Put rows in place of their predecessors."""
    for table, facts in rows.facts.items():
        for fact in facts:
            said = astuple(fact)
            key = said[: KEYS.get(table, 1)]
            tables[table, rows.stream_id, *key] = (key_of(rows), *said)


def carried_on(batches: Sequence[Sequence[EventRecord]], *, forgets: bool) -> Tables:
    """Return the tables after batches; one that `forgets` folds every job anew each time."""
    tables: Tables = {}
    held: dict[StreamId, tuple[Folded, Rows]] = {}
    seen: dict[StreamId, list[EventRecord]] = {}
    for batch in batches:
        news: dict[StreamId, list[EventRecord]] = {}
        for one in batch:
            news.setdefault(one.stream_id, []).append(one)
        for stream, records in news.items():
            whole = seen.setdefault(stream, [])
            whole += records
            before = None if forgets else held.get(stream)
            folded = before[0] if before is not None else Folded()
            for one in records if before is not None else whole:
                folded = fold(folded, one, read_event(one), RULES)
            rows = rows_of(folded)
            put(tables, rows.changed_since(before[1] if before is not None else None))
            held[stream] = (folded, rows)
    return tables


def cut(records: Sequence[EventRecord], sizes: Sequence[int]) -> Iterator[Sequence[EventRecord]]:
    """Yield the records in batches of these sizes, again and again."""
    at, turn = 0, 0
    while at < len(records):
        size = sizes[turn % len(sizes)]
        yield records[at : at + size]
        at, turn = at + size, turn + 1


@settings(max_examples=20)
@given(sizes=st.lists(st.integers(3, 60), min_size=1, max_size=4), forgets=st.booleans())
def test_batches_of_any_size_give_the_same_rows(sizes: list[int], *, forgets: bool) -> None:
    whole = carried_on([log()], forgets=False)
    assert carried_on(list(cut(log(), sizes)), forgets=forgets) == whole
