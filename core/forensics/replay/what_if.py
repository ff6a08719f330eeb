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
from typing import TypeAlias

from msgspec.structs import replace

from jobledger.core.forensics.attempts import ENDED_WELL, cluster_hours
from jobledger.core.forensics.replay.changes import Change, Life, asked_of
from jobledger.core.forensics.replay.deadlines import bounded, too_late
from jobledger.core.forensics.replay.same_cluster import NewCluster, SameCluster
from jobledger.core.forensics.replay.whole_deadline import DEADLINE, WholeDeadline
from jobledger.core.jobs.history.attempt_facts import Asked, AttemptFacts, JobFacts
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.jobs.retries.retry import Blame, Verdict, delay, judge
from jobledger.core.values.instants import Instant

UNKNOWN = "unknown"

ASSUMPTIONS = (
    "An attempt that was observed would have run the same, whenever it had begun.",
    "An attempt that another policy needs and that never ran has an unknown outcome.",
    "A deadline ends an attempt at its instant; what it had done until then is lost.",
    "A cluster that another policy ends earlier takes as long to go as the observed one did.",
    "The cluster of an attempt that would have been the last goes as it went for the retry.",
    "Hours are those in which a job's own RayCluster (JobSet) was known to be there.",
    "Of a Job they are those of its attempts.",
    "A cluster counts whatever its size; one not seen to go, until the last event of its job.",
    "A RayCluster that stays for a retry is still well when the next attempt begins.",
    "An attempt on it runs as it ran on its own, but need not wait for one.",
    "A retry policy would have known the cause that all that was seen speaks for.",
    "Users, quotas, nodes and other jobs behave as they did.",
)
"""What every answer rests on."""


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


Ending: TypeAlias = tuple[str, str]
"""What would have become of the job, and what is not known of it."""


def ask(job: JobFacts, change: Change) -> Answer:
    """Return what the other policy would have made of a job."""
    life, run = Life(), list[AttemptFacts]()
    whole = WholeDeadline(job, change.job_deadline_seconds)
    clusters = SameCluster(asked=change.same_cluster)
    ending: Ending | None = None
    for index, observed in enumerate(job.attempts):
        attempt, unknown = _begun(observed, clusters, life)
        due = whole.due(attempt, life.shift)
        if too_late(job, attempt, change) or (due is not None and due <= attempt.started_at):
            ending = _words("Failed", DEADLINE), ""
            life.differs(f"the job's deadline would have passed before attempt {attempt.number}")
            break
        ended, end_unknown = bounded(job, attempt, change, life, (whole, due))
        run.append(ended)
        if unknown or end_unknown:
            ending = UNKNOWN, unknown or end_unknown
            break
        follows = index + 1 < len(job.attempts)
        ending = _followed(job, (observed, ended), change, life, is_last=not follows)
        if ending is not None:
            break
        if not follows and whole.would_not_have_ended_the_pause():
            ending = _never_ran(ended, life)
        elif follows and ended.outcome == "failed":
            run[-1] = clusters.retried(observed, ended, job.attempts[index + 1])
    run = _shut_down(job, run, change, life)
    would_be, unknown = ending or (_words(job.outcome, job.reason), "")
    return dataclasses.replace(
        _answer(job, run, life, would_be, unknown),
        clusters_saved=clusters.saved,
        waiting_saved_seconds=clusters.waited.total_seconds(),
        new_clusters=tuple(clusters.new),
    )


def _followed(
    job: JobFacts,
    was_and_now: tuple[AttemptFacts, AttemptFacts],
    change: Change,
    life: Life,
    *,
    is_last: bool,
) -> Ending | None:
    """Return the end of the job with this attempt, None if it goes on as far as is known.

    `is_last` says whether no other attempt was observed.
    """
    observed, ended = was_and_now
    as_it_was = _words(job.outcome, job.reason), ""
    if ended.outcome in ENDED_WELL:
        return _words("Complete", ended.reason), ""
    if ended.outcome != "failed":
        return as_it_was if is_last else None
    was_granted = observed.retried is True or not is_last
    granted = was_granted and ended.reason != DEADLINE  # its JobSet restarted it, or did not
    if job.retries_itself:
        granted = _judged(job, observed, ended, change, life, was_granted=was_granted)
    if not granted and was_granted:
        life.differs(f"attempt {ended.number} would have been the last ({ended.reason})")
    if not granted:
        unchanged = not was_granted and ended == observed
        return as_it_was if unchanged else (_words("Failed", ended.reason), "")
    if was_granted or not job.outcome:
        return None
    return _never_ran(ended, life)


