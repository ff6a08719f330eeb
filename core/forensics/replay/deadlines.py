"""Computes what other deadlines would have made of an attempt: its own first, then the job's.

A deadline that is as it was ends nothing that it did not end.
"""

import dataclasses
from datetime import timedelta

from jobledger.core.forensics.replay.changes import Change, Life, asked_of
from jobledger.core.forensics.replay.whole_deadline import (
    DEADLINE,
    PRE_RUNNING,
    WholeDeadline,
    ended_by_it,
)
from jobledger.core.jobs.history.attempt_facts import AttemptFacts, JobFacts
from jobledger.core.values.instants import Instant

_LATENESS = timedelta(seconds=30)
"""A deadline that was carried out this late is still the same deadline."""


def bounded(
    job: JobFacts,
    attempt: AttemptFacts,
    change: Change,
    life: Life,
    whole_and_due: tuple[WholeDeadline, Instant | None],
) -> tuple[AttemptFacts, str]:
    """Return the attempt under all other deadlines, its own first, and what is not known of it."""
    whole, due = whole_and_due
    ended, unknown = _by_its_own(job, attempt, change, life)
    if not unknown:
        ended, unknown = _by_all(job, ended, whole, due, life)
    whole.over(ended)
    return ended, unknown


def too_late(job: JobFacts, attempt: AttemptFacts, change: Change) -> bool:
    """Return whether another active deadline would have passed before the attempt began."""
    seconds, since = change.active_deadline_seconds, attempt.deadline_from
    if not seconds or since is None or seconds == asked_of(job, attempt).active_deadline_seconds:
        return False
    return _passes(since, attempt.started_at, seconds)


def _by_its_own(
    job: JobFacts, attempt: AttemptFacts, change: Change, life: Life
) -> tuple[AttemptFacts, str]:
    """Return the attempt under the other deadlines, and what is not known of it."""
    asked = asked_of(job, attempt)
    active, is_other = _other(change.active_deadline_seconds, asked.active_deadline_seconds)
    waiting, is_other_wait = None, False
    if job.has_rayclusters:
        was = asked.pre_running_deadline_seconds
        waiting, is_other_wait = _other(change.pre_running_deadline_seconds, was)
    ended_by = {DEADLINE: (active, asked.active_deadline_seconds, is_other)}
    ended_by[PRE_RUNNING] = (waiting, asked.pre_running_deadline_seconds, is_other_wait)
    now, before, changed = ended_by.get(attempt.reason, (0, 0, False))
    reached = attempt.running_at or attempt.ended_at or job.last_at
    ended, since = attempt.ended_at or job.last_at, attempt.deadline_from or attempt.started_at
    comes_first = waiting is not None and (active is None or waiting < active)
    ends_waiting = is_other_wait and comes_first
    if waiting is not None and ends_waiting and _passes(attempt.started_at, reached, waiting):
        return _cut(attempt, attempt.started_at, waiting, PRE_RUNNING, life), ""
    if is_other and active is not None and _passes(since, ended, active):
        return _cut(attempt, since, active, DEADLINE, life), ""
    is_longer = now is None or now > (before or 0)
    if attempt.outcome == "failed" and changed and is_longer and not ended_by_it(job, attempt):
        life.differs(f"attempt {attempt.number} would have gone on beyond its deadline")
        return attempt, f"how attempt {attempt.number} would have gone on"
    return attempt, ""


def _other(asked: int | None, was: int | None) -> tuple[int | None, bool]:
    """Return a deadline under the other policy, and whether it is another; None: there is none."""
    now = was if asked is None else asked or None
    return now, now != was


def _by_all(
    job: JobFacts, attempt: AttemptFacts, whole: WholeDeadline, due: Instant | None, life: Life
) -> tuple[AttemptFacts, str]:
    """Return the attempt under the other deadline of the whole job, and what is not known of it."""
    if ended_by_it(job, attempt) and (whole.is_longer or life.shift < timedelta()):
        life.differs(f"attempt {attempt.number} would have gone on beyond the job's deadline")
        return attempt, f"how attempt {attempt.number} would have gone on"
    ended = attempt.ended_at or job.last_at
    if due is None or ended is None or ended <= due:
        return attempt, ""
    seconds = int((due - attempt.started_at).total_seconds())
    return _cut(attempt, attempt.started_at, seconds, DEADLINE, life), ""


def _passes(since: Instant, until: Instant | None, seconds: int) -> bool:
    return until is not None and until > since + timedelta(seconds=seconds)


def _cut(
    attempt: AttemptFacts, since: Instant, seconds: int, reason: str, life: Life
) -> AttemptFacts:
    """Return the attempt ended by a deadline; if that is how it was ended, as it was."""
    at = since + timedelta(seconds=seconds)
    if attempt.reason == reason and attempt.ended_at and attempt.ended_at - at < _LATENESS:
        return attempt
    ran = int((at - attempt.started_at).total_seconds())
    life.differs(f"attempt {attempt.number} would have ended after {ran} s ({reason})")
    gone, until = attempt.cluster_until, attempt.ended_at
    if gone is not None and until is not None:
        gone = at + (gone - until) if gone > until else min(gone, at)
    elif gone is not None:
        gone = min(gone, at)
    return dataclasses.replace(
        attempt, ended_at=at, outcome="failed", reason=reason, cluster_until=gone
    )
