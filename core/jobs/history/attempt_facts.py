"""The attempts of a job as observed: start, duration, RayCluster or JobSet, and outcome.

The same for every kind of job: whoever asks here does not ask which it is. A kind tells what its
events mean by calls of `FactsSoFar`.
"""

from dataclasses import dataclass, field, fields, replace
from datetime import timedelta

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.history.told_end import TOLD, told_end
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import NOTHING_ASKED, RetryOptions
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a manifest asks for, as far as it can end an attempt, or have another follow."""

    backoff_limit: int = 0
    active_deadline_seconds: int | None = None
    pre_running_deadline_seconds: int | None = None
    policy: Policy = field(default_factory=Policy)
    options: RetryOptions = NOTHING_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """One attempt."""

    number: int
    started_at: Instant
    running_at: Instant | None = None
    ended_at: Instant | None = None
    outcome: str = ""
    """succeeded, stopped, failed, suspended, lost or deleted; empty while it goes on."""
    reason: str = ""
    failure: FailureClass = FailureClass.OTHER
    """The retry group of the failure."""
    cause: str = ""
    """The cause in that group; empty where nobody looked for it."""
    exit_code: int | None = None
    cluster: str = ""
    """Name of its RayCluster, where each attempt has one of its own name."""
    cluster_from: Instant | None = None
    """When its RayCluster (JobSet) was known to be there."""
    cluster_ready_at: Instant | None = None
    """When all of it was first known to be there; of RayClusters alone."""
    cluster_until: Instant | None = None
    """When that was known to be gone, or was last known to be there."""
    cluster_is_gone: bool = False
    paused: timedelta = timedelta()
    """How long it held nothing meanwhile, as its job was suspended."""
    paused_since: Instant | None = None
    """Since when it is so; None: it is not."""
    shared_cluster: bool = False
    """It ran on a RayCluster that is not its own: that costs the job nothing."""
    same_cluster: bool = False
    """It ran on the RayCluster of the attempt before, which stayed for it."""
    why_new_cluster: str | None = None
    """Why the attempt after it would have had a new RayCluster, had the job asked for the same;
    empty: it would not; None: nobody asked, or its kind has no such choice."""
    asked: Asked | None = None
    """What the manifest asked for when it ended; None: it goes on, and what the job asks for."""
    deadline_from: Instant | None = None
    """From when its activeDeadlineSeconds count; None: from its start."""
    retried: bool | None = None
    """Whether another attempt was granted after it; None: no verdict was seen."""
    failed_before: int = 0
    """Counted failures of the job before it, as the verdict has them."""

    @property
    def cluster_time(self) -> timedelta:
        """Return for how long its own cluster was known to be there."""
        if self.shared_cluster or self.cluster_from is None or self.cluster_until is None:
            return timedelta()
        paused = self.paused
        if self.paused_since is not None:
            paused += max(self.cluster_until - self.paused_since, timedelta())
        return max(self.cluster_until - self.cluster_from - paused, timedelta())


@dataclass(frozen=True, slots=True)
class ClusterVerdict:
    """Whether a RayCluster could have stayed for a retry; a later one overrides an earlier."""

    attempt: int
    """The attempt that failed."""
    why_new: str
    """Why the next one would have had a new RayCluster all the same; empty: it would not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts(Asked):
    """What was observed of a job, as far as policies are about it.

    What it asks for is that of its manifest as it was when the job ended, or is now.
    """

    attempts: tuple[AttemptFacts, ...] = ()
    outcome: str = ""
    """Complete, Failed, Deleted; empty while it goes on."""
    reason: str = ""
    ended_at: Instant | None = None
    last_at: Instant | None = None
    """When its last event occurred."""
    ttl_seconds: int | None = None
    """None: the cluster is not shut down after the end."""
    retries_itself: bool = True
    """False for a TrainJob: its JobSet restarts by rules of its own."""
    has_rayclusters: bool = True
    """Whether there is a preRunningDeadlineSeconds, and a cluster that may stay after the end."""


