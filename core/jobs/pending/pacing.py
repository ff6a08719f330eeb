"""When a failed piece of work may be tried again: after a longer pause each time.

There is one rule for every kind of job. What was refused waits before it is tried again. What was
done and is called for again at once may be done again a few times; then it waits as well, and so
does what was decided on a specification that is not there, until it comes. Counted is by what is
wanted and not by the effect's id, and from the events alone, so a restart begins nothing anew; an
edit of the specification does, as what is wanted then was never done.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta

from jobledger.core.jobs.pending.decisions import DecisionKind, DesiredDecision
from jobledger.core.jobs.pending.effects import (
    DesiredEffect,
    EffectKey,
    RefusedEffect,
    RepeatedEffect,
)
from jobledger.core.jobs.retries.backoff import EFFECT_RETRY_MAX, doubled
from jobledger.core.values.instants import Instant

PAUSE_MIN = timedelta(seconds=1)
"""The shortest first pause, whatever the setting says."""

AT_ONCE_MAX = 3
"""How often the same may be done within `A_SHORT_WHILE` and be asked for again at once."""

A_SHORT_WHILE = 2 * EFFECT_RETRY_MAX
"""What was done longer ago than this is not counted: longer than the longest pause."""

REMEMBERED_MAX = 8
"""Of so many pieces of work it is remembered how often they were done; more are never wanted."""


def done_once_more(
    repeated: tuple[RepeatedEffect, ...], key: EffectKey, at: Instant, *, unsent: bool = False
) -> tuple[RepeatedEffect, ...]:
    """Return what is remembered after a piece of work was done, or (`unsent`) dropped.

    What was not sent waits from the first time on: nothing but time and the specification that
    comes with it can change what the next try would find.
    """
    kind, name = key
    times, others = 1, list[RepeatedEffect]()
    for item in repeated:
        if item.kind is not kind or item.name != name:
            others.append(item)
        elif at - item.ended_at <= A_SHORT_WHILE:
            times = item.times + 1
    waiting = unsent or times > AT_ONCE_MAX
    entry = RepeatedEffect(kind=kind, name=name, times=times, ended_at=at, waiting=waiting)
    return (*others[1 - REMEMBERED_MAX :], entry)


def is_any_waiting(refused: Iterable[RefusedEffect], repeated: Iterable[RepeatedEffect]) -> bool:
    """Return whether a piece of work is not to be asked for yet. It is asked at every turn."""
    for item in refused:
        if item.waiting:
            return True
    for done in repeated:  # noqa: SIM110 a generator would cost more than what it looks through
        if done.waiting:
            return True
    return False


def waiting_keys(
    refused: Iterable[RefusedEffect], repeated: Iterable[RepeatedEffect]
) -> frozenset[EffectKey]:
    """Return the pieces of work that are not to be asked for yet."""
    return frozenset(
        {item.key for item in refused if item.waiting}
        | {item.key for item in repeated if item.waiting}
    )


def asked_for_now(
    called_for: tuple[DesiredEffect, ...],
    refused: Iterable[RefusedEffect],
    repeated: Iterable[RepeatedEffect],
) -> tuple[DesiredEffect, ...]:
    """Return what of the effects that a state calls for does not have to wait."""
    if not is_any_waiting(refused, repeated):
        return called_for
    waiting = waiting_keys(refused, repeated)
    return tuple(effect for effect in called_for if effect.key not in waiting)


def wanted_tries(
    refused: Iterable[RefusedEffect],
    repeated: Iterable[RepeatedEffect],
    called_for: Collection[EffectKey],
    first_seconds: int,
) -> Iterator[DesiredDecision]:
    """Yield when what waits is tried again, as long as it is `called_for`."""
    first = max(timedelta(seconds=first_seconds), PAUSE_MIN)
    held = set()
    for item in refused:
        if item.waiting and item.key in called_for:
            held.add(item.key)
            yield DesiredDecision(
                kind=DecisionKind.EFFECT_RETRY,
                due_at=item.refused_at + doubled(first, item.times - 1, EFFECT_RETRY_MAX),
                cause=f"{item.kind} was refused: {item.trouble}",
                subject=subject_of(item.key),
            )
    for done in repeated:
        if done.waiting and done.key in called_for and done.key not in held:
            rounds = max(done.times - AT_ONCE_MAX, 1)
            yield DesiredDecision(
                kind=DecisionKind.EFFECT_RETRY,
                due_at=done.ended_at + doubled(first, rounds - 1, EFFECT_RETRY_MAX),
                cause=f"{done.kind} did not last: it is called for again after {done.times} of it",
                subject=subject_of(done.key),
            )


def subject_of(key: EffectKey) -> str:
    """Return the subject of the decision to try a piece of work again."""
    kind, name = key
    return f"{kind}/{name}"
