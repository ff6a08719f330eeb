"""Observations of one RayJob called `train`, with defaults, so that a row shows only what matters.

Instants are given as seconds after noon. An observation's id follows from all that it says, so two
that say the same at the same instant are one observation, delivered twice.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace

from jobledger.core.jobs.events import Confirmation
from jobledger.core.jobs.observations import (
    DecisionDue,
    EffectEnded,
    NothingNew,
    StatusNotWritten,
    StatusWritten,
    WatchInterrupted,
)
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect, Outcome
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.options import NOTHING_ASKED, RetryOptions
from jobledger.core.rayjob import names
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    JobIdentity,
    ManifestGone,
    ManifestSeen,
    PodsSeen,
    PollAnswered,
    PollNotFound,
    PollUnanswered,
    Problem,
    RayJobObservation,
    SeenStatus,
    SubmitterGone,
    SubmitterSeen,
)
from jobledger.core.rayjob.observations.pods import PodFact, PodLook
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.spec import RayJobSpec, SubmissionMode
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import ObservationId, observation_id
from jobledger.core.values.instants import Instant, rfc3339
from tests.support.records import NOON
from tests.support.rows import STREAM, Reply

JOB, UID = "train", "uid-of-train"
ADDRESS = "train-head-svc.ml.svc.cluster.local:8265"
POLICY = Policy()
IDENTITY = JobIdentity(
    stream_id=STREAM, cluster="kind", namespace="ml", name=JOB, uid=UID, created_at=NOON
)
HTTP, INTERACTIVE = SubmissionMode.HTTP, SubmissionMode.INTERACTIVE
SIDECAR, UNKNOWN = SubmissionMode.SIDECAR, SubmissionMode.UNKNOWN
UNNAMED = ObservationId(UUID(int=0))
REFUSAL = "pods is forbidden: exceeded quota"

Observed = TypeVar("Observed", bound=RayJobObservation)


def after(seconds: float) -> Instant:
    """Return the instant so many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def shown(seconds: float) -> str:
    """Return the instant so many seconds after noon as `.status` shows it."""
    return rfc3339(after(seconds))


def cluster_of(attempt: int = 1) -> str:
    """Return the name of an attempt's RayCluster."""
    return names.cluster_name(JOB, UID, attempt)


def submission_of(attempt: int = 1) -> str:
    """Return the submission id of an attempt."""
    return names.submission_id(JOB, UID, attempt)


def named(observation: Observed) -> Observed:
    """Return the observation with the id that follows from what it says."""
    mark = repr(replace(observation, id=UNNAMED))
    return replace(observation, id=observation_id(STREAM, mark))


def manifest(
    at: float = 0,
    *,
    generation: int = 1,
    problem: str = "",
    finalizer: bool = False,
    deleting: bool = False,
    status: SeenStatus | None = None,
    policy: Policy = POLICY,
    options: RetryOptions = NOTHING_ASKED,
    option_problems: tuple[str, ...] = (),
    recorded: str = "",
    **spec: object,
) -> ManifestSeen:
    """Return a look at the RayJob; the digest follows from the generation, as a real one would."""
    return named(
        ManifestSeen(
            id=UNNAMED,
            at=after(at),
            identity=IDENTITY,
            generation=generation,
            digest=f"digest-{generation}",
            spec=RayJobSpec(**spec),  # type: ignore[arg-type] # fields by name
            problem=Problem(kind="InvalidRayJobSpec", message=problem) if problem else None,
            policy=policy,
            finalizer=finalizer,
            deleting_at=after(at) if deleting else None,
            status=status or SeenStatus(phase=""),
            document={"spec": {"entrypoint": f"python train.py {generation}"}},
            options=options,
            option_problems=option_problems,
            recorded=recorded,
        )
    )


