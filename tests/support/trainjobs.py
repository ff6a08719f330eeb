"""Observations and stories of one TrainJob called `train`, and how they are played.

Instants are given as seconds after noon. An observation's id follows from all that it says.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias, TypeVar
from uuid import UUID

from msgspec.structs import replace

from jobledger.core.catalogue import NAMES
from jobledger.core.decider import Decided, folded
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import (
    DecisionDue,
    EffectEnded,
    StatusWritten,
    WatchInterrupted,
)
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect, Outcome
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.observations import (
    DependentGone,
    JobCounts,
    JobSetEnd,
    JobSetGone,
    JobSetSeen,
    ProgressSeen,
    RuntimeSeen,
    SeenTrainStatus,
    TrainJobGone,
    TrainJobObservation,
    TrainJobSeen,
)
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.progress import TrainerProgress
from jobledger.core.trainjob.spec import RuntimeRef, TrainJobSpec
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.trainjob.status.status import status
from jobledger.core.values.documents import Json
from jobledger.core.values.ids import ObservationId, observation_id
from jobledger.core.values.instants import Instant, rfc3339
from tests.support.observed import assert_kept_as_it_came
from tests.support.records import NOON, a_stream
from tests.support.rows import check_laws, check_projections

STREAM = a_stream("train")
JOB, UID = "train", "uid-of-train"
IDENTITY = JobIdentity(
    stream_id=STREAM, cluster="kind", namespace="ml", name=JOB, uid=UID, created_at=NOON
)
RUNTIME = RuntimeRef(name="torch-distributed")
UNNAMED = ObservationId(UUID(int=0))
APPLY, DELETE = EffectKind.APPLY_OBJECTS, EffectKind.DELETE_JOBSET
COMPLETED_MESSAGE = "jobset completed successfully"
FAILED_MESSAGE = "jobset failed due to one or more job failures (first failed job: train-node-0)"

Observed = TypeVar("Observed", bound=TrainJobObservation)
Reply: TypeAlias = Callable[[TrainJobState], TrainJobObservation]
Step: TypeAlias = TrainJobObservation | Reply


def after(seconds: float) -> Instant:
    """Return the instant so many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def shown(seconds: float) -> str:
    """Return the instant as `.status` shows it."""
    return rfc3339(after(seconds))


def named(observation: Observed) -> Observed:
    """Return the observation with the id that follows from what it says."""
    mark = repr(replace(observation, id=UNNAMED))
    return replace(observation, id=observation_id(STREAM, mark))


def manifest(
    at: float = 0,
    *,
    generation: int = 1,
    deleting: bool = False,
    status: SeenTrainStatus | None = None,
    policy: TrainPolicy | None = None,
    recorded: str = "",
    **spec: object,
) -> TrainJobSeen:
    """Return a look at the TrainJob; the digest follows from the generation, as a real one's."""
    return named(
        TrainJobSeen(
            id=UNNAMED,
            at=after(at),
            identity=IDENTITY,
            generation=generation,
            digest=f"digest-{generation}",
            spec=TrainJobSpec(**{"runtime": RUNTIME, **spec}),  # type: ignore[arg-type] # by name
            policy=policy or TrainPolicy(),
            deleting_at=after(at) if deleting else None,
            status=status or SeenTrainStatus(),
            document={"spec": {"generation": generation}},
            recorded=recorded,
        )
    )


def manifest_gone(at: float = 900) -> TrainJobGone:
    """Return that the TrainJob object is gone."""
    return named(TrainJobGone(id=UNNAMED, at=after(at)))


def runtime(digest: str = "runtime-1", at: float = 0) -> RuntimeSeen:
    """Return a look at the runtime; an empty digest: it is not there."""
    return named(RuntimeSeen(id=UNNAMED, at=after(at), digest=digest))


def progress(at: float = 20, percentage: int | None = 40, *, reports: int = 1) -> ProgressSeen:
    """Return that the job's Pods reported how far they are."""
    shown = TrainerProgress(percentage=percentage)
    return named(ProgressSeen(id=UNNAMED, at=after(at), progress=shown, reports=reports))


