"""Observations and stories of one Job called `etl`, and how they are played.

Instants are given as seconds after noon. An observation's id follows from all that it says.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias, TypeVar
from uuid import UUID

from msgspec.structs import replace

from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.events import BatchJobEvent
from jobledger.core.batchjob.names import MANAGED_BY, attempt_job_name
from jobledger.core.batchjob.observations import (
    NO_STATUS,
    AttemptJobGone,
    AttemptJobSeen,
    BatchJobGone,
    BatchJobObservation,
    BatchJobSeen,
    JobEnd,
    PodCounts,
    SeenBatchStatus,
)
from jobledger.core.batchjob.spec import BatchJobSpec
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.batchjob.status.status import status
from jobledger.core.catalogue import NAMES
from jobledger.core.decider import Decided, folded
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import DecisionDue, EffectEnded, Survey, WatchInterrupted
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect, Outcome
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.options import NOTHING_ASKED
from jobledger.core.values.ids import ObservationId, observation_id
from jobledger.core.values.instants import Instant
from tests.support.observed import assert_kept_as_it_came
from tests.support.records import NOON, a_stream
from tests.support.rows import check_laws, check_projections

STREAM = a_stream("etl")
JOB, UID = "etl", "uid-of-etl"
IDENTITY = JobIdentity(
    stream_id=STREAM, cluster="kind", namespace="data", name=JOB, uid=UID, created_at=NOON
)
UNNAMED = ObservationId(UUID(int=0))
CREATE, DELETE = EffectKind.CREATE_ATTEMPT_JOB, EffectKind.DELETE_ATTEMPT_JOB
SUSPEND, RESUME = EffectKind.SUSPEND_ATTEMPT_JOB, EffectKind.RESUME_ATTEMPT_JOB
REACHED = "Reached expected number of succeeded pods"
BACKOFF = "Job has reached the specified backoff limit"

Observed = TypeVar("Observed", bound=BatchJobObservation)
Reply: TypeAlias = Callable[[BatchJobState], BatchJobObservation]
Step: TypeAlias = BatchJobObservation | Reply


def after(seconds: float) -> Instant:
    """Return the instant so many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def named(observation: Observed) -> Observed:
    """Return the observation with the id that follows from what it says."""
    mark = repr(replace(observation, id=UNNAMED))
    return replace(observation, id=observation_id(STREAM, mark))


def name_of(attempt: int) -> str:
    """Return the name of an attempt's Job."""
    return attempt_job_name(JOB, UID, attempt)


def uid_of(attempt: int) -> str:
    """Return the UID of an attempt's Job."""
    return f"job-{attempt}"


def manifest(
    at: float = 0,
    *,
    generation: int = 1,
    deleting: bool = False,
    status: SeenBatchStatus = NO_STATUS,
    recorded: str = "",
    policy: Policy | None = None,
    deadline: int | None = None,
    more: Mapping[str, object] | None = None,
    **spec: object,
) -> BatchJobSeen:
    """Return a look at the user's Job; the digest follows from the generation, as a real one's."""
    options = replace(NOTHING_ASKED, job_deadline_seconds=deadline)
    said = {"managed_by": MANAGED_BY, "options": options, **spec}
    return named(
        BatchJobSeen(
            id=UNNAMED,
            at=after(at),
            identity=IDENTITY,
            generation=generation,
            digest=f"digest-{generation}",
            spec=BatchJobSpec(**said),  # type: ignore[arg-type] # fields by name
            policy=policy or Policy(),
            deleting_at=after(at) if deleting else None,
            status=status,
            document={"spec": {"generation": generation}},
            recorded=recorded,
            **(more or {}),  # type: ignore[arg-type] # fields by name
        )
    )


def manifest_gone(at: float = 900) -> BatchJobGone:
    """Return that the user's Job is gone."""
    return named(BatchJobGone(id=UNNAMED, at=after(at)))


def surveyed(at: float, *attempts: int, **more: object) -> BatchJobSeen:
    """Return a look at the user's Job that says of which attempts Jobs are there."""
    there = Survey(there=tuple(name_of(number) for number in attempts))
    seen = manifest(at, **more)  # type: ignore[arg-type] # as `manifest` takes it
    return named(replace(seen, survey=there))


def pods(**numbers: int) -> PodCounts:
    """Return how many Pods are in which state."""
    return PodCounts(**numbers)


def job(
    at: float = 10,
    attempt: int = 1,
    *,
    uid: str = "",
    suspend: bool = False,
    deleting: bool = False,
    end: JobEnd | None = None,
    name: str = "",
    version: str = "",
    **numbers: int,
) -> AttemptJobSeen:
    """Return a look at the Job of an attempt."""
    return named(
        AttemptJobSeen(
            id=UNNAMED,
            at=after(at),
            name=name or name_of(attempt),
            uid=uid or uid_of(attempt),
            suspend=suspend,
            deleting=deleting,
            pods=PodCounts(**numbers),
            end=end,
            version=version,
        )
    )


def job_gone(at: float = 50, attempt: int = 1, *, uid: str | None = None) -> AttemptJobGone:
    """Return that the Job of an attempt is gone."""
    gone = uid_of(attempt) if uid is None else uid
    return named(AttemptJobGone(id=UNNAMED, at=after(at), name=name_of(attempt), uid=gone))


