"""Collects the signs of a failure from a stream, each with its source and its event.

Rules about failures look at signs and at nothing else, so they need not know which event, or which
kind of job, a clue came from.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobledger.core.catalogue import JobEvent
from jobledger.core.forensics.bundles.dossier import EvidenceReader, ReadEvent
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.evidence.pods import is_stuck
from jobledger.core.jobs.evidence.untouched import said_untouched
from jobledger.core.jobs.history.signs import Clue, Source, exit_clue
from jobledger.core.jobs.pending.effects import CLEARING
from jobledger.core.kinds import clues
from jobledger.core.values.instants import Instant
from jobledger.core.values.tracebacks import blanked_frames
from jobledger.core.values.visible_text import without_colours


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
    came_at: Instant | None = None
    """When it came about, where somebody said so; else no later than its event."""

    @property
    def effect(self) -> str:
        """The kind of effect that was refused; empty if nothing was, or something else."""
        before, colon, _ = self.text.partition(":")
        return before if colon and self.source is Source.REFUSAL else ""

    @property
    def is_of_clearing(self) -> bool:
        """Whether it tells of something that goes, or is kept from going.

        Once an attempt has failed that is how it is cleared up, and no sign of why it failed.
        """
        return self.effect in CLEARING or self.source is Source.LOSS


TELLING_REASONS = ("Evicted", "Preempted", "ScaleDown", "TaintManagerEviction")
"""How reasons begin of Kubernetes Events that tell of a loss, though they count as normal.

Source: Kueue, the cluster autoscaler, Kubernetes' taint eviction controller.
"""

LOG_CHARACTERS_MAX = 2000
"""A longer line of a log is cut before rules look at it."""


def signs(
    events: tuple[ReadEvent, ...], evidence: EvidenceReader, begun: Mapping[int, int]
) -> Iterator[Sign]:
    """Yield every clue of events in order; `begun` is which of them begin an attempt, and which."""
    attempt = 0
    for read in events:
        event = read.event
        attempt = begun.get(read.version, attempt)
        if isinstance(event, shared.EvidenceCaptured):
            yield from _of_evidence(event, read.version, evidence)
            continue
        for source, text in clues(event):
            if text:
                yield Sign(
                    version=read.version,
                    attempt=attempt,
                    source=source,
                    text=without_colours(text),
                    came_at=_end_told_by(event),
                )


def _end_told_by(event: JobEvent) -> Instant | None:
    """Return when what an event tells of has ended, by the cluster's clock or Ray's."""
    told: Instant | None = getattr(event, "ended_at", None) or getattr(event, "finished_at", None)
    return told


def _of_evidence(
    event: shared.EvidenceCaptured, version: int, evidence: EvidenceReader
) -> Iterator[Sign]:
    found: list[tuple[Clue, str, Instant | None]] = [
        ((Source.SILENCE, said_untouched(event.missing)), "", None)
    ]
    for pod in event.pods:
        found += _of_pod(pod)
    found += [
        (
            (Source.KUBERNETES_EVENT, f"{item.reason}: {item.message}"),
            f"of {item.object}",
            item.last_at,
        )
        for item in event.kubernetes_events
        if item.kind != "Normal" or item.reason.startswith(TELLING_REASONS)
    ]
    if event.ray is not None:
        said = (Source.RAY, event.ray.message), (Source.RAY, event.ray.error_type)
        found += [(clue, "", None) for clue in said]
        found += [((Source.EXIT, exit_clue(event.ray.exit_code)), "", None)]
    for (source, text), whose, came_at in found:
        if text:
            yield Sign(
                version=version,
                attempt=event.attempt,
                source=source,
                text=without_colours(text),
                whose=whose,
                came_at=came_at,
            )
    for log in event.logs:
        content = evidence(log.digest_of_content)
        kept = content.decode(errors="replace").splitlines() if content else log.last_lines
        for line in blanked_frames(kept):
            yield Sign(
                version=version,
                attempt=event.attempt,
                source=Source.LOG,
                text=without_colours(line[:LOG_CHARACTERS_MAX]),
                digest=log.digest_of_content,
            )


def _of_pod(pod: PodEvidence) -> Iterator[tuple[Clue, str, Instant | None]]:
    place = f"{pod.name} on node {pod.node}" if pod.node else pod.name
    if pod.reason:
        ends = [one.ended_at for one in pod.containers if one.ended_at is not None]
        came_at = max(ends, default=pod.waits_since)
        yield (Source.POD, f"{pod.reason}: {pod.message}"), place, came_at
    for one in pod.containers:
        whose = f"{one.name} of Pod {place}"
        if one.state != "running" and (one.reason or one.message) and one.reason != "Completed":
            came_at = pod.waits_since if is_stuck(one) else one.ended_at
            yield (Source.CONTAINER, f"{one.reason}: {one.message}"), whose, came_at
        yield (Source.EXIT, exit_clue(one.exit_code)), f"of container {whose}", one.ended_at
