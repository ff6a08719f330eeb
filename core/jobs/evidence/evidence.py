"""Evidence of an attempt: logs, exit codes, Pods, Kubernetes Events, Ray's job record.

Bounded twice: what one capture may hold, and how long it may take. Texts are redacted before they
get here. Logs are kept beside the log of events under the SHA-256 of their content; everything else
is small and stands in the event itself.
"""

from datetime import timedelta

from msgspec import Struct

from jobledger.core.values.instants import Instant

LOG_LINES_MAX = 200
"""Last lines of a container's log that are kept."""

LOG_BYTES_MAX = 64 * 1024
"""And no more bytes of it than this."""

LOGS_MAX = 6
"""Logs of one capture: the head's driver, the submitter, and the worst of the workers."""

PODS_MAX = 12
"""Pods of one capture, those in the greatest trouble first."""

KUBERNETES_EVENTS_MAX = 20
"""Kubernetes Events of one capture, warnings first, then the youngest."""

TEXT_CHARACTERS_MAX = 1000
"""So much of a message of a container or a Kubernetes Event is kept."""

TIME_MAX = timedelta(seconds=3)
"""So long may one capture take; what is not had by then is recorded as missing."""


class KeptLog(Struct, frozen=True, kw_only=True):
    """The end of a log, kept under the digest of its content."""

    source: str
    """driver, submitter, or the name of a Pod."""
    container: str
    digest_of_content: str
    """SHA-256; the content is in the table `evidence`, and in bundles."""
    size: int
    """Bytes of what is kept."""
    cut: bool = False
    """Whether there was more before it."""
    last_lines: tuple[str, ...] = ()
    """The last few, to be read without a look at the content."""


class ContainerEnd(Struct, frozen=True, kw_only=True):
    """How a container ended, or why it did not start."""

    name: str
    state: str
    """waiting, running or terminated."""
    reason: str = ""
    message: str = ""
    """The termination message, or why it waits."""
    exit_code: int | None = None
    signal: int | None = None
    restarts: int = 0
    started_at: Instant | None = None
    ended_at: Instant | None = None
    previous: bool = False
    """Whether it was started again since, or is to be: so it ended the last time."""


class PodEvidence(Struct, frozen=True, kw_only=True):
    """What a Pod said when it was looked at last."""

    name: str
    uid: str
    role: str
    """head, worker, submitter, or the name of the replicated job."""
    phase: str
    node: str = ""
    reason: str = ""
    message: str = ""
    containers: tuple[ContainerEnd, ...] = ()
    waits_since: Instant | None = None
    """Since when no node has taken it, its containers have not begun on the one that has, or all of
    them run and it is not ready."""


class SeenKubernetesEvent(Struct, frozen=True, kw_only=True):
    """A Kubernetes Event about something of the job."""

    object: str
    """`Kind/name`."""
    kind: str
    """Normal or Warning."""
    reason: str
    message: str
    count: int = 1
    last_at: Instant | None = None


class RayEvidence(Struct, frozen=True, kw_only=True):
    """What Ray said of the entrypoint when it was asked last."""

    job_id: str
    status: str
    message: str = ""
    error_type: str = ""
    exit_code: int | None = None
    driver_node: str = ""


class Missing(Struct, frozen=True, kw_only=True):
    """Something that was asked for and could not be had."""

    what: str
    why: str
