"""Computes what another policy would have done with the same observations. Changes nothing.

What was observed is kept: an attempt that ran would have run the same, only later or not at all.
Where another policy needs an attempt that never ran, or a longer look at one that was ended, its
outcome is unknown, and is said to be; an estimate is made only on demand, from what other jobs'
attempts did, and is never added to what is known.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from msgspec.structs import replace

from jobledger.core.forensics.attempts import ENDED_WELL, cluster_hours
from jobledger.core.forensics.replay.same_cluster import NewCluster, SameCluster
from jobledger.core.forensics.replay.whole_deadline import (
    DEADLINE,
    PRE_RUNNING,
    WholeDeadline,
    ended_by_it,
)
from jobledger.core.jobs.history.attempt_facts import AttemptFacts, JobFacts
from jobledger.core.jobs.retries.options import Growth, RetryOptions, RetryRule
from jobledger.core.jobs.retries.retry import Blame, delay, judge
from jobledger.core.values.instants import Instant

UNKNOWN = "unknown"

ASSUMPTIONS = (
    "An attempt that was observed would have run the same, whenever it had begun.",
    "An attempt that another policy needs and that never ran has an unknown outcome.",
    "A deadline ends an attempt at its instant; what it had done until then is lost.",
    "A cluster that another policy ends earlier takes as long to go as the observed one did.",
    "The cluster of an attempt that would have been the last goes as it went for the retry.",
    "Hours are those in which a job's own RayCluster (JobSet) was known to be there.",
    "A cluster counts whatever its size; one not seen to go, until the last event of its job.",
    "A RayCluster that stays for a retry is still well when the next attempt begins.",
    "An attempt on it runs as it ran on its own, but need not wait for one.",
    "A retry policy would have known the cause that all that was seen speaks for.",
    "Users, quotas, nodes and other jobs behave as they did.",
)
"""What every answer rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is different about the other policy; None: as it was."""

    backoff_limit: int | None = None
    delay_seconds: int | None = None
    delay_max_seconds: int | None = None
    growth: Growth | None = None
    rules: tuple[RetryRule, ...] | None = None
    """The retry policy by cause or group; asked of `with_causes`."""
    uncounted_max: int | None = None
    active_deadline_seconds: int | None = None
    """0: no deadline."""
    pre_running_deadline_seconds: int | None = None
    """0: no deadline."""
    job_deadline_seconds: int | None = None
    """Over all attempts; 0: no deadline."""
    ttl_seconds: int | None = None
    """Shut down so long after the end; -1: never."""
    same_cluster: bool = False
    """Retry on the same RayCluster where that can be; asked of `judged_facts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What would have become of one job."""

    was: str
    """Outcome and reason as observed."""
    would_be: str
    """Outcome and reason under the other policy, or that it is unknown."""
    attempts_were: int
    attempts: int
    """Attempts that would have begun as far as is known."""
    hours_were: float
    hours: float
    """Cluster-hours as far as is known; what comes after an unknown outcome is not in it."""
    later_seconds: float
    """By how much later (earlier, if negative) the last attempt that is known would have begun."""
    why: str
    """The first place where the other policy decides otherwise; empty if it never does."""
    unknown: str = ""
    """What would have to be known to say more; empty if nothing is missing."""
    clusters_saved: int = 0
    """RayClusters that would not have been made, as a retry would have run on the one before."""
    waiting_saved_seconds: float = 0.0
    """How long attempts waited for those RayClusters, as far as those were ready."""
    new_clusters: tuple[NewCluster, ...] = ()
    """Retries for which a new one would have been made all the same."""

    @property
    def is_different(self) -> bool:
        """Return whether anything would have been otherwise."""
        return bool(self.why) or abs(self.hours - self.hours_were) > _HOURS_EQUAL


_HOURS_EQUAL = 1e-6


@dataclass(slots=True)
class _Life:
    """A job's life under the other policy, as far as it has been followed."""

    failed: int = 0
    uncounted: int = 0
    failures: int = 0
    shift: timedelta = timedelta()
    why: str = ""

    def differs(self, why: str) -> None:
        """Take note of the first difference."""
        self.why = self.why or why


def ask(job: JobFacts, change: Change) -> Answer:
    """Return what the other policy would have made of a job."""
    life, run = _Life(), list[AttemptFacts]()
    was = _words(job.outcome, job.reason)
    would_be, unknown = "", ""
    whole = WholeDeadline(job, change.job_deadline_seconds)
    clusters = SameCluster(asked=change.same_cluster)
    for index, observed in enumerate(job.attempts):
        attempt, begun_unknown = _begun(observed, clusters, life)
        due = whole.due(attempt, life.shift)
        if due is not None and due <= attempt.started_at:
            would_be = _words("Failed", DEADLINE)
            life.differs(f"the job's deadline would have passed before attempt {attempt.number}")
            break
        ended, end_unknown = _bounded_with_all(job, attempt, change, life, (whole, due))
        run.append(ended)
        if begun_unknown or end_unknown:
            would_be, unknown = UNKNOWN, begun_unknown or end_unknown
            break
        if ended.outcome != "failed":
            if ended.outcome in ENDED_WELL:
                would_be = _words("Complete", ended.reason)
                break
            continue
        follows = index + 1 < len(job.attempts)
        granted = (
            _judged(job, ended, change, life)
            if job.retries_itself
            else follows and ended.reason != DEADLINE  # its JobSet restarted it, or did not
        )
        if not granted:
            would_be = _words("Failed", ended.reason)
            if follows:
                life.differs(f"attempt {ended.number} would have been the last ({ended.reason})")
            break
        if not follows and job.outcome and not whole.ended_the_pause():
            would_be = UNKNOWN
            unknown = f"attempt {ended.number + 1} never ran"
            life.differs(f"attempt {ended.number} would have been retried ({ended.reason})")
            break
        if follows:
            run[-1] = clusters.retried(observed, ended, job.attempts[index + 1])
    run = _shut_down(job, run, change, life)
    return dataclasses.replace(
        _answer(job, run, life, would_be or was, unknown),
        clusters_saved=clusters.saved,
        waiting_saved_seconds=clusters.waited.total_seconds(),
        new_clusters=tuple(clusters.new),
    )


def _begun(observed: AttemptFacts, clusters: SameCluster, life: _Life) -> tuple[AttemptFacts, str]:
    """Return an attempt as it would have begun, and what is not known of it then."""
    saved = clusters.saved
    attempt, earlier, unknown = clusters.begun(observed)
    if clusters.saved > saved:
        life.shift -= earlier
        life.differs(f"attempt {attempt.number} would have run on the RayCluster of the one before")
    return attempt, unknown


def _answer(
    job: JobFacts, run: Sequence[AttemptFacts], life: _Life, would_be: str, unknown: str
) -> Answer:
    added = 1 if unknown.endswith("never ran") else 0
    return Answer(
        was=_words(job.outcome, job.reason),
        would_be=would_be,
        attempts_were=len(job.attempts),
        attempts=len(run) + added,
        hours_were=cluster_hours(job.attempts),
        hours=cluster_hours(run),
        later_seconds=life.shift.total_seconds(),
        why=life.why,
        unknown=unknown,
    )


def _words(outcome: str, reason: str) -> str:
    shown = outcome or "going on"
    return f"{shown} ({reason})" if reason else shown


def _deadline(asked: int | None, was: int | None) -> int | None:
    if asked is None:
        return was
    return asked or None


def _bounded(
    job: JobFacts, attempt: AttemptFacts, change: Change, life: _Life
) -> tuple[AttemptFacts, str]:
    """Return the attempt under the other deadlines, and what is not known of it."""
    active = _deadline(change.active_deadline_seconds, job.active_deadline_seconds)
    waiting = _deadline(change.pre_running_deadline_seconds, job.pre_running_deadline_seconds)
    ended_by = {DEADLINE: (active, job.active_deadline_seconds)}
    ended_by[PRE_RUNNING] = (waiting, job.pre_running_deadline_seconds)
    now, was = ended_by.get(attempt.reason, (0, 0))
    if ended_by_it(job, attempt):
        now, was = 0, 0  # that is another matter
    if attempt.outcome == "failed" and (now is None or now > (was or 0)):
        life.differs(f"attempt {attempt.number} would have gone on beyond its deadline")
        return attempt, f"how attempt {attempt.number} would have gone on"
    reached = attempt.running_at or attempt.ended_at or job.last_at
    ended = attempt.ended_at or job.last_at
    comes_first = waiting is not None and (active is None or waiting < active)
    if waiting is not None and comes_first and _passes(attempt.started_at, reached, waiting):
        return _cut(attempt, waiting, PRE_RUNNING, life), ""
    if active is not None and _passes(attempt.started_at, ended, active):
        return _cut(attempt, active, DEADLINE, life), ""
    return attempt, ""


def _bounded_with_all(
    job: JobFacts,
    attempt: AttemptFacts,
    change: Change,
    life: _Life,
    whole_and_due: tuple[WholeDeadline, Instant | None],
) -> tuple[AttemptFacts, str]:
    """Return the attempt under all other deadlines, its own first, and what is not known of it."""
    whole, due = whole_and_due
    bounded, unknown = _bounded(job, attempt, change, life)
    if not unknown:
        bounded, unknown = _bounded_by_all(job, bounded, whole, due, life)
    whole.over(bounded)
    return bounded, unknown


def _bounded_by_all(
    job: JobFacts, attempt: AttemptFacts, whole: WholeDeadline, due: Instant | None, life: _Life
) -> tuple[AttemptFacts, str]:
    """Return the attempt under the other deadline of the whole job, and what is not known of it."""
    if ended_by_it(job, attempt) and (whole.is_longer or life.shift < timedelta()):
        life.differs(f"attempt {attempt.number} would have gone on beyond the job's deadline")
        return attempt, f"how attempt {attempt.number} would have gone on"
    ended = attempt.ended_at or job.last_at
    if due is None or ended is None or ended <= due:
        return attempt, ""
    seconds = int((due - attempt.started_at).total_seconds())
    return _cut(attempt, seconds, DEADLINE, life), ""


def _passes(since: Instant, until: Instant | None, seconds: int) -> bool:
    return until is not None and until > since + timedelta(seconds=seconds)


def _cut(attempt: AttemptFacts, seconds: int, reason: str, life: _Life) -> AttemptFacts:
    """Return the attempt ended by a deadline; if that is how it was ended, as it was."""
    if attempt.reason == reason:
        at = attempt.started_at + timedelta(seconds=seconds)
        if attempt.ended_at is not None and attempt.ended_at - at < _LATENESS:
            return attempt
    at = attempt.started_at + timedelta(seconds=seconds)
    life.differs(f"attempt {attempt.number} would have ended after {seconds} s ({reason})")
    gone, until = attempt.cluster_until, attempt.ended_at
    if gone is not None and until is not None:
        gone = at + (gone - until) if gone > until else min(gone, at)
    elif gone is not None:
        gone = min(gone, at)
    return dataclasses.replace(
        attempt, ended_at=at, outcome="failed", reason=reason, cluster_until=gone
    )


_LATENESS = timedelta(seconds=30)
"""A deadline that was carried out this late is still the same deadline."""


def _judged(job: JobFacts, attempt: AttemptFacts, change: Change, life: _Life) -> bool:
    """Return whether another attempt would follow; the time until then shifts all that follows."""
    life.failures += 1
    limit = job.backoff_limit if change.backoff_limit is None else change.backoff_limit
    verdict = judge(
        attempt.reason,
        life.failed + 1,
        limit,
        blame=Blame(attempt.failure, attempt.exit_code, attempt.cause),
        uncounted=life.uncounted,
        options=_options(job, change),
    )
    life.failed, life.uncounted = verdict.failed, verdict.uncounted
    was = delay(job.policy, life.failures, job.options)
    now = delay(job.policy, life.failures, _options(job, change))
    if verdict.granted and was != now:
        life.shift += now - was
        seconds = now.total_seconds()
        life.differs(f"attempt {attempt.number + 1} would have been due after {seconds:.0f} s")
    return verdict.granted


def _options(job: JobFacts, change: Change) -> RetryOptions:
    """Return what the job asks for about its retries, with the change."""
    was = job.options
    return replace(
        was,
        rules=was.rules if change.rules is None else change.rules,
        uncounted_max=was.uncounted_max if change.uncounted_max is None else change.uncounted_max,
        delay_seconds=was.delay_seconds if change.delay_seconds is None else change.delay_seconds,
        delay_max_seconds=(
            was.delay_max_seconds if change.delay_max_seconds is None else change.delay_max_seconds
        ),
        growth=was.growth if change.growth is None else change.growth,
    )


def _shut_down(
    job: JobFacts, run: list[AttemptFacts], change: Change, life: _Life
) -> list[AttemptFacts]:
    """Return the attempts with the last one's cluster gone as the other TTL says."""
    if change.ttl_seconds is None or not run or not job.retries_itself:
        return run
    last = run[-1]
    if last.cluster_until is None or last.ended_at is None or job.outcome in ("", "Deleted"):
        return run
    if change.ttl_seconds < 0:
        if job.ttl_seconds is not None and last.cluster_is_gone:
            life.differs("its cluster would have stayed after the end")
            until = max(job.last_at or last.cluster_until, last.cluster_until)
            return [*run[:-1], dataclasses.replace(last, cluster_until=until)]
        return run
    going = timedelta()
    if job.ttl_seconds is not None and last.cluster_is_gone:
        due_at = last.ended_at + timedelta(seconds=job.ttl_seconds)
        going = max(last.cluster_until - due_at, timedelta())
    until = last.ended_at + timedelta(seconds=change.ttl_seconds) + going
    if job.ttl_seconds is None and until > last.cluster_until:
        return run
    if until != last.cluster_until:
        life.differs(f"its cluster would have gone {change.ttl_seconds} s after the end")
    return [*run[:-1], dataclasses.replace(last, cluster_until=until)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """All answers together."""

    jobs: int
    different: int
    unknown: int
    attempts_saved: int
    attempts_added: int
    hours_saved: float
    hours_added: float
    """As far as is known: an attempt that never ran has no hours here."""
    clusters_saved: int
    waiting_saved_seconds: float
    new_clusters: int
    """Retries for which a new RayCluster would have been made all the same."""


def totals(answers: Sequence[Answer]) -> Totals:
    """Return the sum of many answers."""
    attempts = [answer.attempts - answer.attempts_were for answer in answers]
    hours = [answer.hours - answer.hours_were for answer in answers]
    return Totals(
        jobs=len(answers),
        different=sum(answer.is_different for answer in answers),
        unknown=sum(answer.unknown != "" for answer in answers),
        attempts_saved=-sum(item for item in attempts if item < 0),
        attempts_added=sum(item for item in attempts if item > 0),
        hours_saved=-sum(item for item in hours if item < 0),
        hours_added=sum(item for item in hours if item > 0),
        clusters_saved=sum(answer.clusters_saved for answer in answers),
        waiting_saved_seconds=sum(answer.waiting_saved_seconds for answer in answers),
        new_clusters=sum(len(answer.new_clusters) for answer in answers),
    )
