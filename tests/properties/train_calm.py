"""The well-behaved end of a TrainJob's life: what is asked for is done, and what runs completes."""

from datetime import timedelta

from msgspec.structs import replace

from jobledger.core.jobs.observations import DecisionDue, EffectEnded
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect, Outcome
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.observations import TrainJobObservation
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.state import TrainJobState, is_final
from jobledger.core.values.instants import Instant
from tests.support.trainjobs import (
    UNNAMED,
    completed_end,
    counts,
    jobset,
    jobset_gone,
    manifest_gone,
    named,
)

STEPS_MAX = 200
RESTING = frozenset(
    {Phase.SUSPENDED, Phase.BUILD_FAILED, Phase.CREATION_FAILED, Phase.COMPLETE, Phase.FAILED}
)
"""Phases in which a job may stay until somebody does something."""


class Calm:
    """A world that does what is owed, one thing after the other."""

    def __init__(self, history: list[TrainJobEvent]) -> None:
        self.history = list(history)
        self.state = TRAINJOB.fold(history)
        self._now: Instant = history[-1].at
        self._made = 0

    def come_to_rest(self) -> TrainJobState:
        """Return the state in which nothing is owed any more; fail if there is none."""
        for _ in range(STEPS_MAX):
            if not self._step():
                return self.state
        last = [type(event).__name__ for event in self.history[-9:]]
        raise AssertionError(f"it does not come to rest: {last}")

    def _step(self) -> bool:
        state, known = self.state, self.state.jobset
        if state.deleted_at is not None:
            return False
        if state.effects:
            self._carry_out(state.effects[0])
        elif state.manifest is not None and state.manifest.deleting_at is not None:
            self._tell(manifest_gone())
        elif known is not None and known.deleting:
            self._tell(jobset_gone(uid=known.uid))
        elif known is not None and known.uid and not known.suspend and not is_final(state):
            end = replace(completed_end(), ended_at=self._now)
            self._tell(self._jobset_of(known.uid, known.generation, suspend=False, end=end))
        elif state.decisions:
            first = min(state.decisions, key=lambda item: item.due_at)
            self._now = max(self._now, first.due_at)
            due = DecisionDue(id=UNNAMED, at=self._now, decision_id=first.decision_id, looked=True)
            self._tell(due)
        else:
            return False
        return True

    def _carry_out(self, effect: OpenEffect) -> None:
        known, manifest = self.state.jobset, self.state.manifest
        assert manifest is not None, "nothing is asked for of a job without a specification"
        if effect.desired.kind is EffectKind.DELETE_JOBSET:
            uid = effect.desired.uid
            self._end(effect, ApplyOutcome(jobset_uid=uid), gone=True)
            self._tell(jobset_gone(uid=uid))
            return
        if known is None or not known.uid:
            self._made += 1
        uid = known.uid if known is not None and known.uid else f"made-{self._made}"
        generation = known.generation + 1 if known is not None else 1
        suspend = manifest.spec.suspend
        outcome = ApplyOutcome(
            runtime=self.state.runtime or "runtime-1",
            jobset_uid=uid,
            jobset_generation=generation,
            jobset_suspend=suspend,
            snapshot=True,
        )
        self._end(effect, outcome, gone=False)
        self._tell(self._jobset_of(uid, generation, suspend=suspend))

    def _end(self, effect: OpenEffect, outcome: ApplyOutcome, *, gone: bool) -> None:
        self._tell(
            EffectEnded(
                id=UNNAMED,
                at=self._now,
                effect_id=effect.effect_id,
                outcome=Outcome.SUCCEEDED,
                trouble="",
                uid=outcome.jobset_uid,
                gone=gone,
                details=write_outcome(outcome),
            )
        )

    def _jobset_of(
        self, uid: str, generation: int, *, suspend: bool, **more: object
    ) -> TrainJobObservation:
        return jobset(
            0,
            counts(suspended=1) if suspend else counts(active=1),
            uid=uid,
            generation=generation,
            suspend=suspend,
            **more,  # type: ignore[arg-type] # an end
        )

    def _tell(self, seen: TrainJobObservation) -> None:
        self._now += timedelta(seconds=1)
        for event in TRAINJOB.news(self.state, named(replace(seen, at=self._now))):
            self.state = TRAINJOB.evolve(self.state, event)
            self.history.append(event)
