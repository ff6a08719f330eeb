"""Reporting facts of what attempts held: CPUs, memory and accelerators, over time."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.history.holdings import Holding, holding_after, holding_of
from jobledger.core.jobs.history.report_news import ClusterNews
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.kinds import JobState, holding_seen, kind_of
from jobledger.core.projections.reporting.facts import (
    AttemptFact,
    PhaseFact,
    ResourceUse,
    seconds_between,
)
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant

WAITING, RUNNING, IDLE = "waiting", "running", "idle"


class Level(NamedTuple):
    """What an attempt held from an instant on."""

    attempt: int
    since: Instant
    holding: Holding


class Held(Struct, frozen=True):
    """What is known of what a job asks for and its attempts hold."""

    asked: Holding = ()
    """By the manifest."""
    built: Holding = ()
    """By the objects that were applied for it; empty where they say nothing."""
    levels: tuple[Level, ...] = ()
    """Of all attempts, in their order, and in that of time."""


class Span(NamedTuple):
    """From when to when an attempt held what it held; it ran from `running`, ended at `ended`."""

    since: Instant | None
    running: Instant | None
    ended: Instant | None
    until: Instant | None
    paused: Sequence[PhaseFact] = ()
    """Stays in which it held nothing, in their order."""

    def parts(self, begin: Instant, end: Instant) -> Iterator[tuple[Instant, Instant]]:
        """Yield the parts of a piece of time in which it was not paused."""
        for stay in self.paused:
            if stay.entered_at >= end:
                break
            if stay.left_at is not None and stay.left_at <= begin:
                continue
            yield begin, max(begin, stay.entered_at)
            begin = end if stay.left_at is None else min(end, stay.left_at)
        yield begin, end


def asked_for(before: Held, state: JobState, document: Manifest) -> Held:
    """Return what is known once a manifest has come."""
    return replace(before, asked=holding_of(kind_of(state).log.pods(document)))


def held_after(
    before: Held,
    state: JobState,
    event: JobEvent,
    news: ClusterNews | None,
    attempts: tuple[AttemptFact, ...],
) -> Held:
    """Return what is known after an event, by attempts that have taken it in.

    `news` is what the event says of a cluster.
    """
    held = _built(before, state, event)
    if not attempts:
        return held
    last = attempts[-1]
    levels = held.levels
    known = levels[-1].attempt if levels else 0
    if known != last.number and not last.cluster_shared:
        levels = (*levels, Level(last.number, last.started_at, _first(held, attempts)))
    elif known == last.number and held.built != before.built and last.ended_at is None:
        levels = (*levels, Level(known, event.at, held.built))
    if news is not None:
        levels = _seen(levels, event, news, attempts)
    return held if levels is held.levels else replace(held, levels=levels)


def by_attempt(held: Held) -> Mapping[int, Sequence[Level]]:
    """Return what each attempt held, in the order of time."""
    return {number: tuple(own) for number, own in groupby(held.levels, attrgetter("attempt"))}


def uses(levels: Sequence[Level], span: Span) -> tuple[ResourceUse, ...]:
    """Return what an attempt held by its levels: for each thing the amount times the seconds."""
    own = [one for one in levels if one.holding]
    if not own or span.since is None or span.until is None:
        return ()
    later = (min(max(one.since, span.since), span.until) for one in own[1:])
    begins = [span.since, *later, span.until]
    pieces = list(zip(pairwise(begins), own, strict=True))
    last = own[-1].holding
    stage = IDLE if span.ended is not None else WAITING if span.running is None else RUNNING
    things = dict.fromkeys((one.resource, one.accelerator) for each in own for one in each.holding)
    found = []
    for thing in sorted(things):
        sums = dict.fromkeys((WAITING, RUNNING, IDLE), 0.0)
        for (begin, end), level in pieces:
            amount = _amount(level.holding, thing)
            for part in span.parts(begin, end):
                for name, seconds in _stages(span, *part):
                    sums[name] += amount * seconds
        found.append(
            ResourceUse(
                resource=thing[0],
                accelerator=thing[1],
                amount=_amount(last, thing),
                waiting_seconds=sums[WAITING],
                running_seconds=sums[RUNNING],
                idle_seconds=sums[IDLE],
                stage=stage,
            )
        )
    return tuple(found)


def _first(held: Held, attempts: tuple[AttemptFact, ...]) -> Holding:
    """Return what the last attempt holds from its start on: what is on the cluster it was given."""
    *earlier, last = attempts
    if earlier and last.cluster_name and earlier[-1].cluster_name == last.cluster_name:
        kept = [one.holding for one in held.levels if one.attempt == earlier[-1].number]
        if kept:
            return kept[-1]
    return held.built or held.asked


def _stages(span: Span, begin: Instant, end: Instant) -> Iterator[tuple[str, float]]:
    """Yield how many seconds of a piece of time the attempt waited, ran and was over."""
    over = span.ended if span.ended is not None else span.until
    assert over is not None, "the span has an end"
    ran = min(span.running, over) if span.running is not None else over
    yield WAITING, seconds_between(begin, min(end, ran))
    yield RUNNING, seconds_between(max(begin, ran), min(end, over))
    yield IDLE, seconds_between(max(begin, over), end)


def _amount(holding: Holding, thing: tuple[str, str]) -> float:
    return next((one.amount for one in holding if one[:2] == thing), 0.0)


def _built(before: Held, state: JobState, event: JobEvent) -> Held:
    if isinstance(event, shared.EffectSucceeded) and event.kind is EffectKind.APPLY_OBJECTS:
        built = holding_of(kind_of(state).log.built_pods(event.sent))
        return replace(before, built=built or before.built)
    return before


def _seen(
    levels: tuple[Level, ...],
    event: JobEvent,
    news: ClusterNews,
    attempts: tuple[AttemptFact, ...],
) -> tuple[Level, ...]:
    """Return the levels after a cluster was seen, whose Pods may be more or fewer by now."""
    seen = holding_seen(event)
    if seen is None:
        return levels
    whose = next((one for one in reversed(attempts) if one.cluster_name == news.name), None)
    if whose is None or whose.cluster_shared or not levels or levels[-1].attempt != whose.number:
        return levels
    now = holding_after(levels[-1].holding, seen)
    if now == levels[-1].holding:
        return levels
    return (*levels, Level(whose.number, max(event.at, levels[-1].since), now))
