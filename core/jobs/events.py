"""Events of every kind of job: effects, decisions, status writes, gaps in what was seen.

`at` is the instant the event was true; it is stored in the envelope as `occurred_at`.
"""

from typing import TypeAlias, get_args

from msgspec import Struct, field

from jobledger.core.jobs.evidence.evidence import (
    KeptLog,
    Missing,
    PodEvidence,
    RayEvidence,
    SeenKubernetesEvent,
)
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import DecisionId, EffectId
from jobledger.core.values.instants import Instant


class EffectRequested(Struct, frozen=True, kw_only=True):
    """Something is to be done outside. Recorded before anything is sent."""

    at: Instant
    effect_id: EffectId
    kind: EffectKind
    attempt: int
    name: str
    """Name of the object, or the submission id."""
    uid: str = ""
    """UID the object must have; empty where it is not known."""
    address: str = ""
    """`host:port` of the head, for effects on the Ray job API."""
    generation: int = 0
    """Generation of the specification it was decided on."""
    digest: str = ""
    """Keyed digest of that specification."""


class EffectSucceeded(Struct, frozen=True, kw_only=True):
    """It was done, or found done."""

    at: Instant
    effect_id: EffectId
    kind: EffectKind
    name: str
    uid: str = ""
    """UID of the object as it was found or made."""
    gone: bool = False
    """For a deletion: the object is known not to be there any more."""
    already: bool = False
    """Somebody, or an earlier try, had done it before."""
    sent: Manifest = field(default_factory=dict)
    """The redacted form of what was sent; empty where nothing was built."""


class EffectFaltered(Struct, frozen=True, kw_only=True):
    """A try failed in a way that may pass.

    It goes on being tried. One event per kind of trouble.
    """

    at: Instant
    effect_id: EffectId
    kind: EffectKind
    name: str
    trouble: str


class EffectFailed(Struct, frozen=True, kw_only=True):
    """It was refused, and would be again."""

    at: Instant
    effect_id: EffectId
    kind: EffectKind
    name: str
    trouble: str


class EffectSuperseded(Struct, frozen=True, kw_only=True):
    """It is no longer wanted."""

    at: Instant
    effect_id: EffectId
    kind: EffectKind
    name: str
    cause: str
    sent: bool = True
    """False only if it is certain that nothing was sent."""


class DecisionScheduled(Struct, frozen=True, kw_only=True):
    """Something is to be done at `due_at`."""

    at: Instant
    decision_id: DecisionId
    kind: DecisionKind
    attempt: int
    due_at: Instant
    cause: str
    """Why, in words, with the numbers."""
    subject: str = ""


class DecisionFired(Struct, frozen=True, kw_only=True):
    """The instant came, and the decision still held."""

    at: Instant
    decision_id: DecisionId
    kind: DecisionKind
    due_at: Instant
    subject: str = ""


class DecisionCancelled(Struct, frozen=True, kw_only=True):
    """The decision is no longer needed, or was found obsolete when its instant came."""

    at: Instant
    decision_id: DecisionId
    kind: DecisionKind
    cause: str


class ObservationGapFound(Struct, frozen=True, kw_only=True):
    """Changes between two instants may not have been seen."""

    at: Instant
    source: str
    """Which watch."""
    since: Instant
    until: Instant
    reason: str


class Confirmation(Struct, frozen=True, kw_only=True):
    """Observations of one source that brought no news, summed up."""

    source: str
    count: int
    first_at: Instant
    last_at: Instant


class ObservationsConfirmed(Struct, frozen=True, kw_only=True):
    """What was known was seen unchanged: how often, and when last."""

    at: Instant
    sources: tuple[Confirmation, ...]
    """One sum for each watch or poll that told something."""


class StatusPublished(Struct, frozen=True, kw_only=True):
    """`.status` was written to the object; users could see this from `at` on."""

    at: Instant
    phase: str
    resource_version: str
    """The object's resourceVersion after the write."""
    status_sha: str
    """SHA-256 of the canonical form of what the API server kept of the status."""