def pod(role: str = "head", phase: str = "Running", *, name: str = "", **said: object) -> PodFact:
    """Return what a Pod says."""
    named_so = name or f"{JOB}-{role}"
    return PodFact(
        name=named_so,
        uid=f"uid-of-{named_so}",
        role=role,
        phase=phase,
        **said,  # type: ignore[arg-type] # fields by name
    )


def pods(
    at: float,
    *seen: PodFact,
    purpose: PodLook = PodLook.EVIDENCE,
    attempt: int = 1,
    trouble: str = "",
) -> PodsSeen:
    """Return a look at the Pods of an attempt."""
    return named(
        PodsSeen(
            id=UNNAMED,
            at=after(at),
            attempt=attempt,
            purpose=purpose,
            total=len(seen),
            pods=seen,
            trouble=trouble,
        )
    )


def manifest_gone(at: float = 900) -> ManifestGone:
    """Return that the RayJob object is gone."""
    return named(ManifestGone(id=UNNAMED, at=after(at)))


def cluster(
    state: str = "ready",
    at: float = 10,
    *,
    attempt: int = 1,
    uid: str = "",
    name: str = "",
    owned: bool = True,
    deleting: bool = False,
    address: str = ADDRESS,
    status: Manifest | None = None,
) -> ClusterSeen:
    """Return a look at an attempt's RayCluster."""
    return named(
        ClusterSeen(
            id=UNNAMED,
            at=after(at),
            name=name or cluster_of(attempt),
            uid=uid or f"cluster-{attempt}",
            owned=owned,
            state=state,
            address=address,
            deleting=deleting,
            status={"state": state} if status is None else status,
        )
    )


def cluster_gone(
    at: float = 50, *, attempt: int = 1, uid: str | None = None, name: str = ""
) -> ClusterGone:
    """Return that an attempt's RayCluster is gone."""
    found = f"cluster-{attempt}" if uid is None else uid
    gone = ClusterGone(id=UNNAMED, at=after(at), name=name or cluster_of(attempt), uid=found)
    return named(gone)


def submitter(
    finished: str = "",
    at: float = 12,
    *,
    attempt: int = 1,
    uid: str = "",
    owned: bool = True,
    deleting: bool = False,
    finished_at: float | None = None,
    reason: str = "",
    message: str = "",
    job_id: str = "",
) -> SubmitterSeen:
    """Return a look at the submitter; it ended at `finished_at`, or 2 s before it was seen."""
    ended = after(at - 2 if finished_at is None else finished_at)
    return named(
        SubmitterSeen(
            id=UNNAMED,
            at=after(at),
            name=JOB,
            uid=uid or f"submitter-{attempt}",
            owned=owned,
            finished=finished,
            finished_at=ended if finished else None,
            reason=reason,
            message=message,
            deleting=deleting,
            job_id=job_id,
        )
    )


def submitter_gone(at: float = 50, *, attempt: int = 1) -> SubmitterGone:
    """Return that the submitter is gone."""
    return named(SubmitterGone(id=UNNAMED, at=after(at), name=JOB, uid=f"submitter-{attempt}"))


def poll(
    status: str = "RUNNING",
    at: float = 30,
    *,
    attempt: int = 1,
    job_id: str = "",
    message: str = "",
    started_at: float | None = None,
    ended_at: float | None = None,
    exit_code: int | None = None,
) -> PollAnswered:
    """Return what the head told of the entrypoint."""
    return named(
        PollAnswered(
            id=UNNAMED,
            at=after(at),
            job_id=job_id or submission_of(attempt),
            status=JobStatus(status),
            message=message,
            started_at=None if started_at is None else after(started_at),
            ended_at=None if ended_at is None else after(ended_at),
            exit_code=exit_code,
        )
    )


def not_found(at: float = 30, *, attempt: int = 1) -> PollNotFound:
    """Return that the head does not know the submission."""
    return named(PollNotFound(id=UNNAMED, at=after(at), job_id=submission_of(attempt)))


