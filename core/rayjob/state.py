"""What is known of one RayJob: the fold of its stream, and the questions the rules ask of it."""

from dataclasses import dataclass
from typing import NamedTuple

from core.jobs.decisions import PendingDecision
from core.jobs.effects import OpenEffect, RefusedEffect
from core.jobs.policy import Policy
from core.rayjob.observations import JobIdentity, Problem
from core.rayjob.phases import ENDED, FINAL, JobStatus, Phase
from core.rayjob.spec import RayJobSpec
from core.values.documents import Manifest
from core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownManifest:
    """The manifest as it was last received."""

    generation: int
    digest: str
    spec: RayJobSpec
    policy: Policy
    finalizer: bool
    problem: Problem | None
    deleting_at: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCluster:
    """A RayCluster of the job."""

    name: str
    uid: str = ""
    """Empty while nobody knows whether it exists: a request to create it may be on its way."""
    state: str = ""
    address: str = ""
    deleting: bool = False
    delete_asked: bool = False
    status: Manifest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSubmitter:
    """The submitter of the attempt."""

    name: str
    uid: str = ""
    """Empty while nobody knows whether it exists."""
    deleting: bool = False
    delete_asked: bool = False
    outcome: str = ""
    """Complete, Failed, or Vanished; empty while it goes on."""
    finished_at: Instant | None = None
    """By the cluster's clock."""
    seen_finished_at: Instant | None = None
    """When the controller learned of it."""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrypoint:
    """The Ray job of the attempt, as the head tells it."""

    status: JobStatus = JobStatus.NEW
    message: str = ""
    started_at: Instant | None = None
    ended_at: Instant | None = None
    ended_seen_at: Instant | None = None
    """When the controller learned that it had ended."""
    error_type: str = ""
    exit_code: int | None = None
    missed: bool = False
    """The head answered that it does not know it."""
    silent_since: Instant | None = None
    """Since when the head has left the status checks unanswered."""
    trouble: str = ""

    @property
    def has_ended(self) -> bool:
        """Return whether Ray will not change its mind any more."""
        return self.status in ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The current or last execution."""

    number: int
    cluster_name: str
    job_id: str
    generation: int
    started_at: Instant
    address: str = ""
    """`host:port` of the head; known from Running (Waiting) on."""
    submitted: bool = False
    """HTTPMode: the head has taken the entrypoint."""
    submit_refused: str = ""
    """HTTPMode: why the head would not take it."""
    look_wanted: bool = False
    """The submitter ended: the Ray job is to be asked at once."""
    stop_tried: bool = False
    retry_at: Instant | None = None
    """Not before this may the next attempt begin."""
    retry_due: bool = False
    cleared: bool = False
    """Nothing of it is left, its names are no longer shown."""
    cluster_lost: bool = False
    """Its RayCluster went without having been asked to."""


class RayJobState(NamedTuple):
    """One RayJob. A NamedTuple because every event replaces a field or two of it."""

    identity: JobIdentity | None = None
    manifest: KnownManifest | None = None
    phase: Phase = Phase.NEW
    paused: Phase | None = None
    """In ValidationFailed: the phase it came from."""
    attempt: Attempt | None = None
    cluster: KnownCluster | None = None
    submitter: KnownSubmitter | None = None
    entrypoint: Entrypoint = Entrypoint()
    strays: tuple[KnownCluster, ...] = ()
    gone: tuple[str, ...] = ()
    """UIDs of children that are known to be gone: late news of them is no news."""
    reason: str = ""
    message: str = ""
    started_at: Instant | None = None
    ended_at: Instant | None = None
    succeeded: int = 0
    failed: int = 0
    retries: int = 0
    shutdown_due: bool = False
    deleted_at: Instant | None = None
    effects: tuple[OpenEffect, ...] = ()
    refused: tuple[RefusedEffect, ...] = ()
    decisions: tuple[PendingDecision, ...] = ()
    published: str = ""
    """resourceVersion of the object after the last status write."""
    confirmed_at: Instant | None = None
    """Instant of the last sum of observations without news."""
    gap_until: Instant | None = None
    """End of the last known gap in what was seen."""


GONE_REMEMBERED_MAX = 8
"""How many UIDs of vanished children are remembered; late news comes within moments."""


def remember_gone(state: RayJobState, uid: str) -> RayJobState:
    """Return the state with one more UID that is known to be gone."""
    if not uid or uid in state.gone:
        return state
    return state._replace(gone=(*state.gone, uid)[-GONE_REMEMBERED_MAX:])


def standing(state: RayJobState) -> Phase:
    """Return the phase the job stands in, seen through a pause by ValidationFailed."""
    return state.paused if state.paused is not None else state.phase


def is_final(state: RayJobState) -> bool:
    """Return whether the job has ended for good."""
    return state.phase in FINAL


def is_dormant(state: RayJobState) -> bool:
    """Return whether nothing may be done about the job: it is gone, unknown, or somebody else's."""
    return state.deleted_at is not None or state.manifest is None or not state.manifest.spec.is_ours


def is_leaving(state: RayJobState) -> bool:
    """Return whether the object is being deleted."""
    return state.manifest is not None and state.manifest.deleting_at is not None


def selects_cluster(state: RayJobState) -> bool:
    """Return whether the job runs on a RayCluster that is not its own."""
    return state.manifest is not None and state.manifest.spec.cluster_selector != ""


def has_submitter(state: RayJobState) -> bool:
    """Return whether a batch Job hands in the entrypoint."""
    return state.manifest is not None and state.manifest.spec.has_submitter


def wants_poll(state: RayJobState) -> bool:
    """Return whether the head is to be asked about the entrypoint."""
    attempt = state.attempt
    if is_dormant(state) or is_leaving(state) or attempt is None:
        return False
    waits_for_submission = not has_submitter(state) and _is_http(state) and not attempt.submitted
    return (
        standing(state) is Phase.RUNNING
        and attempt.address != ""
        and attempt.job_id != ""
        and not waits_for_submission
    )


def _is_http(state: RayJobState) -> bool:
    return state.manifest is not None and state.manifest.spec.submission_mode == "HTTPMode"


def is_open(state: RayJobState) -> bool:
    """Return whether anything is left to do or to wait for."""
    if state.deleted_at is not None or state.manifest is None:
        return False
    unfinished = bool(state.effects or state.decisions or state.strays or state.refused)
    shutting_down = state.shutdown_due and state.cluster is not None
    return not is_final(state) or unfinished or shutting_down or is_leaving(state)
