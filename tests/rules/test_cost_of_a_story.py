"""What the rules do for a story, counted in calls: a change that makes it dearer shows.

Calls and not time: the count is the same on every machine. Functions of the project are counted,
not comprehensions, which newer versions of Python do not call.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import FrameType

import pytest

from bench.manifests import rayjob
from bench.story import Ledgered, Played, Story
from jobledger.core.catalogue import read_event
from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.projections.reporting.fold import Folded, Rules, rows_of
from jobledger.core.projections.reporting.fold import fold as fold_report
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.turns import record_turn

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
STORY = Story("train", NOW - timedelta(hours=1), rayjob("train"))
PLAYED = list(STORY.whole())
"""One failed attempt, one that succeeds, shutdown, deletion."""

STORED = [
    record
    for part in (Ledgered(STORY.stream, 1).part(PLAYED, NOW),)
    if part is not None
    for record in part.events
]

CALLS = {"decide": 3084, "record": 972, "rows": 918, "fold": 854, "reports": 2643}
"""What each took when this was last looked at. Lower one that became cheaper; raise one only for
something that is worth it."""

DEARER = 1.1


class _Count:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and "jobledger" in code.co_filename and code.co_name[0] != "<":
            self.calls += 1


@contextmanager
def counting() -> Iterator[_Count]:
    before, count = sys.getprofile(), _Count()
    sys.setprofile(count)
    try:
        yield count
    finally:
        sys.setprofile(before)


def decide(played: list[Played]) -> None:
    state = RAYJOB.initial
    for item in played:
        state = RAYJOB.decide(state, item.observation).state


def record(played: list[Played]) -> None:
    tail = Tail(stream_id=STORY.stream, version=0, chain=GENESIS)
    writer = Writer(actor="test/1", epoch=1, now=NOW)
    for item in played:
        _, tail = record_turn(tail, writer, item.observation, item.decided)


def rows(played: list[Played]) -> None:
    view = View()
    for item in played:
        if item.events:
            view, _ = advance(view, item.events)


def fold(_: list[Played]) -> None:
    advance(View(), (read_event(item) for item in STORED))


def reports(_: list[Played]) -> None:
    rules, folded = Rules(causes=ExplainedCauses()), Folded()
    for item in STORED:
        folded = fold_report(folded, item, read_event(item), rules)
    rows_of(folded)


@pytest.mark.parametrize(
    "what", [decide, record, rows, fold, reports], ids=lambda what: what.__name__
)
def test_a_story_takes_no_more_calls_than_before(what: Callable[[list[Played]], None]) -> None:
    what(PLAYED)  # what is found out once per class is found out
    with counting() as count:
        what(PLAYED)
    calls, known = count.calls, CALLS[what.__name__]
    assert calls <= known * DEARER, f"{what.__name__} takes {calls} calls, it took {known}"
    assert calls * DEARER >= known, f"{what.__name__} is cheaper: write {calls} into CALLS"
