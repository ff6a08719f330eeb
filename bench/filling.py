"""Many stories into a ledger, quickly: each as one part, hundreds of events to a call."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from sqlalchemy import Engine

from bench.story import Ledgered, Played, Story
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.core.ports.event_store import AppendOutcome, StreamAppend

PARTS = 20
"""Stories per call."""


def append_all(
    engine: Engine,
    stories: Iterable[tuple[Story, list[Played]]],
    told: Callable[[int], None] = lambda _: None,
) -> int:
    """Append what was played of each story; return how many events that were.

    `told` is told from call to call how many there are so far.
    """
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    count = 0
    for parts in _batches(stories):
        results = store.append(parts)
        assert all(item.outcome is AppendOutcome.APPENDED for item in results), "all are new"
        count += sum(len(part.events) for part in parts)
        told(count)
    return count


def whole_part(story: Story, played: list[Played]) -> StreamAppend:
    """Return a story as one part."""
    part = Ledgered(story.stream, 1).part(played, datetime.now(UTC))
    assert part is not None, "a story brings events"
    return part


def _batches(stories: Iterable[tuple[Story, list[Played]]]) -> Iterator[list[StreamAppend]]:
    parts: list[StreamAppend] = []
    for story, played in stories:
        parts.append(whole_part(story, played))
        if len(parts) == PARTS:
            yield parts
            parts = []
    if parts:
        yield parts
