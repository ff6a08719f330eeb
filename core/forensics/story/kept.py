"""What was kept of a job before it disappeared, piece by piece."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.story.account import Sentence
from jobledger.core.forensics.story.quotes import in_short
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs.events import EvidenceCaptured, ObservationGapFound
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.evidence.untouched import said_untouched
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
    size: int | None = None
    """Bytes of a log; None: it is none."""
    digest: str = ""
    """Name of the content of a log."""


def kept(events: Sequence[ReadEvent]) -> Iterator[Kept]:
    """Yield what was kept, in the order in which it was captured."""
    for read in events:
        if isinstance(read.event, EvidenceCaptured):
            yield from _of(read.version, read.event)


def _of(version: int, event: EvidenceCaptured) -> Iterator[Kept]:
    def one(what: str, source: str, size: int | None = None, digest: str = "") -> Kept:
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


TOO_LATE = (
    "Its Pods were gone when its failure was told, so no log is kept. Kubernetes removes the Pods "
    "of a Job that ends by its limit or its deadline, if they run or are to be started again; with "
    "restartPolicy: Never a Pod that has failed stays, and is read."
)
"""Of an attempt of which no Pod was seen."""


def not_known(
    events: Sequence[ReadEvent], begun: Mapping[int, int], attempt: int, *, pods_stay: bool
) -> Iterator[Sentence]:
    """Return what could not be seen during an attempt, and what evidence of it is missing.

    Args:
        events: of the job, all of them.
        begun: the number of each attempt, by the version from which on it is told of.
        attempt: its number.
        pods_stay: whether the Pods of a failed attempt of this kind of job stay until they are
            looked at.
    """
    inside, is_kept = False, False
    told: dict[str, tuple[int, ...]] = {}
    for read in events:
        event, text = read.event, ""
        if read.version in begun:
            inside, is_kept = begun[read.version] == attempt, False
        if not inside:
            continue
        if isinstance(event, ObservationGapFound):
            text = f"Not everything was seen: {in_words(event)}."
        elif isinstance(event, EvidenceCaptured):
            is_kept = is_kept or bool(event.pods or event.logs)
            if event.missing:
                text = _lost(event)
            elif not (is_kept or pods_stay) and event.occasion == f"failure/{attempt}":
                text = TOO_LATE
        if text:
            told[text] = (*told.get(text, ()), read.version)
    return (Sentence(text=text, versions=versions) for text, versions in told.items())


def _lost(event: EvidenceCaptured) -> str:
    """Return what could not be had; empty of an object that has no Pods, which is told itself."""
    if said_untouched(event.missing):
        return ""
    lost = "; ".join(f"{item.what} ({item.why})" for item in event.missing)
    return f"Some evidence could not be had: {in_short(lost)}."
