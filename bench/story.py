"""The retry story as the decider tells it: one attempt fails, the next one succeeds.

Every observation is one that the service makes; the events, rows and records are those of the
real rules.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobledger.core.decider import Decided
from jobledger.core.jobs.observations import DecisionDue, EffectEnded, StatusWritten
from jobledger.core.jobs.pending.effects import Outcome
from jobledger.core.jobs.policy import Policy
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.ports.event_store import StreamAppend
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    JobIdentity,
    ManifestGone,
    ManifestSeen,
    PollAnswered,
    RayJobObservation,
    SeenStatus,
    SubmitterGone,
    SubmitterSeen,
)
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.spec import RayJobSpec, read_spec
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.status import status
from jobledger.core.turns import record_turn
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.ids import StreamId, name_suffix, observation_id, stream_id

CLUSTER = "bench"
SECOND = timedelta(seconds=1)
ADDRESS = "train-head-svc.ml.svc.cluster.local:8265"
CLUSTER_STATUS: Manifest = {
    "availableWorkerReplicas": 2,
    "desiredCPU": "3",
    "desiredMemory": "6Gi",
    "desiredWorkerReplicas": 2,
    "endpoints": {"dashboard": "8265", "client": "10001", "gcs-server": "6379"},
    "head": {"podIP": "10.1.2.3", "serviceIP": "10.1.2.4", "serviceName": "train-head-svc"},
    "state": "ready",
}


@dataclass(slots=True)
class Played:
    """What one observation brought."""

    observation: RayJobObservation
    decided: Decided[RayJobState, RayJobEvent]

    @property
    def events(self) -> tuple[RayJobEvent, ...]:
        """Return the events alone."""
        return self.decided.events


@dataclass(slots=True)
class Story:
    """One RayJob, from its first sight to its end; `at` is the time of the story."""

    name: str
    at: datetime
    manifest: Manifest
    ttl_seconds: int = 0
    state: RayJobState = field(default_factory=lambda: RAYJOB.initial)
    seen: int = 0

    @property
    def stream(self) -> StreamId:
        """Return the job's stream; the same for the same name and manifest."""
        return self.identity.stream_id

    identity: JobIdentity = field(init=False)

    def __post_init__(self) -> None:
        uid = f"{self.name}-{name_suffix(self.name, 'uid')}"
        self.identity = JobIdentity(
            stream_id=stream_id(CLUSTER, uid, self.at),
            cluster=CLUSTER,
            namespace="ml",
            name=self.name,
            uid=uid,
            created_at=self.at,
        )

    def until_running(self) -> Iterator[Played]:
        """Play from the first sight until the entrypoint runs."""
        yield self._manifest()
        yield from self._attempt()

    def whole(self, *, deleted: bool = True) -> Iterator[Played]:
        """Play everything: two attempts, the shutdown, and the end of the object."""
        yield from self.until_complete()
        yield self._due()
        yield from self._outcomes()
        yield self._see(ClusterGone, name=self._cluster, uid=f"uid-{self._cluster}")
        if deleted:
            yield self._see(ManifestGone)

    def until_running_again(self) -> Iterator[Played]:
        """Play one attempt that fails, and the next until its entrypoint runs."""
        yield from self.until_running()
        yield from self._end("Failed", JobStatus.FAILED)
        lost = self._cluster
        yield from self._outcomes()
        yield self._due()
        yield self._see(ClusterGone, name=lost, uid=f"uid-{lost}")
        yield self._see(SubmitterGone, name=self.name, uid=f"uid-{self.name}-1")
        yield from self._attempt()

    def until_complete(self) -> Iterator[Played]:
        """Play two attempts; the shutdown is due a while later."""
        yield from self.until_running_again()
        yield from self._end("Complete", JobStatus.SUCCEEDED)

    @property
    def _cluster(self) -> str:
        assert self.state.attempt is not None, "an attempt has begun"
        return self.state.attempt.cluster_name

    @property
    def _job_id(self) -> str:
        assert self.state.attempt is not None, "an attempt has begun"
        return self.state.attempt.job_id

    def _manifest(self) -> Played:
        spec = read_spec(self.manifest)
        made = RayJobSpec(
            backoff_limit=1,
            shutdown_after_job_finishes=True,
            ttl_seconds_after_finished=self.ttl_seconds,
            active_deadline_seconds=86_400,
            submission_mode=spec.submission_mode,
        )
        return self._see(
            ManifestSeen,
            identity=self.identity,
            generation=1,
            digest="0" * 64,
            spec=made,
            problem=None,
            policy=Policy(),
            finalizer=False,
            deleting_at=None,
            status=SeenStatus(phase=""),
            document={"spec": child(self.manifest, "spec")},
        )

    def _attempt(self) -> Iterator[Played]:
        yield from self._outcomes()
        yield self._status()
        yield self._cluster_seen("")
        yield self._cluster_seen("ready")
        yield from self._outcomes()
        yield self._status()
        yield self._see(PollAnswered, job_id=self._job_id, status=JobStatus.RUNNING)
        yield self._status()

    def _end(self, submitter: str, answer: JobStatus) -> Iterator[Played]:
        assert self.state.attempt is not None, "an attempt has begun"
        yield self._see(
            SubmitterSeen,
            name=self.name,
            uid=f"uid-{self.name}-{self.state.attempt.number}",
            owned=True,
            finished=submitter,
            finished_at=self.at,
            reason="BackoffLimitExceeded" if submitter == "Failed" else "",
            message="",
            deleting=False,
        )
        message = "Job entrypoint command failed with exit code 1, last log lines: loss is NaN"
        failed = answer is JobStatus.FAILED
        yield self._see(
            PollAnswered, job_id=self._job_id, status=answer, message=message if failed else ""
        )
        yield self._status()

    def _outcomes(self) -> Iterator[Played]:
        for effect in self.state.effects:
            number = self.state.attempt.number if self.state.attempt is not None else 0
            uid = f"uid-{effect.desired.name}"
            if effect.desired.name == self.name:
                uid = f"{uid}-{number}"
            yield self._see(
                EffectEnded, effect_id=effect.effect_id, outcome=Outcome.SUCCEEDED, uid=uid
            )

    def _due(self) -> Played:
        decision = self.state.decisions[0]
        self.at = max(self.at, decision.due_at)
        return self._see(DecisionDue, decision_id=decision.decision_id)

    def _cluster_seen(self, cluster_state: str) -> Played:
        return self._see(
            ClusterSeen,
            name=self._cluster,
            uid=f"uid-{self._cluster}",
            owned=True,
            state=cluster_state,
            address=ADDRESS,
            deleting=False,
            status={**CLUSTER_STATUS, "state": cluster_state} if cluster_state else {},
        )

    def _status(self) -> Played:
        return self._see(
            StatusWritten,
            phase=str(status(self.state).get("jobDeploymentStatus", "")),
            resource_version=str(1_000_000 + self.seen),
            status_sha="0" * 64,
        )

    def _see(self, kind: type[RayJobObservation], **fields: object) -> Played:
        self.seen += 1
        self.at += SECOND
        mark = observation_id(self.identity.stream_id, str(self.seen))
        make: type = kind
        observation: RayJobObservation = make(id=mark, at=self.at, **fields)
        decided = RAYJOB.decide(self.state, observation)
        self.state = decided.state
        return Played(observation, decided)


