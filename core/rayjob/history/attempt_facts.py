"""What the events of a RayJob say of its attempts."""

from jobledger.core.jobs.history.attempt_facts import Asked, AttemptFacts, FactsSoFar
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.history.report_news import READY
from jobledger.core.rayjob.phases import ENDED
from jobledger.core.rayjob.rules.failure_class import by_reason


def take(event: rayjob.FactEvent | rayjob.LifeEvent, so_far: FactsSoFar) -> None:
    """Take one more event."""
    if isinstance(event, rayjob.FactEvent):
        _fact(event, so_far)
    else:
        _life(event, so_far)
        _end(event, so_far)


def _fact(event: rayjob.FactEvent, so_far: FactsSoFar) -> None:
    if isinstance(event, rayjob.ClusterObserved):
        so_far.cluster_is_there(event.at)
        if event.state == READY:
            so_far.cluster_is_ready(event.at)
    elif isinstance(event, rayjob.ClusterVanished):
        so_far.cluster_is_gone(event.at, event.name)
    elif isinstance(event, rayjob.EntrypointObserved):
        if event.status in ENDED:
            so_far.ended_as_told(event.ended_at, seen_at=event.at)
        else:
            so_far.end_told = None
        so_far.update(exit_code=event.exit_code)


def _life(event: rayjob.LifeEvent, so_far: FactsSoFar) -> None:
    if isinstance(event, rayjob.ManifestReceived):
        _manifest(event, so_far)
    elif isinstance(event, rayjob.AttemptStarted):
        if event.same_cluster:
            so_far.cluster_is_gone(event.at)  # from here on the next attempt has it
        so_far.began(
            AttemptFacts(
                number=event.attempt,
                started_at=event.at,
                cluster=event.cluster_name,
                cluster_from=event.at if event.same_cluster else None,
                shared_cluster=so_far.selects_cluster,
                same_cluster=event.same_cluster,
            )
        )
    elif isinstance(event, rayjob.AttemptReachedRunning | rayjob.AttemptReachedWaiting):
        so_far.update(running_at=event.at)
    elif isinstance(event, rayjob.AttemptFailed):
        failure, at = by_reason(event.reason), so_far.true_end(event.at, "failed")
        so_far.update(ended_at=at, outcome="failed", reason=event.reason, failure=failure)
    elif isinstance(event, rayjob.RetryGranted | rayjob.RetryRefused):
        so_far.judged(event.failure, event.exit_code)
        granted = isinstance(event, rayjob.RetryGranted)
        counted = event.counted if isinstance(event, rayjob.RetryGranted) else True
        so_far.verdict(granted=granted, failed_before=event.failed - counted)


def _manifest(event: rayjob.ManifestReceived, so_far: FactsSoFar) -> None:
    spec = event.spec
    so_far.selects_cluster = spec.cluster_selector != ""
    shuts_down = spec.shutdown_after_job_finishes
    so_far.asked(
        Asked(
            backoff_limit=spec.backoff_limit,
            active_deadline_seconds=spec.active_deadline_seconds,
            pre_running_deadline_seconds=spec.pre_running_deadline_seconds,
            policy=event.policy,
            options=event.options,
        ),
        ttl_seconds=spec.ttl_seconds_after_finished if shuts_down else None,
    )


def _end(event: rayjob.LifeEvent, so_far: FactsSoFar) -> None:
    if isinstance(event, rayjob.SuspensionStarted):
        so_far.update(ended_at=event.at, outcome="suspended")
    elif isinstance(event, rayjob.JobCompleted):
        outcome = "succeeded" if event.job_status == "SUCCEEDED" else "stopped"
        at = so_far.true_end(event.at, outcome)
        so_far.update(ended_at=at, outcome=outcome, reason=event.reason)
        so_far.ended(event.at, "Complete", event.reason)
    elif isinstance(event, rayjob.JobFailed):
        so_far.ended(event.at, "Failed", event.reason)
    elif isinstance(event, rayjob.JobDeleted):
        so_far.deleted(event.at)
