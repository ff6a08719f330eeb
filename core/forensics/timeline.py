"""The story of a job: one line per event, in plain words, with the attempt it belongs to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from core.catalogue import NAMES
from core.jobs import events as shared
from core.rayjob import events as rayjob
from core.rayjob.events import FactEvent, LifeEvent, RayJobEvent
from core.values.instants import Instant, rfc3339


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One event of the story."""

    version: int
    at: Instant
    attempt: int
    """0 before the first."""
    event: str
    """Its stored name."""
    words: str


def timeline(events: Iterable[tuple[int, RayJobEvent]]) -> Iterator[Line]:
    """Yield the story of a stream, from pairs of version and event."""
    attempt = 0
    for version, event in events:
        if isinstance(event, rayjob.AttemptStarted):
            attempt = event.attempt
        yield Line(
            version=version,
            at=event.at,
            attempt=attempt,
            event=NAMES[type(event)],
            words=in_words(event),
        )


def in_words(event: RayJobEvent) -> str:
    """Return what an event says, in a sentence or less."""
    if isinstance(event, FactEvent):
        return _fact(event)
    if isinstance(event, shared.SharedEvent):
        return _shared(event)
    return _life(event)


def _shared(event: shared.SharedEvent) -> str:  # noqa: C901, PLR0911 one case per event
    match event:
        case shared.EffectRequested():
            return f"{_effect(event.kind, event.name)} is asked for"
        case shared.EffectSucceeded():
            found = ", found done" if event.already else ""
            return f"{_effect(event.kind, event.name)}: done{found}"
        case shared.EffectFaltered():
            return f"{_effect(event.kind, event.name)}: {event.trouble}; trying again"
        case shared.EffectFailed():
            return f"{_effect(event.kind, event.name)} was refused: {event.trouble}"
        case shared.EffectSuperseded():
            return f"{_effect(event.kind, event.name)} is dropped: {event.cause}"
        case shared.DecisionScheduled():
            return f"{event.kind} is due at {rfc3339(event.due_at)}: {event.cause}"
        case shared.DecisionFired():
            late = (event.at - event.due_at).total_seconds()
            return f"{event.kind} fired, {late:.3f} s after it was due"
        case shared.DecisionCancelled():
            return f"{event.kind} is cancelled: {event.cause}"
        case shared.ObservationGapFound():
            since, until = rfc3339(event.since), rfc3339(event.until)
            return f"changes of {event.source} from {since} to {until} may be missing"
        case shared.ObservationsConfirmed():
            sums = (f"{item.source} {item.count}x" for item in event.sources)
            return f"seen unchanged: {', '.join(sums)}"
        case shared.StatusPublished():
            return f"status {event.phase or 'New'} is published"
        case _:
            assert_never(event)


def _effect(kind: str, name: str) -> str:
    return f"{kind.replace('_', ' ')} {name}"


def _fact(event: FactEvent) -> str:  # noqa: C901, PLR0911 one case per event
    match event:
        case rayjob.EntrypointObserved():
            code = "" if event.exit_code is None else f", exit code {event.exit_code}"
            return f"Ray says {event.status}{code}: {_short(event.message)}"
        case rayjob.ClusterObserved():
            leaving = ", being deleted" if event.deleting else ""
            return f"RayCluster {event.name} is {event.state or 'starting'}{leaving}"
        case rayjob.ClusterVanished():
            return f"RayCluster {event.name} is gone{'' if event.asked else ', unasked'}"
        case rayjob.StrayClusterFound():
            return f"RayCluster {event.name} belongs to no attempt"
        case rayjob.StrayClusterVanished():
            return f"RayCluster {event.name} is gone"
        case rayjob.SubmitterObserved():
            return f"submitter {event.name} is there"
        case rayjob.SubmitterFinished():
            why = f" ({event.reason}: {_short(event.message)})" if event.reason else ""
            return f"submitter {event.name} ended: {event.outcome}{why}"
        case rayjob.SubmitterVanished():
            return f"submitter {event.name} is gone{'' if event.asked else ', unasked'}"
        case rayjob.EntrypointMissed():
            return f"the head does not know {event.job_id}"
        case rayjob.StatusCheckFailed():
            return f"the head does not answer: {event.trouble}"
        case rayjob.StatusCheckRecovered():
            return "the head answers again"
        case _:
            assert_never(event)


def _life(event: LifeEvent) -> str:  # noqa: C901, PLR0911, PLR0912 one case per event
    match event:
        case rayjob.JobDiscovered():
            return f"RayJob {event.identity.namespace}/{event.identity.name} was seen"
        case rayjob.JobAdopted():
            return f"taken over in phase {event.status.phase}"
        case rayjob.ManifestReceived():
            return f"manifest generation {event.generation}"
        case rayjob.ManifestRejected():
            return f"manifest is not valid: {event.message}"
        case rayjob.ManifestAccepted():
            return "manifest is valid again"
        case rayjob.AttemptStarted():
            return f"attempt {event.attempt} began on RayCluster {event.cluster_name}"
        case rayjob.AttemptReachedRunning():
            return f"attempt {event.attempt} is running"
        case rayjob.AttemptReachedWaiting():
            return f"attempt {event.attempt} waits for spec.jobId"
        case rayjob.SubmissionNamed():
            return f"the user named submission {event.job_id}"
        case rayjob.AttemptFailed():
            return f"attempt {event.attempt} failed: {event.reason}: {_short(event.message)}"
        case rayjob.RetryGranted():
            return f"retry granted: {event.rule}"
        case rayjob.RetryRefused():
            return f"retry refused: {event.rule}"
        case rayjob.AttemptCleared():
            return f"nothing of attempt {event.attempt} is left"
        case rayjob.SuspensionStarted():
            return "the job is being suspended"
        case rayjob.JobSuspended():
            return "the job is suspended"
        case rayjob.JobResumed():
            return "the job is resumed"
        case rayjob.JobCompleted():
            return f"the job is complete: {event.job_status}"
        case rayjob.JobFailed():
            return f"the job has failed: {event.reason}"
        case rayjob.DeletionStarted():
            return "deletion of the RayJob was asked for"
        case rayjob.JobDeleted():
            return "the RayJob is gone"
        case _:
            assert_never(event)


_WORDS_MAX = 160


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _WORDS_MAX else f"{line[:_WORDS_MAX]}…"
