"""Collects the signs of a failure from a stream, each with its source and its event.

Rules about failures look at signs and at nothing else, so they need not know which event, or which
kind of job, a clue came from.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from jobledger.core.forensics.bundles.dossier import EvidenceReader, ReadEvent
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.history.signs import Clue, Source, exit_clue
from jobledger.core.kinds import ROLES, clues
from jobledger.core.values.tracebacks import blanked_frames


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One clue."""

    version: int
    attempt: int
    source: Source
    text: str
    digest: str = ""
    """Evidence in which it stands; empty if it stands in the event itself."""
    whose: str = ""
    """The container, Pod or object that showed it, for people; empty if the source says enough."""


TELLING_REASONS = ("Evicted", "Preempted", "ScaleDown", "TaintManagerEviction")
"""How reasons begin of Kubernetes Events that tell of a loss, though they count as normal.

Source: Kueue, the cluster autoscaler, Kubernetes' taint eviction controller.
"""

LOG_CHARACTERS_MAX = 2000
"""A longer line of a log is cut before rules look at it."""


def signs(events: tuple[ReadEvent, ...], evidence: EvidenceReader) -> Iterator[Sign]:
    """Yield every clue of a stream in order."""
    attempt = 0
    for read in events:
        event = read.event
        if isinstance(event, ROLES.attempt_started):
            attempt = event.attempt
        if isinstance(event, shared.EvidenceCaptured):
            yield from _of_evidence(event, read.version, evidence)
            continue
        for source, text in clues(event):
            if text:
                yield Sign(version=read.version, attempt=attempt, source=source, text=text)


def _of_evidence(
    event: shared.EvidenceCaptured, version: int, evidence: EvidenceReader
) -> Iterator[Sign]:
    found: list[tuple[Clue, str]] = []
    for pod in event.pods:
        found += _of_pod(pod)
    found += [
        ((Source.KUBERNETES_EVENT, f"{item.reason}: {item.message}"), f"of {item.object}")
        for item in event.kubernetes_events
        if item.kind != "Normal" or item.reason.startswith(TELLING_REASONS)
    ]
    if event.ray is not None:
        found += [((Source.RAY, event.ray.message), ""), ((Source.RAY, event.ray.error_type), "")]
        found += [((Source.EXIT, exit_clue(event.ray.exit_code)), "")]
    for (source, text), whose in found:
        if text:
            yield Sign(
                version=version, attempt=event.attempt, source=source, text=text, whose=whose
            )
    for log in event.logs:
        content = evidence(log.digest_of_content)
        kept = content.decode(errors="replace").splitlines() if content else log.last_lines
        for line in blanked_frames(kept):
            yield Sign(
                version=version,
                attempt=event.attempt,
                source=Source.LOG,
                text=line[:LOG_CHARACTERS_MAX],
                digest=log.digest_of_content,
            )


def _of_pod(pod: PodEvidence) -> Iterator[tuple[Clue, str]]:
    place = f"{pod.name} on node {pod.node}" if pod.node else pod.name
    if pod.reason:
        yield (Source.POD, f"{pod.reason}: {pod.message}"), place
    for one in pod.containers:
        whose = f"{one.name} of Pod {place}"
        if one.state != "running" and (one.reason or one.message) and one.reason != "Completed":
            yield (Source.CONTAINER, f"{one.reason}: {one.message}"), whose
        yield (Source.EXIT, exit_clue(one.exit_code)), f"of container {whose}"
