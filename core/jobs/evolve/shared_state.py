"""What the state of a job of every kind has."""

from msgspec import Struct

from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.manifest.shared_manifest import SharedManifest
from jobledger.core.jobs.pending.decisions import PendingDecision
from jobledger.core.jobs.pending.effects import OpenEffect, RefusedEffect, RepeatedEffect
from jobledger.core.values.instants import Instant


class SharedRecorded(Struct, frozen=True, kw_only=True):
    """The job is only recorded; another controller decides about it, or it is held."""

    since: Instant
    why: str
    shown: object | None = None
    """What its status has shown last, as far as it was seen; each kind has a type of its own."""
    behind: bool = False
    """It is held: the log was found to know less than the cluster, and nobody else drives it."""


class SharedAttempt(Struct, frozen=True, kw_only=True):
    """The current or last execution of a job."""

    number: int
    """From 1."""
    generation: int
    """Generation of the specification it was started on."""
    started_at: Instant


class SharedState(Struct, frozen=True, gc=False):
    """The state of a job, as far as it is the same for every kind."""

    identity: JobIdentity | None = None
    manifest: SharedManifest | None = None
    recorded: SharedRecorded | None = None
    attempt: SharedAttempt | None = None
    reason: str = ""
    message: str = ""
    succeeded: int = 0
    failed: int = 0
    retries: int = 0
    """How often an attempt was followed by another one."""
    started_at: Instant | None = None
    """When the attempt of a RayJob began; of the other kinds the first one."""
    ended_at: Instant | None = None
    deleted_at: Instant | None = None
    gone: tuple[str, ...] = ()
    """UIDs of what belonged to the job and is known to be gone: late news of it is no news."""
    effects: tuple[OpenEffect, ...] = ()
    refused: tuple[RefusedEffect, ...] = ()
    repeated: tuple[RepeatedEffect, ...] = ()
    """What was done a short while ago."""
    decisions: tuple[PendingDecision, ...] = ()
    published: str = ""
    """resourceVersion of the object after the last status write."""
    unwritten_since: Instant | None = None
    """Since when `.status` cannot be written, if that was told."""
    confirmed_at: Instant | None = None
    """Instant of the last sum of observations without news."""
    gap_until: Instant | None = None
    """End of the last known gap in what was seen."""
    captured: tuple[str, ...] = ()
    """Occasions on which evidence was captured, the last few."""
