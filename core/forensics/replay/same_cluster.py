"""Computes what a retry on the same RayCluster would have saved, where a job had asked for it.

The rule that decides about it is asked on the states that the log leads to; the attempts are
followed by `what_if`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from jobledger.core.catalogue import JobEvent
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.replay.whole_deadline import DEADLINE, PRE_RUNNING
from jobledger.core.jobs.history.attempt_facts import AttemptFacts, JobFacts
from jobledger.core.kinds import NOTHING, cluster_verdict, evolve


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCluster:
    """An attempt that would have had a new RayCluster all the same."""

    attempt: int
    why: str


def judged_facts(events: Iterable[JobEvent]) -> JobFacts:
    """Return what a stream tells, with whether each cluster could have stayed for a retry."""
    gathered, state, why_new = list(events), NOTHING, dict[int, str]()
    for event in gathered:
        verdict = cluster_verdict(state, event)
        if verdict is not None:
            why_new[verdict.attempt] = verdict.why_new
        state = evolve(state, event)
    job = facts(gathered)
    attempts = (replace(item, why_new_cluster=why_new.get(item.number)) for item in job.attempts)
    return replace(job, attempts=tuple(attempts))


class SameCluster:
    """The retries of a job that are asked to run on the same RayCluster, one after another."""

    def __init__(self, *, asked: bool) -> None:
        """Take whether the other policy asks for it; if not, all is as it was."""
        self._asked = asked
        self._stays = False
        self.saved = 0
        """RayClusters that would not have been made."""
        self.waited = timedelta()
        """How long attempts waited for those, as far as those were ready."""
        self.new: list[NewCluster] = []

    def begun(self, attempt: AttemptFacts) -> tuple[AttemptFacts, timedelta, str]:
        """Return an attempt as it would have begun, how much earlier, and what is not known of it.

        On a RayCluster that stayed it begins where its own was ready: the wait for that is left
        out.
        """
        stays, self._stays = self._stays, False
        if not stays:
            return attempt, timedelta(), ""
        self.saved += 1
        ready, unknown = attempt.cluster_ready_at, ""
        if attempt.outcome and (ready is None or attempt.reason in (DEADLINE, PRE_RUNNING)):
            unknown = f"how attempt {attempt.number} would have gone on"
        if ready is None:
            return attempt, timedelta(), unknown
        wait = ready - attempt.started_at
        self.waited += wait
        return replace(attempt, started_at=ready, cluster_from=ready), wait, unknown

    def retried(
        self, was: AttemptFacts, ended: AttemptFacts, following: AttemptFacts
    ) -> AttemptFacts:
        """Return a failed attempt with its cluster as long as it would have stayed for the next."""
        if not self._asked or following.same_cluster or was.why_new_cluster is None:
            return ended
        why = was.why_new_cluster
        if ended.reason != was.reason:
            why = f"{ended.reason}: the Ray job may go on"
        if why:
            self.new.append(NewCluster(attempt=following.number, why=why))
            return ended
        self._stays = True
        there = ended.cluster_until
        return replace(ended, cluster_until=there and following.started_at)