class StatusWriteFailed(Struct, frozen=True, kw_only=True):
    """`.status` could not be written for a while: users saw an earlier one from `since` on.

    It is tried on; once it is written, `StatusPublished` says so.
    """

    at: Instant
    since: Instant
    """When the first of the tries in a row failed."""
    trouble: str
    """Why the last of them did, in words; bounded and scrubbed."""


class EvidenceCaptured(Struct, frozen=True, kw_only=True):
    """Evidence of an attempt was captured, before it could disappear."""

    at: Instant
    attempt: int
    occasion: str
    """Why just then: `failure/…`, or the effect it preceded: `delete_cluster/…`."""
    pods: tuple[PodEvidence, ...] = ()
    """The Pods of the attempt, as they were."""
    logs: tuple[KeptLog, ...] = ()
    """Whose last lines were kept, and under which digest."""
    kubernetes_events: tuple[SeenKubernetesEvent, ...] = ()
    """What Kubernetes had said of the attempt's objects."""
    ray: RayEvidence | None = None
    """What Ray said of the entrypoint when it was asked last."""
    missing: tuple[Missing, ...] = ()
    """What could not be had, and why."""
    took_milliseconds: int = 0
    """How long the capture took."""


class ControlReleased(Struct, frozen=True, kw_only=True):
    """From here on the job is only recorded: another controller decides about it, if any does.

    What that controller decided is inferred from what it did; such events are marked `inferred`.
    """

    at: Instant
    why: str
    """Why it is not controlled here."""


class ControlTaken(Struct, frozen=True, kw_only=True):
    """From here on the job is controlled here again, or for the first time."""

    at: Instant
    recorded_since: Instant
    """Since when it had been only recorded."""
    recorded_because: str
    """Why it had been."""


class LedgerBehindFound(Struct, frozen=True, kw_only=True):
    """The cluster shows more of the job than the log knows: the ledger was set back in time.

    From here on the job is held: nothing is created, deleted or written for it until what is
    missing was taken over (`RecoveredFromCluster`).
    """

    at: Instant
    signs: tuple[str, ...]
    """What shows it, each in a sentence without its full stop."""
    observed_generation: int = 0
    """The generation that the status tells of; 0: it tells of none."""
    kind: str = ""
    """Kind of the object that showed it; empty: the status did, or the log itself."""
    name: str = ""
    uid: str = ""
    attempt: int = 0
    """The attempt that a submitter was made for; 0: it was no submitter."""
    known_version: int = 0
    """Where the stream ended by what this process had appended; 0: it had not."""
    found_version: int = 0
    """Where it was found to end."""


class RecoveredFromCluster(Struct, frozen=True, kw_only=True):
    """What the log had lost was taken over as the cluster shows it; the job is controlled again.

    How it came to be so is lost: the events before this one are inferred.
    """

    at: Instant
    behind_since: Instant
    """Since when the job was held."""
    there: tuple[str, ...] = ()
    """Names of the job's RayClusters, or its JobSet, that were there."""
    is_surveyed: bool = True
    """Whether it was known what is there; of a job that has ended it need not be."""
    asked: str = ""
    """Who asked for it (`jobledger recover`) although something was in doubt; empty: nobody."""


class AnnotationsRejected(Struct, frozen=True, kw_only=True):
    """Annotations of ours could not be understood, and are left out; the job goes on without."""

    at: Instant
    problems: tuple[str, ...]
    """One per annotation."""


SharedEvent: TypeAlias = (
    EffectRequested
    | EffectSucceeded
    | EffectFaltered
    | EffectFailed
    | EffectSuperseded
    | DecisionScheduled
    | DecisionFired
    | DecisionCancelled
    | ObservationGapFound
    | ObservationsConfirmed
    | StatusPublished
    | StatusWriteFailed
    | EvidenceCaptured
    | ControlReleased
    | ControlTaken
    | LedgerBehindFound
    | RecoveredFromCluster
    | AnnotationsRejected
)

OWN_WORK = frozenset(
    (
        *(EffectRequested, StatusPublished, StatusWriteFailed, ObservationsConfirmed),
        *(DecisionScheduled, DecisionCancelled),
    )
)
"""Events of the controller's own work, a third of all: no attempt and no phase changes by them."""

SHARED_EVENTS: frozenset[type] = frozenset(get_args(SharedEvent))
