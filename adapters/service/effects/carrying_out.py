"""Carries one effect from request to outcome: skip or act, judge the answer, report it.

Intent, act, outcome: the intent is in the log before anything is sent, the outcome comes back as
an observation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from jobledger.adapters.service.effects.context import (
    CAUSE_CHARACTERS_MAX,
    Done,
    EffectFailed,
    SomebodyElses,
    SupersededEffect,
    World,
)
from jobledger.adapters.service.evidence.capture import Capturer
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.slots import Slots
from jobledger.adapters.telemetry.dice import dice
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.errors import (
    JobledgerError,
    ObjectNotFound,
    RayApiUnreachable,
    RayJobRefused,
    RequestForbidden,
    RequestInvalid,
    RequestThrottled,
)
from jobledger.core.jobs.observations import EffectEnded
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect, Outcome
from jobledger.core.jobs.reported_errors import is_new_trouble
from jobledger.core.kinds import JobState
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.clock import Clock
from jobledger.core.values.ids import StreamId, observation_id

log = get_logger(__name__)

TROUBLE_CHARACTERS_MAX = 500
PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 0.25, 30.0
HEAD_PAUSE_MAX_SECONDS = 15.0
"""Longest pause while a Ray head does not answer.

Upstream comes back by its work queue, up to 1000 s later; within its time-out of 300 s for a head
that is silent this leaves some twenty tries, and a head that comes back waits a quarter minute.
"""
STOP_TRIES_MAX = 1
"""The stop before an object goes is tried once, as upstream does: a dead head must not hold it."""

QUICK_TRIES_MAX = 3
"""How often an effect is tried before a failure that mostly passes within moments is told."""

LEASE_PAUSE_SECONDS = 1.0
"""Pause while this process does not trust its lease, or has met another controller."""

UNSHOWN_FIRST_SECONDS, UNSHOWN_MAX_SECONDS = 0.02, 1.0
"""Pauses while the status is still to show what an effect waits for: its write is under way."""
UNSHOWN_TOLD_AFTER = 8
"""So many of these pauses, some 4 s, and it is told what is waited for."""

_PERMANENT = (RequestForbidden, RequestInvalid, RayJobRefused, SomebodyElses, ObjectNotFound)


@dataclass(frozen=True, slots=True)
class EffectContext:
    """What carrying out needs, the same for every effect."""

    world: World
    slots: Slots
    inbox: Inbox
    clock: Clock
    metrics: Metrics
    may_act: Callable[[StreamId], bool]
    """Whether this process still holds the job's shard, by its own clock."""
    dice: Callable[[], float] = dice
    evidence: Capturer | None = None
    """Captures what is about to disappear; None: nothing is captured."""


class _Broken(Exception):
    """An error that no port raises on purpose; its text may hold anything and is not told."""

    def __str__(self) -> str:
        return f"an internal error ({self.args[0]}), see the controller's log"