def complete_end(at: float = 60) -> JobEnd:
    """Return the end of a Job that is complete."""
    return JobEnd(completed=True, reason="CompletionsReached", message=REACHED, ended_at=after(at))


def failed_end(at: float = 60, reason: str = "BackoffLimitExceeded") -> JobEnd:
    """Return the end of a Job that failed."""
    return JobEnd(completed=False, reason=reason, message=BACKOFF, ended_at=after(at))


def _open(state: BatchJobState, kind: EffectKind) -> OpenEffect:
    found = [effect for effect in state.effects if effect.desired.kind is kind]
    assert len(found) == 1, f"{len(found)} effects {kind} are open: {state.effects}"
    return found[0]


def outcome(
    kind: EffectKind, at: float, result: Outcome = Outcome.SUCCEEDED, **more: object
) -> Reply:
    """Return the outcome of the open effect of a kind."""

    def reply(state: BatchJobState) -> EffectEnded:
        effect = _open(state, kind)
        return named(
            EffectEnded(
                id=UNNAMED,
                at=after(at),
                effect_id=effect.effect_id,
                outcome=result,
                **more,  # type: ignore[arg-type] # fields by name
            )
        )

    return reply


def created(at: float = 1, attempt: int = 1, *, already: bool = False) -> Reply:
    """Return that the Job of an attempt was made."""
    return outcome(CREATE, at, uid=uid_of(attempt), already=already)


def deleted(
    at: float = 61, attempt: int = 1, *, gone: bool = False, already: bool = False
) -> Reply:
    """Return that the deletion of an attempt's Job was asked for."""
    return outcome(DELETE, at, uid=uid_of(attempt), gone=gone, already=already)


def due(kind: DecisionKind, at: float | None = None) -> Reply:
    """Return that the pending decision of a kind is due; at its instant unless said otherwise."""

    def reply(state: BatchJobState) -> DecisionDue:
        found = [item for item in state.decisions if item.kind is kind]
        assert len(found) == 1, f"{len(found)} decisions {kind} are pending: {state.decisions}"
        instant = found[0].due_at if at is None else after(at)
        return named(DecisionDue(id=UNNAMED, at=instant, decision_id=found[0].decision_id))

    return reply


def interrupted(since: float, until: float) -> WatchInterrupted:
    """Return that a watch had to list anew."""
    return named(
        WatchInterrupted(
            id=UNNAMED,
            at=after(until),
            source="Job",
            since=after(since),
            until=after(until),
            reason="410 Gone",
        )
    )


def running(**spec: object) -> tuple[Step, ...]:
    """Return a job whose first attempt has a ready Pod since 10 s."""
    return manifest(**spec), created(), job(10, active=1, ready=1)  # type: ignore[arg-type] # a spec


def failing(**spec: object) -> tuple[Step, ...]:
    """Return a job whose first attempt failed at 60 s."""
    return *running(**spec), job(60, end=failed_end(), failed=1)


def retried(**spec: object) -> tuple[Step, ...]:
    """Return a job whose second attempt begins at 62 s, when the Job of the first is gone."""
    limit = {"backoff_limit": 1, **spec}
    return *failing(**limit), deleted(61), job_gone(62)


def completed(**spec: object) -> tuple[Step, ...]:
    """Return a job that is Complete since 60 s."""
    return *running(**spec), job(60, end=complete_end(), succeeded=1)


NOTHING_YET: Decided[BatchJobState, BatchJobEvent] = Decided(BatchJobState())


@dataclass(slots=True)
class Played:
    """A story so far."""

    state: BatchJobState = field(default_factory=BatchJobState)
    history: list[BatchJobEvent] = field(default_factory=list)
    news: tuple[BatchJobEvent, ...] = ()
    """What the last step brought."""
    decided: Decided[BatchJobState, BatchJobEvent] = NOTHING_YET
    """The same with the states after it."""

    def take(self, step: Step) -> None:
        """Play one more step, and hold it against the laws."""
        observation = step(self.state) if callable(step) else step
        self.decided = decided = BATCHJOB.decide(self.state, observation)
        self.news = decided.events
        self.history += self.news
        self.state = decided.state
        assert decided.states == folded(decided.before, self.news, BATCHJOB.evolve).states
        assert_kept_as_it_came(observation, decided)
        again = BATCHJOB.news(self.state, observation)
        assert again == (), f"the same observation again brought {again}"

    @property
    def said(self) -> list[str]:
        """Return the names of the events that the last step brought."""
        return [NAMES[type(event)] for event in self.news]

    @property
    def conditions(self) -> list[str]:
        """Return the conditions as they are shown, as `Type=Status/Reason`."""
        found = status(self.state).get("conditions", [])
        assert isinstance(found, Sequence)
        return [
            f"{item['type']}={item['status']}/{item['reason']}"
            for item in found
            if isinstance(item, Mapping)
        ]


def play(story: Iterable[Step]) -> Played:
    """Return what a story leads to, held against what is true of every history."""
    played = Played()
    for step in story:
        played.take(step)
    check_laws(BATCHJOB, played.history, 0)
    for known in range(1, len(played.history)):
        check_projections(BATCHJOB, played.history, known)
    return played
