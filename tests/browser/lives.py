"""Jobs to be looked at: one that goes on while somebody looks, a long one, hostile ones."""

from collections.abc import Sequence

from jobledger.core.catalogue import read_event
from jobledger.core.log.envelope import EventRecord
from jobledger.core.ports.event_store import StreamAppend
from jobledger.core.projections.view import View, advance
from jobledger.core.values.instants import Instant
from tests.support import rayjob_stories as stories
from tests.support.pages import Pages
from tests.support.recorded import Story, append_lives, job_called, recorded

HOSTILE = "\"><img src=x onerror=alert(1)>'{{7*7}}<script>alert(2)</script>\u202e"
"""A name that no API server takes, and a ledger could hold all the same."""
HOSTILE_LOG = (
    "\x1b[31mred \x1b[1mfat\x1b[0m <script>alert(3)</script> </span><img src=x onerror=alert(4)>\n"
    "\x1b]0;title\x07 \x1b[2J\x1b[H \x1b]8;;javascript:alert(5)\x07link\x1b]8;;\x07 \u202eesrever\n"
    "needle in line three\n"
)


def running(pages: Pages) -> None:
    """Add a job that failed twice of four times, and one that runs."""
    lives: dict[str, Story] = {
        "works": stories.succeeded,
        "fails": lambda: (*stories.working(), *stories.failing()),
        "twice": lambda: stories.failed_attempts(2, backoff_limit=3),
        "waits": lambda: (*stories.working(backoff_limit=3), *stories.failing()),
    }
    append_lives(pages.ledger, lives.items())


def records_of(name: str, story: Story) -> list[EventRecord]:
    """Return what would be recorded of a story."""
    with job_called(name):
        return recorded(story())


def append_part(pages: Pages, records: Sequence[EventRecord], first: int, last: int) -> None:
    """Append the events of a job from the version after `first` to `last`."""
    _, rows = advance(View(), (read_event(one) for one in records[:last]))
    part = StreamAppend(
        stream_id=records[0].stream_id,
        expected_version=first,
        events=tuple(records[first:last]),
        rows=rows,
    )
    pages.ledger.store.append([part])


def keep_log(pages: Pages, content: str, at: Instant) -> str:
    """Keep a log; return its digest."""
    return pages.evidence.put(content.encode(), at)
