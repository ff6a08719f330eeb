"""Reporting facts of attempts: waiting times, RayCluster lifetime, cost.

Start, end and outcome are those of the inline projection; here is what it does not carry.
"""

from collections.abc import Sequence
from operator import attrgetter

from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.history.report_news import ClusterNews, FailureJudged, FailureNews, Found
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.rows import LOST, AttemptRow
from jobledger.core.kinds import JobState, kind_of, shows_step
from jobledger.core.projections.reporting.facts import (
    AttemptFact,
    PhaseFact,
    seconds_between,
    with_last,
)
from jobledger.core.projections.reporting.found import may_have_run
from jobledger.core.projections.reporting.held import Held, Level, Span, by_attempt, uses
from jobledger.core.projections.reporting.phases import time_in
from jobledger.core.values.instants import Instant

QUEUED = frozenset({"Suspending", "Suspended"})
"""States in which a job waits to be admitted, or was paused."""

SUCCEEDED = "succeeded"

CARRIED = ("running_at", "ended_at", "outcome", "reason", "retried")
"""What the inline row says of an attempt, and its fact as well."""
_carried = attrgetter(*CARRIED)


def with_row(
    attempts: tuple[AttemptFact, ...],
    row: AttemptRow | None,
    state: JobState,
    stays: tuple[PhaseFact, ...],
    first_seen_at: Instant,
    found: Found,
) -> tuple[AttemptFact, ...]:
    """Return the attempts after the inline row of the current one came to be, or changed."""
    if row is None:
        return attempts
    if not attempts or attempts[-1].number != row.number:
        begun = _begun(attempts, row, state, stays, first_seen_at, found)
        attempts = (*_followed(attempts), begun)
        if kind_of(state).log.attempt_cluster(state).kept:
            attempts = _handed_on(attempts, begun)
    last = attempts[-1]
    # The grant has an event of its own, unless it was there when the job was found.
    at_once = not kind_of(state).log.grants_retries or row.number == found.attempt
    granted_at = row.ended_at if at_once and row.retried else last.granted_at
    carried = _carried(row)
    if carried == _carried(last) and granted_at == last.granted_at:
        return attempts
    said = dict(zip(CARRIED, carried, strict=True))
    return *attempts[:-1], replace(last, **said, granted_at=granted_at)


def _followed(attempts: tuple[AttemptFact, ...]) -> tuple[AttemptFact, ...]:
    """Return the attempts when another begins: in place of a lost one it was granted at once."""
    last = attempts[-1] if attempts else None
    if last is None or last.outcome != LOST:
        return attempts
    return (*attempts[:-1], replace(last, retried=True, granted_at=last.ended_at))


def _handed_on(attempts: tuple[AttemptFact, ...], begun: AttemptFact) -> tuple[AttemptFact, ...]:
    """Return the attempts where the last one has the RayCluster of the one before from its start.

    So it is counted once: until then as held by the one, from then on by the other.
    """
    *earlier, last = attempts
    since = begun.started_at
    given = [
        replace(one, cluster_gone_at=one.cluster_gone_at or since)
        if one.cluster_name == begun.cluster_name
        else one
        for one in earlier
    ]
    return (*given, replace(last, cluster_created_at=since, cluster_ready_at=since))


def with_event(
    attempts: tuple[AttemptFact, ...],
    event: JobEvent,
    failure: FailureNews | None,
    cluster: ClusterNews | None,
) -> tuple[AttemptFact, ...]:
    """Return the attempts after an event, and what it says of a failure and of a RayCluster."""
    if isinstance(failure, FailureJudged):
        granted = {"counted": failure.counted, "granted_at": event.at} if failure.retried else {}
        return _changed(attempts, failure.attempt, failure_class=failure.failure.value, **granted)
    if shows_step(event):
        return _at_step(attempts, event.at)
    news = _by_effect(event) if cluster is None else cluster
    return attempts if news is None else _with_cluster(attempts, news, event.at)


def _with_cluster(
    attempts: tuple[AttemptFact, ...], news: ClusterNews, at: Instant
) -> tuple[AttemptFact, ...]:
    known = next((one for one in reversed(attempts) if one.cluster_name == news.name), None)
    if not news.name or known is None or known.cluster_shared:
        return attempts if known is None or not news.ready else _ready(attempts, known, at)
    if news.gone:
        return _changed(attempts, known.number, cluster_gone_at=known.cluster_gone_at or at)
    if news.ready:
        attempts = _ready(attempts, known, at)
    if news.created:
        first = known.cluster_created_at or at
        return _changed(attempts, known.number, cluster_created_at=first)
    return attempts


def _at_step(attempts: tuple[AttemptFact, ...], at: Instant) -> tuple[AttemptFact, ...]:
    """Return the attempts where the one that goes on has made its first step at the latest then."""
    if not attempts or attempts[-1].ended_at is not None or attempts[-1].first_step_at is not None:
        return attempts
    return (*attempts[:-1], replace(attempts[-1], first_step_at=at))


