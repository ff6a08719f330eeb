"""The attempts of a job as observed: start, duration, RayCluster or JobSet, and outcome.

The same for RayJobs and TrainJobs: whoever asks here does not ask which it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import NOTHING_ASKED, RetryOptions
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.rules.failure_class import by_reason
from jobledger.core.trainjob import events as trainjob
from jobledger.core.values.instants import Instant

ENDED_WELL = frozenset({"succeeded", "stopped"})


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
    exit_code: int | None = None
    cluster_from: Instant | None = None
    """When its RayCluster (JobSet) was known to be there."""
    cluster_until: Instant | None = None
    """When that was known to be gone, or was last known to be there."""
    cluster_is_gone: bool = False
    retry_due_at: Instant | None = None
    """Not before this instant was the next one to begin."""
    shared_cluster: bool = False
    """It ran on a RayCluster that is not its own: that costs the job nothing."""

    @property
    def cluster_time(self) -> timedelta:
        """Return for how long its own cluster was known to be there."""
        if self.shared_cluster or self.cluster_from is None or self.cluster_until is None:
            return timedelta()
        return max(self.cluster_until - self.cluster_from, timedelta())


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """What was observed of a job, as far as policies are about it."""

    attempts: tuple[AttemptFacts, ...] = ()
    outcome: str = ""
    """Complete, Failed, Deleted; empty while it goes on."""
    reason: str = ""
    ended_at: Instant | None = None
    last_at: Instant | None = None
    """When its last event occurred."""
    backoff_limit: int = 0
    active_deadline_seconds: int | None = None
    pre_running_deadline_seconds: int | None = None
    ttl_seconds: int | None = None
    """None: the cluster is not shut down after the end."""
    policy: Policy = field(default_factory=Policy)
    options: RetryOptions = NOTHING_ASKED
    retries_itself: bool = True
    """False for a TrainJob: its JobSet restarts by rules of its own."""


def facts(events: Iterable[JobEvent]) -> JobFacts:
    """Return what a whole stream tells."""
    so_far = _Facts()
    for event in events:
        so_far.take(event)
    return so_far.finished()


class _Facts:
    """What a stream has told so far."""

    def __init__(self) -> None:
        self._job = JobFacts()
        self._attempts: list[AttemptFacts] = []
        self._selects = False

    def take(self, event: JobEvent) -> None:
        """Take one more event."""
        self._job = replace(self._job, last_at=event.at)
        if isinstance(event, rayjob.FactEvent):
            self._of_fact(event)
        elif isinstance(event, shared.SharedEvent):
            self._of_shared(event)
        elif isinstance(event, trainjob.TrainFactEvent | trainjob.TrainLifeEvent):
            self._of_trainjob(event)
        else:
            self._of_life(event)
            self._of_end(event)

    def finished(self) -> JobFacts:
        """Return everything; a cluster that was never seen to go was there until the last event."""
        last = self._job.last_at
        attempts = [
            item
            if item.cluster_from is None or item.cluster_until is not None
            else replace(item, cluster_until=last)
            for item in self._attempts
        ]
        return replace(self._job, attempts=tuple(attempts))

    def _update(self, **values: object) -> None:
        if self._attempts:
            self._attempts[-1] = replace(self._attempts[-1], **values)  # type: ignore[arg-type] # fields by name

    @property
    def _last(self) -> AttemptFacts | None:
        return self._attempts[-1] if self._attempts else None

    def _of_shared(self, event: shared.SharedEvent) -> None:
        last = self._last
        if last is None:
            return
        if isinstance(event, shared.EffectSucceeded):
            if event.kind is EffectKind.CREATE_CLUSTER and last.cluster_from is None:
                self._update(cluster_from=event.at)
            elif event.kind is EffectKind.DELETE_CLUSTER and event.gone:
                self._gone(event.at)
        elif isinstance(event, shared.DecisionScheduled) and event.kind is DecisionKind.RETRY:
            self._update(retry_due_at=event.due_at)

    def _gone(self, at: Instant) -> None:
        last = self._last
        if last is not None and last.cluster_from is not None and not last.cluster_is_gone:
            self._update(cluster_until=at, cluster_is_gone=True)

    def _of_fact(self, event: rayjob.FactEvent) -> None:
        last = self._last
        if last is None:
            return
        if isinstance(event, rayjob.ClusterObserved) and last.cluster_from is None:
            self._update(cluster_from=event.at)
        elif isinstance(event, rayjob.ClusterVanished):
            self._gone(event.at)
        elif isinstance(event, rayjob.EntrypointObserved):
            self._update(exit_code=event.exit_code)

    def _of_life(self, event: rayjob.LifeEvent) -> None:
        if isinstance(event, rayjob.ManifestReceived):
            self._manifest(event)
        elif isinstance(event, rayjob.AttemptStarted):
            if event.same_cluster:
                self._gone(event.at)  # from here on the next attempt has it
            fresh = AttemptFacts(
                number=event.attempt,
                started_at=event.at,
                cluster_from=event.at if event.same_cluster else None,
                shared_cluster=self._selects,
            )
            self._attempts.append(fresh)
        elif isinstance(event, rayjob.AttemptReachedRunning | rayjob.AttemptReachedWaiting):
            self._update(running_at=event.at)
        elif isinstance(event, rayjob.AttemptFailed):
            self._update(
                ended_at=event.at,
                outcome="failed",
                reason=event.reason,
                failure=by_reason(event.reason),
            )
        elif isinstance(event, rayjob.RetryGranted):
            self._judged(event.failure, event.exit_code)
            self._update(retry_due_at=event.due_at)
        elif isinstance(event, rayjob.RetryRefused):
            self._judged(event.failure, event.exit_code)

    def _manifest(self, event: rayjob.ManifestReceived) -> None:
        spec = event.spec
        self._selects = spec.cluster_selector != ""
        shuts_down = spec.shutdown_after_job_finishes
        self._job = replace(
            self._job,
            backoff_limit=spec.backoff_limit,
            active_deadline_seconds=spec.active_deadline_seconds,
            pre_running_deadline_seconds=spec.pre_running_deadline_seconds,
            ttl_seconds=spec.ttl_seconds_after_finished if shuts_down else None,
            policy=event.policy,
            options=event.options,
        )

    def _judged(self, failure: FailureClass, exit_code: int | None) -> None:
        last = self._last
        if last is None:
            return
        known = failure if failure is not FailureClass.OTHER else last.failure
        self._update(failure=known, exit_code=last.exit_code if exit_code is None else exit_code)

    def _of_end(self, event: rayjob.LifeEvent) -> None:
        if isinstance(event, rayjob.SuspensionStarted):
            self._update(ended_at=event.at, outcome="suspended")
        elif isinstance(event, rayjob.JobCompleted):
            outcome = "succeeded" if event.job_status == "SUCCEEDED" else "stopped"
            self._update(ended_at=event.at, outcome=outcome, reason=event.reason)
            self._end(event.at, "Complete", event.reason)
        elif isinstance(event, rayjob.JobFailed):
            self._end(event.at, "Failed", event.reason)
        elif isinstance(event, rayjob.JobDeleted) and not self._job.outcome:
            self._update_open("deleted", event.at)
            self._end(event.at, "Deleted", "")

    def _update_open(self, outcome: str, at: Instant) -> None:
        if self._last is not None and not self._last.outcome:
            self._update(outcome=outcome, ended_at=at)

    def _end(self, at: Instant, outcome: str, reason: str) -> None:
        self._job = replace(self._job, outcome=outcome, reason=reason, ended_at=at)

    def _of_trainjob(self, event: trainjob.TrainFactEvent | trainjob.TrainLifeEvent) -> None:
        if isinstance(event, trainjob.TrainJobReceived):
            self._job = replace(
                self._job,
                retries_itself=False,
                active_deadline_seconds=event.spec.active_deadline_seconds or None,
                options=replace(
                    NOTHING_ASKED, job_deadline_seconds=event.spec.job_deadline_seconds or None
                ),
            )
        elif isinstance(event, trainjob.TrainAttemptStarted):
            self._attempts.append(
                AttemptFacts(
                    number=event.attempt,
                    started_at=event.at,
                    running_at=event.at,
                    cluster_from=event.at,
                )
            )
        elif isinstance(event, trainjob.TrainAttemptEnded):
            self._update(
                ended_at=event.at,
                outcome=event.outcome,
                reason=event.reason,
                cluster_until=event.at,
                cluster_is_gone=True,
            )
        elif isinstance(event, trainjob.TrainJobCompleted):
            self._end(event.at, "Complete", event.reason)
        elif isinstance(event, trainjob.TrainJobFailed):
            self._end(event.at, "Failed", event.reason)
        elif isinstance(event, trainjob.TrainJobDeleted) and not self._job.outcome:
            self._update_open("deleted", event.at)
            self._end(event.at, "Deleted", "")


def cluster_hours(attempts: Sequence[AttemptFacts]) -> float:
    """Return for how many hours clusters of these attempts were known to be there."""
    return sum((item.cluster_time for item in attempts), timedelta()) / timedelta(hours=1)