def snapshot_gone(at: float = 40) -> DependentGone:
    """Return that the snapshot was deleted."""
    return named(
        DependentGone(id=UNNAMED, at=after(at), name=f"{JOB}-runtime-snapshot", uid="snapshot-1")
    )


def counts(name: str = "node", **numbers: int) -> JobCounts:
    """Return the counters of a replicatedJob."""
    return JobCounts(name=name, **numbers)


def jobset(
    at: float = 10,
    *jobs: JobCounts,
    uid: str = "jobset-1",
    owned: bool = True,
    generation: int = 1,
    suspend: bool = False,
    restarts: int = 0,
    deleting: bool = False,
    end: JobSetEnd | None = None,
    contributed: tuple[Condition, ...] = (),
    name: str = "",
) -> JobSetSeen:
    """Return a look at the JobSet; without a name, at the job's own."""
    return named(
        JobSetSeen(
            id=UNNAMED,
            at=after(at),
            name=name or JOB,
            uid=uid,
            owned=owned,
            generation=generation,
            suspend=suspend,
            restarts=restarts,
            deleting=deleting,
            jobs=jobs,
            end=end,
            contributed=contributed,
        )
    )


def jobset_gone(at: float = 50, *, uid: str = "jobset-1") -> JobSetGone:
    """Return that the JobSet is gone."""
    return named(JobSetGone(id=UNNAMED, at=after(at), name=JOB, uid=uid))


def completed_end(at: float = 60) -> JobSetEnd:
    """Return the end of a JobSet that completed."""
    return JobSetEnd(
        completed=True, reason="AllJobsCompleted", message=COMPLETED_MESSAGE, ended_at=after(at)
    )


def failed_end(at: float = 60, reason: str = "FailedJobs") -> JobSetEnd:
    """Return the end of a JobSet that failed."""
    return JobSetEnd(completed=False, reason=reason, message=FAILED_MESSAGE, ended_at=after(at))


def _open(state: TrainJobState, kind: EffectKind) -> OpenEffect:
    found = [effect for effect in state.effects if effect.desired.kind is kind]
    assert len(found) == 1, f"{len(found)} effects {kind} are open: {state.effects}"
    return found[0]


def _ended(kind: EffectKind, at: float, outcome: Outcome, **more: object) -> Reply:
    def reply(state: TrainJobState) -> EffectEnded:
        return named(
            EffectEnded(
                id=UNNAMED,
                at=after(at),
                effect_id=_open(state, kind).effect_id,
                outcome=outcome,
                **more,  # type: ignore[arg-type] # fields by name
            )
        )

    return reply


def applied(
    at: float = 1,
    *,
    uid: str = "jobset-1",
    generation: int = 1,
    suspend: bool = False,
    runtime_digest: str = "runtime-1",
    snapshot: bool = True,
) -> Reply:
    """Return that all objects are in place."""
    outcome = ApplyOutcome(
        runtime=runtime_digest,
        jobset_uid=uid,
        jobset_generation=generation,
        jobset_suspend=suspend,
        names=(f"JobSet/{JOB}",),
        snapshot=snapshot,
    )
    return _ended(APPLY, at, Outcome.SUCCEEDED, uid=uid, details=write_outcome(outcome))


def not_built(
    at: float = 1,
    cause: str = "plugin torch: no",
    *,
    runtime_digest: str = "runtime-1",
    may_pass: bool = False,
) -> Reply:
    """Return that the objects could not be built."""
    outcome = ApplyOutcome(runtime=runtime_digest, failed_building=True, may_pass=may_pass)
    return _ended(APPLY, at, Outcome.FAILED, trouble=cause, details=write_outcome(outcome))


def not_created(
    at: float = 1, cause: str = "JobSet ml/train: exceeded quota", *, may_pass: bool = True
) -> Reply:
    """Return that an object could not be applied."""
    outcome = ApplyOutcome(runtime="runtime-1", may_pass=may_pass)
    return _ended(APPLY, at, Outcome.FAILED, trouble=cause, details=write_outcome(outcome))


