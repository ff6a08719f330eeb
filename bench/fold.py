"""What deciding and folding the retry story costs, in one thread and without any I/O."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.figures import Report
from bench.manifests import rayjob
from bench.story import Ledgered, Played, Story
from jobledger.core.catalogue import NAMES, read_event
from jobledger.core.forensics.replay.replay import replay
from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.projections.reporting.fold import Folded, Rules
from jobledger.core.projections.reporting.fold import fold as fold_report
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.turns import record_turn

REPEATS = 200
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def measure(report: Report) -> None:
    """Measure one RayJob's whole story, again and again."""
    played = list(Story("train", NOW - timedelta(hours=1), rayjob("train")).whole())
    events = [event for item in played for event in item.events]
    report.setting("story", "one failed attempt, one that succeeds, shutdown, deletion")
    report.setting("repeats", REPEATS)
    report.figure("observations per story", len(played), "")
    report.figure("events per story", len(events), "")
    frequent = Counter(NAMES[type(event)] for event in events).most_common(4)
    report.remark("most frequent: " + ", ".join(f"{name} {count}" for name, count in frequent))
    records = _records(played)
    report.say("deciding, folding, projecting, recording")
    states = _states(played)
    report.figure(
        "decide", _each(lambda: _decide(states, played), len(played)), "µs per observation"
    )
    report.figure("evolve", _each(lambda: _evolve(events), len(events)), "µs per event")
    report.figure("project (rows)", _each(lambda: _project(played), len(events)), "µs per event")
    report.figure(
        "record (ids, hashes)", _each(lambda: _record(played), len(events)), "µs per event"
    )
    report.figure(
        "fold a stored stream", _each(lambda: _fold(records), len(events)), "µs per event"
    )
    report.figure("decode a payload", _each(lambda: _decode(records), len(events)), "µs per event")
    report.figure(
        "fold into reports", _each(lambda: _reports(records), len(events)), "µs per event"
    )
    report.figure(
        "decide again (replay)", _each(lambda: replay(records), len(events)), "µs per event"
    )


def _each(work: Callable[[], object], items: int) -> float:
    """Return the microseconds of CPU per item, the best of five rounds."""
    best = float("inf")
    for _ in range(5):
        began = time.thread_time()
        for _ in range(REPEATS // 5):
            work()
        best = min(best, time.thread_time() - began)
    return best / (REPEATS // 5) / items * 1e6


def _states(played: list[Played]) -> list[RayJobState]:
    """Return the state before each observation."""
    states, state = [], RAYJOB.initial
    for item in played:
        states.append(state)
        for event in item.events:
            state = RAYJOB.evolve(state, event)
    return states


def _decide(states: list[RayJobState], played: list[Played]) -> None:
    for state, item in zip(states, played, strict=True):
        RAYJOB.decide(state, item.observation)


def _evolve(events: list[RayJobEvent]) -> None:
    state = RAYJOB.initial
    for event in events:
        state = RAYJOB.evolve(state, event)


def _project(played: list[Played]) -> None:
    view = View()
    for item in played:
        if item.events:
            view, _ = advance(view, item.events)


def _record(played: list[Played]) -> None:
    tail = Tail(stream_id=_STREAM, version=0, chain=GENESIS)
    writer = Writer(actor="bench/1", epoch=1, now=NOW)
    for item in played:
        _, tail = record_turn(tail, writer, item.observation, item.decided)


def _records(played: list[Played]) -> list[EventRecord]:
    part = Ledgered(_STREAM, 1).part(played, NOW)
    assert part is not None, "a story brings events"
    return list(part.events)


def _decode(records: list[EventRecord]) -> None:
    for item in records:
        read_event(item)


def _fold(records: list[EventRecord]) -> None:
    advance(View(), (read_event(item) for item in records))


def _reports(records: list[EventRecord]) -> None:
    rules, folded = Rules(causes=ExplainedCauses()), Folded()
    for item in records:
        folded = fold_report(folded, item, read_event(item), rules)


_STREAM = Story("train", NOW - timedelta(hours=1), {}).stream
