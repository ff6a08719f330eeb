"""A row of a table: a rule in a sentence, a story, and where it leads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from jobledger.core.batchjob.events import BatchJobEvent, BatchRetryGranted
from tests.support.batchjobs import Played, Step, play
from tests.support.records import NOON
from tests.support.rows import WHEN, resolved


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A rule: the last step of a story brings exactly these events. What is None is not asked."""

    rule: str
    story: Sequence[Step]
    then: Sequence[BatchJobEvent]
    """All events that the last step brings, with every field."""
    phase: str | None = None
    conditions: Sequence[str] | None = None
    """As `Type=Status/Reason`, in the order shown."""
    under_way: Sequence[str] | None = None
    """Open effects."""
    pending: Mapping[str, float] | None = None
    """Pending decisions: kind -> seconds after noon."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Fields of the state."""


def table(*rows: Row) -> pytest.MarkDecorator:
    """Return the parametrisation of a test by rows, named by their rules."""
    assert len({row.rule for row in rows}) == len(rows), "two rows state the same rule"
    return pytest.mark.parametrize("row", rows, ids=[row.rule for row in rows])


def check(row: Row) -> Played:
    """Hold a row against the decider: equality of all events, and the laws."""
    before = play(row.story[:-1]).state
    last = row.story[-1]
    seen = last(before) if callable(last) else last
    played = play(row.story)
    state = played.state
    expected = [resolved(one, before, seen.id, seen.at) for one in row.then]
    at_once = [
        replace(one, due_at=seen.at)
        if isinstance(one, BatchRetryGranted) and one.due_at is WHEN
        else one
        for one in expected
    ]
    assert list(played.news) == at_once
    if row.phase is not None:
        assert state.phase == row.phase
    if row.conditions is not None:
        assert played.conditions == list(row.conditions)
    if row.under_way is not None:
        assert [effect.desired.kind.value for effect in state.effects] == list(row.under_way)
    if row.pending is not None:
        found = {item.kind.value: (item.due_at - NOON).total_seconds() for item in state.decisions}
        assert found == dict(row.pending)
    assert {name: getattr(state, name) for name in row.facts} == dict(row.facts)
    return played
