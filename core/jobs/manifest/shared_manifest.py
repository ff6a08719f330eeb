"""What a job's own object tells of itself, whatever its kind.

Each kind says which types its specification and its status have, and adds its policy.
"""

from typing import Annotated, Protocol

from msgspec import Struct, field

from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import Survey
from jobledger.core.log.observed import TOLD_ONCE
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import ObservationId
from jobledger.core.values.instants import Instant


class JobSpec(Protocol):
    """A specification, as far as every kind has it."""

    @property
    def is_ours(self) -> bool: ...  # noqa: D102 as in each kind's specification


class SharedManifestSeen(Struct, frozen=True, kw_only=True, gc=False):
    """A look at the object as it is."""

    id: ObservationId
    at: Instant
    identity: JobIdentity
    generation: int
    digest: str
    """Keyed digest of the whole specification."""
    spec: JobSpec
    status: object
    deleting_at: Instant | None
    document: Annotated[Manifest, TOLD_ONCE] = field(default_factory=dict)
    """The redacted specification, labels and annotations."""
    option_problems: tuple[str, ...] = ()
    """Annotations of ours that are left out, and why."""
    recorded: str = ""
    """Why the job is only recorded here; empty: it is controlled."""
    in_between: bool = False
    """It tells what another controller has done since this one stopped; of an unknown job it tells
    nothing."""
    written_here: bool = False
    """Whether this controller was the last to write the status."""
    observed_generation: int = 0
    """The generation that the status tells of; 0: it tells of none."""
    survey: Survey | None = None
    """What of the job is there; None: it is not known yet."""
    recover: str = ""
    """Which holding of the job its annotation asks to end (`lost_history.mark_of`)."""
    instead_of: int = 0
    """The generation that the log had when the object was asked for; 0: nobody asked."""


class SharedManifestReceived(Struct, frozen=True, kw_only=True):
    """The event of an object that was seen for the first time, or changed."""

    at: Instant
    generation: int
    digest: str
    """Keyed digest of the whole specification."""
    deleting_at: Instant | None = None
    """Since when the object is being deleted, by the API server's clock."""
    document: Manifest = field(default_factory=dict)
    """The redacted specification, labels and annotations.

    It is empty if the specification did not change.
    """
    option_problems: tuple[str, ...] = ()
    """Annotations of ours that are left out, and why."""


class SharedManifest(Struct, frozen=True, kw_only=True, gc=False):
    """The object as it is known."""

    generation: int
    digest: str
    spec: JobSpec
    deleting_at: Instant | None
    option_problems: tuple[str, ...] = ()
    """Annotations of ours that are left out, and why."""
