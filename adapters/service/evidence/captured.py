"""The partial result of a capture, and its redaction when the time limit is reached."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from jobledger.core.errors import LedgerError
from jobledger.core.jobs.evidence.evidence import LOG_BYTES_MAX, KeptLog, PodEvidence, RayEvidence
from jobledger.core.jobs.evidence.pods import end_in_bytes
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.evidence import EvidenceStore
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant

LAST_LINES = 5

EMPTY = "it is empty"
"""What is said of a log in which nothing stands."""

GROWN_MAX = 6 * LOG_BYTES_MAX
"""Characters; so long is the end of a log at most in which markers stand for short secrets."""


@dataclass(frozen=True, slots=True)
class RawLog:
    """The end of a log as it came."""

    source: str
    container: str
    end: str
    cut: bool


@dataclass(slots=True)
class Found:
    """What has come so far. Written by many threads, read once the time is over.

    Nothing of it is redacted yet but Pods: what they declare is secret in everything else, and they
    may answer last.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    is_over: bool = False
    pods: tuple[PodEvidence, ...] = ()
    logs: list[RawLog] = field(default_factory=list)
    events: list[Manifest] = field(default_factory=list)
    ray: RayEvidence | None = None
    missing: dict[str, str] = field(default_factory=dict)
    """What could not be had -> why."""


def kept_logs(
    found: Found, redactor: Redactor, store: EvidenceStore, at: Instant
) -> Iterator[KeptLog]:
    """Keep the ends of logs, redacted; one that is empty or cannot be kept is told as missing."""
    for raw in found.logs:
        scrubbed = redactor.text(raw.end, GROWN_MAX, keep_end=True).rstrip()
        if not scrubbed:
            found.missing.setdefault(f"log of {raw.source}", EMPTY)
            continue
        kept = end_in_bytes(scrubbed, LOG_BYTES_MAX)
        encoded = kept.encode()
        try:
            digest = store.put(encoded, at)
        except LedgerError as error:  # the rest of the evidence is told all the same
            found.missing.setdefault(f"log of {raw.source}", str(error))
            continue
        yield KeptLog(
            source=raw.source,
            container=raw.container,
            digest_of_content=digest,
            size=len(encoded),
            cut=raw.cut or kept != scrubbed,
            last_lines=tuple(kept.splitlines()[-LAST_LINES:]),
        )


def told_by_ray(told: RayEvidence | None, redactor: Redactor) -> RayEvidence | None:
    """Return what the head said of the Ray job, redacted."""
    if told is None:
        return None
    message = redactor.text(told.message, LOG_BYTES_MAX, keep_end=True)
    return replace(told, message=message, error_type=redactor.text(told.error_type, LOG_BYTES_MAX))