def silence(at: float = 30, *, attempt: int = 1, trouble: str = "no route") -> PollUnanswered:
    """Return that the head gave no answer that makes sense."""
    job_id = submission_of(attempt)
    return named(PollUnanswered(id=UNNAMED, at=after(at), job_id=job_id, trouble=trouble))


def interrupted(since: float, until: float, source: str = "RayCluster") -> WatchInterrupted:
    """Return that a watch had to list anew."""
    return named(
        WatchInterrupted(
            id=UNNAMED,
            at=after(until),
            source=source,
            since=after(since),
            until=after(until),
            reason="410 Gone",
        )
    )


def nothing_new(at: float, count: int = 3) -> NothingNew:
    """Return the sum of polls that answered as before."""
    summed = Confirmation(source="poll", count=count, first_at=after(at - 9), last_at=after(at))
    return named(NothingNew(id=UNNAMED, at=after(at), sources=(summed,)))


def written(phase: str, at: float, version: str = "7") -> StatusWritten:
    """Return that `.status` was written."""
    return named(
        StatusWritten(
            id=UNNAMED, at=after(at), phase=phase, resource_version=version, status_sha="5ha"
        )
    )


def unwritten(at: float, since: float, trouble: str = "403 Forbidden") -> StatusNotWritten:
    """Return that `.status` could not be written for a while."""
    return named(StatusNotWritten(id=UNNAMED, at=after(at), since=after(since), trouble=trouble))


def _open_effect(state: RayJobState, kind: EffectKind, name: str) -> OpenEffect:
    found = [e for e in state.effects if e.desired.kind is kind and name in ("", e.desired.name)]
    assert len(found) == 1, f"{len(found)} effects {kind} {name} are open: {state.effects}"
    return found[0]


def _ended(
    outcome: Outcome, kind: EffectKind, at: float, name: str = ""
) -> Callable[[RayJobState], EffectEnded]:
    def reply(state: RayJobState) -> EffectEnded:
        effect = _open_effect(state, kind, name)
        return named(
            EffectEnded(
                id=UNNAMED, at=after(at), effect_id=effect.effect_id, outcome=outcome, uid=""
            )
        )

    return reply


def done(
    kind: EffectKind,
    at: float = 1,
    *,
    name: str = "",
    uid: str = "",
    gone: bool = False,
    already: bool = False,
) -> Reply:
    """Return that the open effect of a kind was done."""
    ended = _ended(Outcome.SUCCEEDED, kind, at, name)
    return lambda state: named(replace(ended(state), uid=uid, gone=gone, already=already))


def faltered(kind: EffectKind, at: float, trouble: str = "503 try later") -> Reply:
    """Return that a try of the open effect of a kind failed in a way that may pass."""
    ended = _ended(Outcome.FALTERED, kind, at)
    return lambda state: named(replace(ended(state), trouble=trouble))


def refused(kind: EffectKind, at: float, trouble: str = REFUSAL, *, name: str = "") -> Reply:
    """Return that the open effect of a kind was refused."""
    ended = _ended(Outcome.FAILED, kind, at, name)
    return lambda state: named(replace(ended(state), trouble=trouble))


def outdated(kind: EffectKind, at: float) -> Reply:
    """Return that nothing was sent, because the specification has changed since."""
    ended = _ended(Outcome.SUPERSEDED, kind, at)
    cause = "the specification has changed since"
    return lambda state: named(replace(ended(state), trouble=cause))


def due(kind: DecisionKind, at: float | None = None, *, looked: bool = True) -> Reply:
    """Return that the pending decision of a kind is due; `at` its instant unless said otherwise."""

    def reply(state: RayJobState) -> DecisionDue:
        found = [item for item in state.decisions if item.kind is kind]
        assert len(found) == 1, f"{len(found)} decisions {kind} are pending: {state.decisions}"
        return named(
            DecisionDue(
                id=UNNAMED,
                at=found[0].due_at if at is None else after(at),
                decision_id=found[0].decision_id,
                looked=looked,
            )
        )

    return reply
