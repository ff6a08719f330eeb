"""What was kept of a job before it disappeared, piece by piece."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.jobs.events import EvidenceCaptured
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A piece of evidence, or what could not be had."""

    version: int
    """The event that tells of it."""
    at: Instant
    attempt: int
    what: str
    """log, Pod, Kubernetes Event, or missing."""
    source: str
    """Whose it is, or what it says."""
    size: int | str = ""
    """Bytes of a log."""
    digest: str = ""
    """Name of the content of a log."""


def kept(events: Sequence[ReadEvent]) -> Iterator[Kept]:
    """Yield what was kept, in the order in which it was captured."""
    for read in events:
        if isinstance(read.event, EvidenceCaptured):
            yield from _of(read.version, read.event)


def _of(version: int, event: EvidenceCaptured) -> Iterator[Kept]:
    def one(what: str, source: str, size: int | str = "", digest: str = "") -> Kept:
        return Kept(
            version=version,
            at=event.at,
            attempt=event.attempt,
            what=what,
            source=source,
            size=size,
            digest=digest,
        )

    for log in event.logs:
        name = f"{log.source} {log.container}".strip()
        yield one("log", name, log.size, log.digest_of_content)
    for pod in event.pods:
        yield one("Pod", _ends(pod))
    for item in event.kubernetes_events:
        yield one("Kubernetes Event", f"{item.object} {item.reason}: {item.message}")
    for lost in event.missing:
        yield one("missing", f"{lost.what}: {lost.why}")


def _ends(pod: PodEvidence) -> str:
    """Return how a Pod was, and how its containers ended."""
    ends = ", ".join(
        f"{one.name} {one.reason or one.state}"
        + ("" if one.exit_code is None else f" (exit {one.exit_code})")
        for one in pod.containers
    )
    return f"{pod.name} {pod.phase} {pod.reason} {ends}".strip()
