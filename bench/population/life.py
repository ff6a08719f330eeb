"""One job as it is played: observations into the real rules, their events recorded and folded."""

from datetime import datetime, timedelta
from random import Random
from typing import cast
from uuid import UUID

from bench.population.habits import Workload, document_of
from jobledger.core.catalogue import JobEvent
from jobledger.core.decider import Decided
from jobledger.core.forensics.story.causes import ExplainedCauses
from jobledger.core.jobs.events import Confirmation
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import (
    DecisionDue,
    EffectEnded,
    EvidenceSeen,
    NothingNew,
    StatusWritten,
)
from jobledger.core.jobs.pending.effects import EffectKind, Outcome
from jobledger.core.jobs.rows import RowChanges
from jobledger.core.kinds import NOTHING, JobObservation, JobState, decide
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.projections.reporting.fold import Folded, Rules, fold
from jobledger.core.projections.view import View, advance
from jobledger.core.turns import record_turn
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import DecisionId, observation_id, stream_id

CLUSTER = "prod-eu"
ACTOR = "controller-0/5a1e"
MARK = "zqzqzq"
"""Stands in names and uids where a stamped job has its number; occurs nowhere else."""

NODES = (*(f"gpu-{number:02}" for number in range(1, 13)), *["gpu-07"] * 12)

RULES = Rules(causes=ExplainedCauses())


class Life:
    """A job from its first sight on; `at` is the time of the story."""

    def __init__(self, work: Workload, user: str, born: datetime, dice: Random, mark: str) -> None:
        self.work, self.user, self.at, self.dice = work, user, born, dice
        name = f"{work.family}-{mark}"
        uid = f"7c2f9d10-4b6e-4e11-9a3d-a51e5b{mark}"
        self.identity = JobIdentity(
            stream_id=stream_id(CLUSTER, uid, born),
            cluster=CLUSTER,
            namespace=work.namespace,
            name=name,
            uid=uid,
            created_at=born,
        )
        self.state: JobState = NOTHING
        self.records: list[EventRecord] = []
        self.events: list[JobEvent] = []
        self.folded = Folded()
        self._tail = Tail(stream_id=self.identity.stream_id, version=0, chain=GENESIS)
        self._seen = 0

    @property
    def rows(self) -> RowChanges:
        """Return the rows of the inline projections."""
        return advance(View(), self.events)[1]

    def document(self, *, suspend: bool) -> Manifest:
        """Return what is recorded of the manifest."""
        return document_of(self.work, self.user, suspend=suspend)

    def wait(self, seconds: float) -> None:
        """Let time pass, to the microsecond."""
        self.at += timedelta(microseconds=int(seconds * 1e6))

    def see(self, kind: type, **fields: object) -> None:
        """Take in an observation, at once."""
        self._seen += 1
        mark = observation_id(self.identity.stream_id, str(self._seen))
        observation = cast("JobObservation", kind(id=mark, at=self.at, **fields))
        decided = decide(self.state, observation)
        late = self.dice.lognormvariate(0, 0.6) * 0.012
        now = self.at + timedelta(microseconds=int(late * 1e6))
        if self.records:
            now = max(now, self.records[-1].recorded_at)
        writer = Writer(actor=ACTOR, epoch=1, now=now)
        self._record(writer, observation, decided)

    def acted(self, *, uid: str = "", trouble: str = "", **more: object) -> None:
        """Let every effect that was asked for end well, now and then after some trouble."""
        for effect in self.state.effects:
            self.wait(0.05 + self.dice.random() * 0.2)
            if trouble or self.dice.random() < 0.004:
                said = trouble or "503: the server is currently unable to handle the request"
                self._end(effect.effect_id, Outcome.FALTERED, trouble=said)
                self.wait(2)
            gone = effect.desired.kind is EffectKind.DELETE_JOBSET
            found = uid or f"uid-{effect.desired.name}"
            self._end(effect.effect_id, Outcome.SUCCEEDED, uid=found, gone=gone, **more)

    def seen_aside(self, kind: type, **fields: object) -> None:
        """Take in an observation that leaves the dice, and so the rest of all lives, as they were.

        For what was added to the platform when its numbers stood in the docs already.
        """
        before = self.dice.getstate()
        self.see(kind, **fields)
        self.dice.setstate(before)

    def evidence(self, attempt: int) -> None:
        """Let the Pod of a failed attempt be captured, with its node: one node fails often."""
        place = self.identity.created_at.microsecond % len(NODES)
        pod = PodEvidence(
            name=f"{self.identity.name}-{attempt}-0",
            uid=f"uid-{self.identity.name}-{attempt}",
            role="worker",
            phase="Failed",
            node=NODES[place],
        )
        self.seen_aside(EvidenceSeen, attempt=attempt, occasion=f"failure/{attempt}", pods=(pod,))

    def due(self, kind: str, *, looked: bool = False) -> None:
        """Let the pending decision of a kind fall due, a little late."""
        pending = next((one for one in self.state.decisions if one.kind.value == kind), None)
        if pending is None:
            return
        late = self.dice.lognormvariate(0, 0.8) * 0.006
        if self.dice.random() < 0.01:
            late += self.dice.expovariate(1 / 20)  # the controller was down for a while
        self.at = max(self.at, pending.due_at)
        self.wait(late)
        self._due(pending.decision_id, looked=looked)

    def shown(self, phase: str) -> None:
        """Let `.status` be written."""
        self.wait(0.03)
        version = str(48_000_000 + self._seen)
        self.see(StatusWritten, phase=phase, resource_version=version, status_sha="0" * 64)

    def confirmed(self, source: str, seconds: float) -> None:
        """Sum up looks that brought no news in the last so many seconds."""
        told = Confirmation(
            source=source,
            count=max(1, int(seconds / 3)),
            first_at=self.at - timedelta(seconds=int(seconds)),
            last_at=self.at,
        )
        self.see(NothingNew, sources=(told,))

    def _due(self, decision: DecisionId, *, looked: bool) -> None:
        self.see(DecisionDue, decision_id=decision, looked=looked)

    def _end(self, effect: UUID, outcome: Outcome, **fields: object) -> None:
        self.see(EffectEnded, effect_id=effect, outcome=outcome, **fields)

    def _record(
        self, writer: Writer, observation: JobObservation, decided: Decided[JobState, JobEvent]
    ) -> None:
        made, self._tail = record_turn(self._tail, writer, observation, decided)
        for one, event in zip(made, decided.events, strict=True):
            self.folded = fold(self.folded, one, event, RULES)
        self.state = decided.state
        self.records += made
        self.events += decided.events
