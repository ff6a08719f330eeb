"""Collects the signs of a failure from a stream, each with its source and its event.

Rules about failures look at signs and at nothing else, so they need not know which event, or which
kind of job, a clue came from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from jobledger.core.catalogue import JobEvent
from jobledger.core.forensics.bundles.dossier import EvidenceReader, ReadEvent
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.trainjob import events as trainjob


class Source(StrEnum):
    """Where a clue comes from. Rules name these."""

    REASON = "reason"
    """Why the attempt or the job failed, in upstream's one word."""
    MESSAGE = "message"
    """The same in upstream's words."""
    RAY = "ray"
    """What Ray says of the entrypoint: its message and type of error."""
    SUBMITTER = "submitter"
    """How the submitter ended."""
    LOG = "log"
    """A line of a log that was kept."""
    POD = "pod"
    """Reason and message of a Pod."""
    CONTAINER = "container"
    """Reason and message of a container: its end, or why it waits."""
    EXIT = "exit"
    """`exit N` of the entrypoint or of a container."""
    KUBERNETES_EVENT = "kubernetes event"
    REFUSAL = "refusal"
    """What the API server, or the head, said when it would not do something."""
    LOSS = "loss"
    """`cluster`, `head`, `submitter` or `jobset` that went without having been asked to."""
    SILENCE = "silence"
    """What was met instead of an answer of the head."""
    MANIFEST = "manifest"
    """Why the manifest is not valid."""
    DECISION = "decision"
    """The kind of a deadline or time-out that fired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One clue."""

    version: int
    attempt: int
    source: Source
    text: str
    digest: str = ""
    """Evidence in which it stands; empty if it stands in the event itself."""


LOG_CHARACTERS_MAX = 2000
"""A longer line of a log is cut before rules look at it."""


def signs(events: tuple[ReadEvent, ...], evidence: EvidenceReader) -> Iterator[Sign]:
    """Yield every clue of a stream in order."""
    attempt = 0
    for read in events:
        event = read.event
        if isinstance(event, rayjob.AttemptStarted | trainjob.TrainAttemptStarted):
            attempt = event.attempt
        if isinstance(event, shared.EvidenceCaptured):
            yield from _of_evidence(event, read.version, evidence)
            continue
        for source, text in _of_event(event):
            if text:
                yield Sign(version=read.version, attempt=attempt, source=source, text=text)


def _of_event(event: JobEvent) -> Iterator[tuple[Source, str]]:
    if isinstance(event, shared.SharedEvent):
        yield from _of_shared(event)
    elif isinstance(event, trainjob.TrainFactEvent | trainjob.TrainLifeEvent):
        yield from _of_trainjob(event)
    elif isinstance(event, rayjob.FactEvent):
        yield from _of_fact(event)
    elif isinstance(event, rayjob.AttemptFailed | rayjob.FailureNoticed):
        yield Source.REASON, event.reason
        yield Source.MESSAGE, event.message
    elif isinstance(event, rayjob.JobFailed | rayjob.JobCompleted):
        yield Source.REASON, event.reason
    elif isinstance(event, rayjob.ManifestRejected):
        yield Source.MANIFEST, event.message


def _of_shared(event: shared.SharedEvent) -> Iterator[tuple[Source, str]]:
    if isinstance(event, shared.EffectFailed | shared.EffectFaltered):
        yield Source.REFUSAL, f"{event.kind}: {event.trouble}"
    elif isinstance(event, shared.DecisionFired):
        yield Source.DECISION, event.kind.value


def _of_fact(event: rayjob.FactEvent) -> Iterator[tuple[Source, str]]:
    if isinstance(event, rayjob.EntrypointObserved):
        if event.status in {"FAILED", "STOPPED"}:
            yield Source.RAY, event.message
            yield Source.RAY, event.error_type
        yield Source.EXIT, _exit(event.exit_code)
    elif isinstance(event, rayjob.SubmitterFinished):
        if event.outcome == "Failed":
            yield Source.SUBMITTER, f"{event.reason}: {event.message}"
    elif isinstance(event, rayjob.SidecarFinished):
        if event.outcome == "Failed":
            yield Source.SUBMITTER, event.message
    elif isinstance(event, rayjob.PodsObserved):
        for pod in event.pods:
            yield Source.POD, f"{pod.reason}: {pod.message}" if pod.reason else ""
            yield Source.EXIT, _exit(pod.exit_code)
    elif isinstance(event, rayjob.StatusCheckFailed):
        yield Source.SILENCE, event.trouble
    else:
        yield Source.LOSS, _lost(event)


def _lost(event: rayjob.FactEvent) -> str:
    if isinstance(event, rayjob.ClusterVanished):
        return "" if event.asked else "cluster"
    if isinstance(event, rayjob.SubmitterVanished):
        return "" if event.asked else "submitter"
    if isinstance(event, rayjob.EntrypointMissed):
        return "ray job"
    return "head" if isinstance(event, rayjob.HeadPodVanished) else ""


def _exit(code: int | None) -> str:
    return "" if code in (None, 0) else f"exit {code}"


def _of_trainjob(
    event: trainjob.TrainFactEvent | trainjob.TrainLifeEvent,
) -> Iterator[tuple[Source, str]]:
    if isinstance(event, trainjob.TrainJobFailed | trainjob.TrainAttemptEnded):
        failed = isinstance(event, trainjob.TrainJobFailed) or event.outcome == "failed"
        if failed:
            yield Source.REASON, event.reason
            yield Source.MESSAGE, event.message
    elif isinstance(event, trainjob.JobsBuildFailed):
        yield Source.MANIFEST, event.cause
    elif isinstance(event, trainjob.JobsCreationFailed):
        yield Source.REFUSAL, event.cause
    elif isinstance(event, trainjob.JobSetObserved):
        if event.end is not None and not event.end.completed:
            yield Source.REASON, event.end.reason
            yield Source.MESSAGE, event.end.message
    elif isinstance(event, trainjob.JobSetVanished):
        yield Source.LOSS, "" if event.asked else "jobset"


def _of_evidence(
    event: shared.EvidenceCaptured, version: int, evidence: EvidenceReader
) -> Iterator[Sign]:
    found: list[tuple[Source, str]] = []
    for pod in event.pods:
        found += _of_pod(pod)
    found += [
        (Source.KUBERNETES_EVENT, f"{item.reason}: {item.message}")
        for item in event.kubernetes_events
        if item.kind != "Normal"
    ]
    if event.ray is not None:
        found += [(Source.RAY, event.ray.message), (Source.RAY, event.ray.error_type)]
        found += [(Source.EXIT, _exit(event.ray.exit_code))]
    for source, text in found:
        if text:
            yield Sign(version=version, attempt=event.attempt, source=source, text=text)
    for log in event.logs:
        content = evidence(log.digest_of_content)
        kept = content.decode(errors="replace").splitlines() if content else log.last_lines
        for line in kept:
            yield Sign(
                version=version,
                attempt=event.attempt,
                source=Source.LOG,
                text=line[:LOG_CHARACTERS_MAX],
                digest=log.digest_of_content,
            )


def _of_pod(pod: PodEvidence) -> Iterator[tuple[Source, str]]:
    if pod.reason:
        yield Source.POD, f"{pod.reason}: {pod.message}"
    for one in pod.containers:
        if one.state != "running" and (one.reason or one.message) and one.reason != "Completed":
            yield Source.CONTAINER, f"{one.reason}: {one.message}"
        yield Source.EXIT, _exit(one.exit_code)