@dataclass(slots=True)
class Ledgered:
    """A stream being written: what the turn holds of it."""

    stream: StreamId
    epoch: int
    view: View = field(default_factory=View)
    tail: Tail = field(init=False)

    def __post_init__(self) -> None:
        self.tail = Tail(stream_id=self.stream, version=0, chain=GENESIS)

    def part(self, played: Sequence[Played], now: datetime) -> StreamAppend | None:
        """Return what several observations append; None if they brought nothing."""
        return next(iter(self.parts(played, now, alone=False)), None)

    def parts(self, played: Sequence[Played], now: datetime, *, alone: bool) -> list[StreamAppend]:
        """Return what several observations append: one part, or (alone) one for each event."""
        writer = Writer(actor="bench/1", epoch=self.epoch, now=now)
        end = self.tail
        records: list[EventRecord] = []
        events: list[RayJobEvent] = []
        for item in played:
            made, end = record_turn(end, writer, item.observation, item.decided)
            records += made
            events += item.events
        size = 1 if alone else max(1, len(events))
        return [
            self._part(records[start : start + size], events[start : start + size])
            for start in range(0, len(events), size)
        ]

    def _part(self, records: list[EventRecord], events: list[RayJobEvent]) -> StreamAppend:
        before = self.tail
        self.view, rows = advance(self.view, events)
        self.tail = Tail(
            stream_id=self.stream, version=records[-1].version, chain=records[-1].chain
        )
        return StreamAppend(
            stream_id=self.stream,
            expected_version=before.version,
            events=tuple(records),
            rows=rows,
        )