def _never_ran(ended: AttemptFacts, life: Life) -> Ending:
    """Return what becomes of a job that would have been retried after its last attempt."""
    life.differs(f"attempt {ended.number} would have been retried ({ended.reason})")
    return UNKNOWN, f"attempt {ended.number + 1} never ran"


def _begun(observed: AttemptFacts, clusters: SameCluster, life: Life) -> tuple[AttemptFacts, str]:
    """Return an attempt as it would have begun, and what is not known of it then."""
    saved = clusters.saved
    attempt, earlier, unknown = clusters.begun(observed)
    if clusters.saved > saved:
        life.shift -= earlier
        life.differs(f"attempt {attempt.number} would have run on the RayCluster of the one before")
    return attempt, unknown


def _answer(
    job: JobFacts, run: Sequence[AttemptFacts], life: Life, would_be: str, unknown: str
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


def _judged(
    job: JobFacts,
    observed: AttemptFacts,
    ended: AttemptFacts,
    change: Change,
    life: Life,
    *,
    was_granted: bool,
) -> bool:
    """Return whether another attempt would follow; the time until then shifts all that follows.

    Where the rule says the same with the change as without, it is as it was.
    """
    asked = asked_of(job, observed)
    options = _options(job, asked, change)
    limit = asked.backoff_limit if change.backoff_limit is None else change.backoff_limit
    before = life.observed if observed.retried is None else observed.failed_before
    life.failed += max(before - life.observed, 0)  # of those nothing else is known
    was = _verdict(observed, before, asked.backoff_limit, life.observed_uncounted, asked.options)
    now = _verdict(ended, life.failed, limit, life.uncounted, options)
    life.observed, life.observed_uncounted = was.failed, was.uncounted
    life.failed, life.uncounted = now.failed, now.uncounted
    failed_then = observed.outcome == "failed"
    granted = was_granted if failed_then and was.granted == now.granted else now.granted
    paused = delay(asked.policy, was.failed + was.uncounted, asked.options)
    pause = delay(asked.policy, now.failed + now.uncounted, options)
    if granted and paused != pause:
        life.shift += pause - paused
        seconds = pause.total_seconds()
        life.differs(f"attempt {ended.number + 1} would have been due after {seconds:.0f} s")
    return granted


def _verdict(
    attempt: AttemptFacts, before: int, limit: int, uncounted: int, options: RetryOptions
) -> Verdict:
    """Return what the rule says to the failure of an attempt."""
    return judge(
        attempt.reason,
        before + 1,
        limit,
        blame=Blame(attempt.failure, attempt.exit_code, attempt.cause),
        uncounted=uncounted,
        options=options,
    )


def _options(job: JobFacts, asked: Asked, change: Change) -> RetryOptions:
    """Return what the job asks for about its retries, with the change.

    Policies are RayJobs' alone: no Job is judged by its classes of failures.
    """
    was = asked.options
    return replace(
        was,
        rules=was.rules if change.rules is None or not job.has_rayclusters else change.rules,
        uncounted_max=was.uncounted_max if change.uncounted_max is None else change.uncounted_max,
        delay_seconds=was.delay_seconds if change.delay_seconds is None else change.delay_seconds,
        delay_max_seconds=(
            was.delay_max_seconds if change.delay_max_seconds is None else change.delay_max_seconds
        ),
        growth=was.growth if change.growth is None else change.growth,
    )


def _shut_down(
    job: JobFacts, run: list[AttemptFacts], change: Change, life: Life
) -> list[AttemptFacts]:
    """Return the attempts with the last one's cluster gone as the other TTL says."""
    if change.ttl_seconds is None or not run or not job.has_rayclusters:
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
    ended_at, going = _end_of_job(job, last, last.ended_at), timedelta()
    if job.ttl_seconds is not None and last.cluster_is_gone:
        due_at = ended_at + timedelta(seconds=job.ttl_seconds)
        going = max(last.cluster_until - due_at, timedelta())
    until = ended_at + timedelta(seconds=change.ttl_seconds) + going
    if job.ttl_seconds is None and until > last.cluster_until:
        return run
    if until != last.cluster_until:
        life.differs(f"its cluster would have gone {change.ttl_seconds} s after the end")
    return [*run[:-1], dataclasses.replace(last, cluster_until=until)]


def _end_of_job(job: JobFacts, last: AttemptFacts, ended_at: Instant) -> Instant:
    """Return from when a TTL counts: the end of the job, which may be found after its attempt's."""
    seen = job.attempts[-1]
    is_as_seen = (last.number, ended_at) == (seen.number, seen.ended_at)
    return max(job.ended_at, ended_at) if is_as_seen and job.ended_at is not None else ended_at


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