def priced(
    attempts: tuple[AttemptFact, ...],
    until: Instant,
    found: Found,
    held: Held,
    paused: Sequence[PhaseFact],
) -> tuple[AttemptFact, ...]:
    """Return the attempts with what they held up to an instant; equal ones stay the same object.

    `paused` are the stays of the job in which they held nothing.
    """
    levels = by_attempt(held)
    return tuple(
        _priced(one, _held(one, until, found), found, (levels.get(one.number, ()), paused))
        for one in attempts
    )


def _priced(
    one: AttemptFact,
    span: tuple[Instant | None, Instant | None],
    found: Found,
    known: tuple[Sequence[Level], Sequence[PhaseFact]],
) -> AttemptFact:
    since, last = span
    levels, paused = known
    running = one.running_at
    if one.number == found.attempt and found.may_have_run:
        running = since  # how long it had waited before, nobody saw
    held = Span(since, running, one.ended_at, last, paused)
    cost = 0.0
    if since is not None and last is not None:
        cost = sum(seconds_between(*part) for part in held.parts(since, last))
    used = uses(levels, held) if cost else ()
    if one.cluster_seconds == cost and one.resources == used:
        return one
    return replace(one, cluster_seconds=cost, resources=used)


def _ready(
    attempts: tuple[AttemptFact, ...], known: AttemptFact, at: Instant
) -> tuple[AttemptFact, ...]:
    return _changed(attempts, known.number, cluster_ready_at=known.cluster_ready_at or at)


def _by_effect(event: JobEvent) -> ClusterNews | None:
    """Return what the outcome of an effect says of a RayCluster; None if nothing."""
    if not isinstance(event, shared.EffectSucceeded):
        return None
    if event.kind is EffectKind.CREATE_CLUSTER:
        return ClusterNews(name=event.name, created=True)
    if event.kind is EffectKind.DELETE_CLUSTER and event.gone:
        return ClusterNews(name=event.name, gone=True)
    return None


def _held(one: AttemptFact, until: Instant, found: Found) -> tuple[Instant | None, Instant | None]:
    """Return from when to when it held its cluster, or its Pods; equal or None: never."""
    if one.number == found.attempt and not one.cluster_shared:
        return _held_of_found(one, until)
    if one.cluster_name and not one.cluster_shared:
        return one.cluster_created_at, one.cluster_gone_at or until
    since: Instant | None = one.started_at
    if one.cluster_shared and one.number != found.attempt:
        # What it selected may never come to be; then nothing was held.
        there = [at for at in (one.cluster_ready_at, one.running_at) if at is not None]
        since = min(there, default=None)
    return since, one.ended_at or until


def _held_of_found(one: AttemptFact, until: Instant) -> tuple[Instant | None, Instant | None]:
    """Its RayCluster was there from its start on; one that nobody saw, to its end at the most."""
    if one.outcome == "suspended" and not one.cluster_name:
        return None, None  # how long it went on is not known
    seen = one.cluster_created_at is not None
    return one.started_at, one.cluster_gone_at or (until if seen else one.ended_at or until)


def _changed(
    attempts: tuple[AttemptFact, ...], number: int, **fields: object
) -> tuple[AttemptFact, ...]:
    return with_last(attempts, lambda one: one.number == number, fields)


def _begun(
    attempts: tuple[AttemptFact, ...],
    row: AttemptRow,
    state: JobState,
    stays: tuple[PhaseFact, ...],
    first_seen_at: Instant,
    found: Found,
) -> AttemptFact:
    identity = state.identity
    assert identity is not None, "a stream begins with who the job is"
    since = identity.created_at
    before = attempts[-1].number if attempts else 0
    if row.number != before + 1:
        since = row.started_at  # of those between nothing is known
    elif attempts and (attempts[0].number > 1 or any(may_have_run(one, found) for one in attempts)):
        since = min(attempts[-1].ended_at or row.started_at, row.started_at)
    seen = seconds_between(identity.created_at, first_seen_at)
    return AttemptFact(
        number=row.number,
        cluster_name=row.ray_cluster_name,
        cluster_shared=kind_of(state).log.attempt_cluster(state).shared,
        generation=row.generation,
        started_at=row.started_at,
        cluster_created_at=None,
        cluster_ready_at=None,
        running_at=None,
        ended_at=None,
        cluster_gone_at=None,
        outcome="",
        reason="",
        failure_class="",
        cause="",
        retried=False,
        counted=True,
        granted_at=None,
        waiting_since=since,
        seen_seconds=seen if row.number == 1 else None,
        queue_seconds=time_in(stays, QUEUED, since, row.started_at),
        cluster_seconds=0.0,
    )