class FactsSoFar:
    """What a stream has told so far."""

    def __init__(self) -> None:
        self._job = JobFacts()
        self.asks = Asked()
        """What the manifest asks for, as long as the job has not ended."""
        self._last_at: Instant | None = None
        self._attempts: list[AttemptFacts] = []
        self.deadline_from: Instant | None = None
        """From when the activeDeadlineSeconds of the next attempt count; None: from its start."""
        self.end_told: Instant | None = None
        """When the last attempt ended at the latest, by what it ran as; None: nothing says."""
        self._end_seen_at: Instant | None = None
        self.selects_cluster = False
        """Whether attempts run on a RayCluster that is not the job's own."""

    @property
    def last(self) -> AttemptFacts | None:
        """Return the current or last attempt."""
        return self._attempts[-1] if self._attempts else None

    @property
    def is_ended(self) -> bool:
        """Return whether the job has come to an outcome."""
        return self._job.outcome != ""

    def occurred(self, at: Instant) -> None:
        """Take note that an event was true at an instant."""
        self._last_at = max(at, self._last_at or at)

    def asked(self, asked: Asked, **values: object) -> None:
        """Take what the manifest asks for, and fields of `JobFacts`.

        After the end of the job it changes nothing about that.
        """
        self._job = replace(self._job, **values)  # type: ignore[arg-type] # fields by name
        if not self.is_ended:
            self.asks = asked

    def began(self, attempt: AttemptFacts) -> None:
        """Add an attempt."""
        self.end_told = self._end_seen_at = None
        self._attempts.append(replace(attempt, deadline_from=self.deadline_from))

    def deadline_begins(self, at: Instant) -> None:
        """Say that activeDeadlineSeconds count from now on, over whatever attempts follow."""
        self.deadline_from = at
        if self.last is not None and not self.last.outcome:
            self.update(deadline_from=at)

    def update(self, **values: object) -> None:
        """Change the last attempt, if there is one: fields of `AttemptFacts`."""
        if not self._attempts:
            return
        if "outcome" in values:
            values["asked"] = self.asks
        self._attempts[-1] = replace(self._attempts[-1], **values)  # type: ignore[arg-type] # fields by name

    def pauses(self, at: Instant) -> None:
        """Say that the last attempt, if it goes on, holds nothing from now on."""
        if self.last is not None and not self.last.outcome and self.last.paused_since is None:
            self.update(paused_since=at)

    def goes_on(self, at: Instant) -> None:
        """Say that the last attempt may hold something again."""
        last = self.last
        if last is not None and not last.outcome and last.paused_since is not None:
            paused = last.paused + max(at - last.paused_since, timedelta())
            self.update(paused=paused, paused_since=None)

    def ended_as_told(self, told: Instant | None, *, seen_at: Instant) -> None:
        """Take when what the last attempt runs as ended: at the latest when that was seen first."""
        self._end_seen_at = self._end_seen_at or seen_at
        self.end_told = min(told or self._end_seen_at, self._end_seen_at)

    def true_end(self, found: Instant, outcome: str) -> Instant:
        """Return when the last attempt ended that was found over: as told, if something tells."""
        last = self.last
        if last is None or outcome not in TOLD:
            return found
        return told_end(self.end_told, last.running_at or last.started_at, found)

    def over(self, at: Instant, outcome: str, reason: str, failure: FailureClass) -> None:
        """Say that the last attempt was found over; what it ran as is gone with it."""
        at = self.true_end(at, outcome)
        self.update(
            ended_at=at,
            outcome=outcome,
            reason=reason,
            failure=failure,
            cluster_until=at,
            cluster_is_gone=True,
        )

    def verdict(self, *, granted: bool, failed_before: int) -> None:
        """Say whether another attempt was granted, and how many failures had counted before."""
        self.update(retried=granted, failed_before=max(failed_before, 0))

    def judged(self, failure: FailureClass, exit_code: int | None) -> None:
        """Say of which class the failure of the last attempt is, and with which exit code."""
        last = self.last
        if last is None:
            return
        known = failure if failure is not FailureClass.OTHER else last.failure
        self.update(failure=known, exit_code=last.exit_code if exit_code is None else exit_code)

    def cluster_is_there(self, at: Instant) -> None:
        """Say that the last attempt's cluster was known to be there."""
        last = self.last
        if last is not None and last.cluster_from is None:
            self.update(cluster_from=at)

    def cluster_is_ready(self, at: Instant) -> None:
        """Say that all of the last attempt's cluster was known to be there."""
        last = self.last
        if last is not None and last.cluster_ready_at is None:
            self.update(cluster_ready_at=at)

    def cluster_is_gone(self, at: Instant, name: str = "") -> None:
        """Say that the cluster of the last attempt, or of an earlier with that name, is gone."""
        places = range(len(self._attempts) - 1, -1, -1)
        of_that_name = (place for place in places if self._attempts[place].cluster == name)
        place = next(of_that_name, len(self._attempts) - 1)
        if place < 0:
            return
        known = self._attempts[place]
        if known.cluster_from is not None and not known.cluster_is_gone:
            self._attempts[place] = replace(known, cluster_until=at, cluster_is_gone=True)

    def ended(self, at: Instant, outcome: str, reason: str) -> None:
        """Say what became of the job."""
        self._job = replace(self._job, outcome=outcome, reason=reason, ended_at=at)

    def deleted(self, at: Instant) -> None:
        """Say that the job was deleted; that counts only before its end."""
        if self.is_ended:
            return
        if self.last is not None and not self.last.outcome:
            self.update(outcome="deleted", ended_at=at)
        self.ended(at, "Deleted", "")

    def shared(self, event: shared.SharedEvent) -> None:
        """Take an event that every kind of job has."""
        if self.last is None:
            return
        if isinstance(event, shared.EffectSucceeded):
            if event.kind is EffectKind.CREATE_CLUSTER:
                self.cluster_is_there(event.at)
            elif event.kind is EffectKind.DELETE_CLUSTER and event.gone:
                self.cluster_is_gone(event.at)

    def finished(self) -> JobFacts:
        """Return everything; a cluster that was never seen to go was there until the last event."""
        last = self._last_at
        attempts = [
            item
            if item.cluster_from is None or item.cluster_until is not None
            else replace(item, cluster_until=last)
            for item in self._attempts
        ]
        asked = {item.name: getattr(self.asks, item.name) for item in fields(Asked)}
        return replace(self._job, attempts=tuple(attempts), last_at=last, **asked)