@dataclass(slots=True)
class EffectTask:
    """One effect on its way. Calling it is a task for the workers."""

    context: EffectContext
    stream: StreamId
    effect: OpenEffect
    tries: int = 0
    told: str = field(default="")
    """The trouble that was told last."""
    times_told: int = 0
    times_unshown: int = 0
    is_dropped: bool = False
    """Set by the turn's thread once nobody waits for it any more."""

    def __call__(self) -> float | None:
        """Try once; return the pause before the next try, or None if it is over.

        It is over only with an outcome, or once nobody waits for one: whatever keeps it from
        trying now may pass.
        """
        context = self.context
        state = context.slots.state(self.stream)
        if self.is_dropped or state is None:
            return None
        if all(item.effect_id != self.effect.effect_id for item in state.effects):
            return None
        if not context.may_act(self.stream):
            return LEASE_PAUSE_SECONDS
        job = context.world.live.job(state.identity.uid) if state.identity is not None else None
        if job is None:
            return PAUSE_MAX_SECONDS
        if context.world.mapper.control_policy.is_refused(job.kind, job.identity.namespace):
            return LEASE_PAUSE_SECONDS  # until it is told that the job is only recorded
        if unshown := context.world.kinds[job.kind].unshown(job, self.effect):
            return self._until_shown(unshown)
        return self._try(job, state)

    def _until_shown(self, unshown: str) -> float:
        """Return the pause until the status is looked at again; tell once what is waited for."""
        self.times_unshown += 1
        if self.times_unshown == UNSHOWN_TOLD_AFTER:
            self._tell(Outcome.FALTERED, unshown)
        return min(UNSHOWN_FIRST_SECONDS * (1 << min(self.times_unshown, 16)), UNSHOWN_MAX_SECONDS)

    def _try(self, job: CachedJob, state: JobState) -> float | None:
        context, kind = self.context, self.effect.desired.kind
        self.tries += 1
        try:
            with context.metrics.effect_seconds.labels(kind.value).time():
                done = self._act(job, state)
        except EffectFailed as failure:
            return self._judge_failed(failure, job.redactor)
        except SupersededEffect as reason:
            self._tell(Outcome.SUPERSEDED, str(reason))
        except (JobledgerError, SomebodyElses) as error:
            return self._judge(error, job.redactor)
        except Exception as error:  # a bug of ours: the job says so and goes on trying
            name = context.slots.name(self.stream)
            log.exception("effect_broken", job=name, stream=str(self.stream), kind=kind.value)
            return self._judge(_Broken(type(error).__name__), job.redactor)
        else:
            self._put(Outcome.SUCCEEDED, str(self.tries), "", done)
        return None

    def _act(self, job: CachedJob, state: JobState) -> Done:
        if self.context.evidence is not None:
            self.context.evidence.before(self.stream, job, state, self.effect)
        act = self.context.world.kinds[job.kind].act
        return act(self.context.world, job, self.effect, state)

    def _judge_failed(self, failure: EffectFailed, redactor: Redactor) -> float | None:
        """Tell what its kind of job says of a failure; what mostly passes is tried again first."""
        if failure.is_quick and failure.error is not None and self.tries < QUICK_TRIES_MAX:
            return self._judge(failure.error, redactor)
        trouble = redactor.message(failure.cause, CAUSE_CHARACTERS_MAX)
        done = Done(details=failure.details)
        self._tell(Outcome.FAILED, trouble, done)
        return None

    def _judge(self, error: Exception, redactor: Redactor) -> float | None:
        trouble = redactor.message(str(error), TROUBLE_CHARACTERS_MAX)
        kind = self.effect.desired.kind
        gave_up = kind is EffectKind.STOP_ENTRYPOINT and self.tries >= STOP_TRIES_MAX
        if isinstance(error, _PERMANENT) or gave_up:
            self._tell(Outcome.FAILED, trouble)
            return None
        if is_new_trouble(trouble, self.told, self.times_told):
            self.told, self.times_told = trouble, self.times_told + 1
            self._tell(Outcome.FALTERED, trouble)
        return self._pause(error)

    def _pause(self, error: Exception) -> float:
        """Return a pause with jitter; one that the API server asks for is never cut short."""
        doubled = min(PAUSE_FIRST_SECONDS * (1 << min(self.tries, 16)), PAUSE_MAX_SECONDS)
        if isinstance(error, _Broken):
            return PAUSE_MAX_SECONDS
        if isinstance(error, RayApiUnreachable):
            doubled = min(doubled, HEAD_PAUSE_MAX_SECONDS)
        chance = self.context.dice() / 2
        pause = doubled * (0.5 + chance)
        if isinstance(error, RequestThrottled) and error.retry_after_seconds is not None:
            return max(pause, error.retry_after_seconds * (1.0 + chance))
        return pause

    def _tell(self, outcome: Outcome, trouble: str, done: Done | None = None) -> None:
        log.info(
            "effect_not_done",
            job=self.context.slots.name(self.stream),
            stream=str(self.stream),
            effect_id=str(self.effect.effect_id),
            kind=self.effect.desired.kind.value,
            outcome=outcome.value,
            trouble=trouble,
        )
        mark = f"{outcome.value} {self.context.clock.now().isoformat()} {trouble}"
        self._put(outcome, mark, trouble, done or Done())

    def _put(self, outcome: Outcome, mark: str, trouble: str, done: Done) -> None:
        effect = self.effect
        self.context.metrics.effects.labels(effect.desired.kind.value, outcome.value).inc()
        ended = EffectEnded(
            id=observation_id(self.stream, "effect ended", str(effect.effect_id), mark),
            at=self.context.clock.now(),
            effect_id=effect.effect_id,
            outcome=outcome,
            trouble=trouble,
            uid=done.uid,
            gone=done.gone,
            already=done.already,
            sent=done.sent,
            details=done.details,
        )
        self.context.inbox.put(self.stream, ended)