def faltered(at: float = 1, kind: EffectKind = APPLY, trouble: str = "503") -> Reply:
    """Return that a try failed in a way that may pass at once."""
    return _ended(kind, at, Outcome.FALTERED, trouble=trouble)


def superseded(at: float = 1) -> Reply:
    """Return that the specification has changed before anything was sent."""
    return _ended(APPLY, at, Outcome.SUPERSEDED, trouble="the specification has changed since")


def deleted(at: float = 101) -> Reply:
    """Return that the JobSet's deletion was asked for."""
    return _ended(DELETE, at, Outcome.SUCCEEDED, uid="jobset-1")


def delete_refused(at: float = 101) -> Reply:
    """Return that the JobSet may not be deleted."""
    return _ended(DELETE, at, Outcome.FAILED, trouble="jobsets is forbidden")


def due(kind: DecisionKind, at: float | None = None) -> Reply:
    """Return that the pending decision of a kind is due; at its instant unless said otherwise."""

    def reply(state: TrainJobState) -> DecisionDue:
        found = [item for item in state.decisions if item.kind is kind]
        assert len(found) == 1, f"{len(found)} decisions {kind} are pending: {state.decisions}"
        instant = found[0].due_at if at is None else after(at)
        return named(DecisionDue(id=UNNAMED, at=instant, decision_id=found[0].decision_id))

    return reply


def written(at: float, version: str = "7") -> StatusWritten:
    """Return that `.status` was written."""
    return named(
        StatusWritten(
            id=UNNAMED, at=after(at), phase="Created=True", resource_version=version, status_sha="5"
        )
    )


def interrupted(since: float, until: float) -> WatchInterrupted:
    """Return that a watch had to list anew."""
    return named(
        WatchInterrupted(
            id=UNNAMED,
            at=after(until),
            source="JobSet",
            since=after(since),
            until=after(until),
            reason="410 Gone",
        )
    )


def seen(**spec: object) -> tuple[Step, ...]:
    """Return a job that was just seen, with its runtime."""
    return manifest(**spec), runtime()  # type: ignore[arg-type] # a spec


def created(**spec: object) -> tuple[Step, ...]:
    """Return a job of which all objects are in place since 1 s."""
    return *seen(**spec), applied(1, suspend=spec.get("suspend") is True)


def running(**spec: object) -> tuple[Step, ...]:
    """Return a job whose two nodes are ready since 20 s."""
    return *created(**spec), jobset(10, counts(active=1)), jobset(20, counts(active=1, ready=1))


def completed(**spec: object) -> tuple[Step, ...]:
    """Return a job that is Complete since 60 s."""
    return *running(**spec), jobset(60, counts(succeeded=1), end=completed_end())


NOTHING_YET: Decided[TrainJobState, TrainJobEvent] = Decided(TrainJobState())


@dataclass(slots=True)
class Played:
    """A story so far."""

    state: TrainJobState = field(default_factory=TrainJobState)
    history: list[TrainJobEvent] = field(default_factory=list)
    news: tuple[TrainJobEvent, ...] = ()
    """What the last step brought."""
    decided: Decided[TrainJobState, TrainJobEvent] = NOTHING_YET
    """The same with the states after it."""

    def take(self, step: Step) -> None:
        """Play one more step, and hold it against the laws."""
        observation = step(self.state) if callable(step) else step
        self.decided = decided = TRAINJOB.decide(self.state, observation)
        self.news = decided.events
        self.history += self.news
        self.state = decided.state
        assert decided.states == folded(decided.before, self.news, TRAINJOB.evolve).states
        assert_kept_as_it_came(observation, decided)
        again = TRAINJOB.news(self.state, observation)
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
    check_laws(TRAINJOB, played.history, 0)
    for known in range(1, len(played.history)):
        check_projections(TRAINJOB, played.history, known)
    return played


def message(played: Played, kind: str) -> Json:
    """Return the message of a condition."""
    found = [item for item in played.state.conditions if item.type == kind]
    return found[0].message if found else None
