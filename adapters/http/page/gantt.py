"""Lays the attempts of a job out in time: bars, marks and ticks, in percent of the whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from jobledger.core.jobs.history.attempt_facts import AttemptFacts, JobFacts
from jobledger.core.jobs.pending.decisions import DECISION_WORDS
from jobledger.core.jobs.rows import DecisionRow, JobRow
from jobledger.core.values.durations import span
from jobledger.core.values.instants import Instant, later

LANE = 30
"""Height of the lane of an attempt, in pixels."""
TICKS = 6
MARGIN = 0.02
"""Part of the whole that is left free behind the last instant."""
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
"""Seconds that may lie between two ticks; after these, whole days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A part of an attempt's life."""

    what: str
    """waiting, pause, starting, running or ending."""
    x: float
    width: float
    goes_on: bool
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One attempt."""

    number: int
    outcome: str
    cause: str
    y: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A decision: when it is due, or was resolved."""

    what: str
    x: float
    told: str
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A place of the axis."""

    x: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gantt:
    """The whole chart."""

    begin: Instant
    end: Instant
    """What the right edge is."""
    now: float | None
    """Where the present is, of a job that goes on."""
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    height: int

    @property
    def seconds(self) -> float:
        """Return how much time it shows."""
        return (self.end - self.begin).total_seconds()


@dataclass(frozen=True, slots=True)
class _Scale:
    begin: Instant
    end: Instant

    def x(self, at: Instant) -> float:
        """Return where an instant is, in percent."""
        whole = (self.end - self.begin).total_seconds()
        part = (at - self.begin).total_seconds() / whole
        return round(100 * min(max(part, 0.0), 1.0), 3)

    def bar(self, what: str, begin: Instant, end: Instant | None, now: Instant) -> Bar:
        last = end or max(now, begin)
        told = f"{what} {span((last - begin).total_seconds())}"
        x = self.x(begin)
        width = max(round(self.x(last) - x, 3), 0.05)
        goes_on = end is None
        shown = f"{told} so far" if goes_on else told
        return Bar(what=what, x=x, width=width, goes_on=goes_on, told=shown)


def gantt(row: JobRow, facts: JobFacts, decisions: Sequence[DecisionRow], now: Instant) -> Gantt:
    """Return the chart of a job as it stands."""
    seen = [row.created_at, row.last_event_at, *_instants(facts)]
    seen += [one.due_at for one in decisions if one.state == "pending"]
    if row.open:
        seen.append(now)
    begin, last = min(seen), max(seen)
    whole = max((last - begin).total_seconds(), 1.0) * (1 + MARGIN)
    scale = _Scale(begin, later(begin, timedelta(seconds=whole)))
    lanes = tuple(_lanes(row, facts, scale, now))
    marks = tuple(_marks(decisions, scale, len(lanes)))
    return Gantt(
        begin=begin,
        end=scale.end,
        now=scale.x(now) if row.open else None,
        lanes=lanes,
        marks=marks,
        ticks=tuple(_ticks(whole)),
        height=LANE * max(len(lanes), 1),
    )


def _instants(facts: JobFacts) -> Iterator[Instant]:
    for one in facts.attempts:
        gone = one.cluster_until if one.cluster_is_gone else None
        yield from (at for at in (one.started_at, one.running_at, one.ended_at, gone) if at)


def _lanes(row: JobRow, facts: JobFacts, scale: _Scale, now: Instant) -> Iterator[Lane]:
    before: Instant | None = row.created_at
    for place, one in enumerate(facts.attempts):
        yield Lane(
            number=one.number,
            outcome=one.outcome,
            cause=one.cause or one.reason,
            y=place * LANE,
            bars=tuple(_bars(one, before, scale, now)),
        )
        before = one.ended_at
    if not facts.attempts and row.open:
        waits = scale.bar("waiting", row.created_at, None, now)
        yield Lane(number=0, outcome="", cause="", y=0, bars=(waits,))


def _bars(one: AttemptFacts, before: Instant | None, scale: _Scale, now: Instant) -> Iterator[Bar]:
    if before is not None and before < one.started_at:
        yield scale.bar("waiting" if one.number <= 1 else "pause", before, one.started_at, now)
    ran = one.running_at
    yield scale.bar("starting", one.started_at, ran or one.ended_at, now)
    if ran is not None:
        yield scale.bar("running", ran, one.ended_at, now)
    ended, gone = one.ended_at, one.cluster_until
    if ended is not None and one.cluster_is_gone and gone is not None and gone > ended:
        yield scale.bar("ending", ended, gone, now)


def _marks(decisions: Sequence[DecisionRow], scale: _Scale, lanes: int) -> Iterator[Mark]:
    for one in decisions:
        at = one.due_at if one.state == "pending" else one.resolved_at or one.due_at
        place = min(max(one.attempt - 1, 0), max(lanes - 1, 0))
        state = "due" if one.state == "pending" else one.state
        told = f"{DECISION_WORDS[one.kind]} {state}: {one.cause}"
        yield Mark(what=one.state, x=scale.x(at), told=told, y=place * LANE)


def _ticks(whole: float) -> Iterator[Tick]:
    days = 86_400 * max(1, round(whole / TICKS / 86_400))
    step = next((one for one in STEPS if whole / one <= TICKS), days)
    for number in range(int(whole // step) + 1):
        yield Tick(x=round(100 * number * step / whole, 3), label=_offset(number * step))


def _offset(seconds: int) -> str:
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            whole, rest = divmod(seconds, unit)
            return f"{whole} {name}" if not rest else f"{seconds / unit:.1f} {name}"
    return f"{seconds} s"
