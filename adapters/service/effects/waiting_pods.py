"""Looks at the Pods of an attempt that has begun: those that wait say why, and nothing else does.

What is watched of a JobSet or a Job counts Pods and gives no reasons, and a RayCluster does not say
of a Pod why no node takes it. So Pods are listed a few times after an attempt began, and once some
are in trouble that is kept as evidence, and kept again if they come to wait for something else; of
a RayJob first those of its RayCluster, until that is ready, then the submitter's, until Ray knows
the job. So it is with an attempt that was under way when the job was taken over, as long as its
objects say that Pods are not ready.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from jobledger.adapters.service.effects.carrying_out import EffectContext
from jobledger.adapters.service.evidence.capture import Capturer
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.core.catalogue import JobEvent
from jobledger.core.errors import JobledgerError
from jobledger.core.jobs.evidence.scene import SceneObject
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import KINDS, ROLES, JobState, kind_of
from jobledger.core.values.ids import StreamId

PAUSES_SECONDS: tuple[float, ...] = (30.0, 60.0, 180.0)
"""How long after its beginning, and after each look, the Pods of an attempt are looked at."""

PAUSES_IN_TROUBLE_SECONDS = (600.0, 1800.0)
"""How long after these looks they are looked at once more, as long as they wait."""

ENDS = (*ROLES.attempt_ended, *ROLES.attempt_suspended, *ROLES.completed, *ROLES.failed)


@dataclass(slots=True)
class WaitingLook:
    """Looks at the Pods of one attempt. Calling it is a task for the workers."""

    capturer: Capturer
    live: ObjectCache
    stream: StreamId
    state: JobState
    about: SceneObject
    looks: int = 0
    troubles: frozenset[str] = frozenset()
    """For what Pods waited at the last look."""
    is_dropped: bool = False
    """The attempt is over, or nothing is done about its job any more."""

    def __call__(self) -> float | None:
        """Look, if it is time; return when the next look is due, None after the last."""
        if self.is_dropped or self.state.identity is None:
            return None
        if self.looks and not self._look(self.state.identity.uid):
            return None
        pauses = PAUSES_SECONDS
        if self.troubles:
            pauses += PAUSES_IN_TROUBLE_SECONDS
        if self.looks >= len(pauses):
            return None
        self.looks += 1
        return pauses[self.looks - 1]

    def _look(self, uid: str) -> bool:
        """Look; return whether there is a job to look at again."""
        job = self.live.job(uid)
        if job is None:
            return False
        with suppress(JobledgerError):  # the next look may have an answer
            self.troubles = self.capturer.while_waiting(
                self.stream, job, self.state, self.about, self.troubles
            )
        return True


def waiting_look(
    context: EffectContext, stream: StreamId, state: JobState, events: Sequence[JobEvent]
) -> WaitingLook | None:
    """Return the task that looks at the Pods for which an attempt waits from now on, if it does."""
    if state.identity is None:
        return None
    return _look_at(context, stream, state, _waits_for(state.identity, state, events))


def resumed_look(context: EffectContext, stream: StreamId, state: JobState) -> WaitingLook | None:
    """Return the same for an attempt that another replica, or an earlier service, has begun."""
    if state.identity is None:
        return None
    about = kind_of(state).evidence.waits_now(state.identity, state)
    return _look_at(context, stream, state, about)


def _look_at(
    context: EffectContext, stream: StreamId, state: JobState, about: SceneObject | None
) -> WaitingLook | None:
    if context.evidence is None or about is None or not about.name:
        return None
    return WaitingLook(context.evidence, context.world.live, stream, state, about)


@cache
def begin_or_end_looks(kind: str) -> frozenset[type]:
    """Return the classes of events that end a look that was begun before, or begin one."""
    rules = KINDS[kind].evidence
    return frozenset((*ROLES.attempt_started, *rules.beside_from, *rules.waits_until, *ENDS))


def _waits_for(
    identity: JobIdentity, state: JobState, events: Sequence[JobEvent]
) -> SceneObject | None:
    """Return the object for whose Pods an attempt waits since one of the events; None: for none."""
    rules = kind_of(state).evidence
    if any(isinstance(event, (*rules.waits_until, *ENDS)) for event in events):
        return None
    if any(isinstance(event, rules.beside_from) for event in events):
        return next(iter(rules.beside(state)), None)
    begun = any(isinstance(event, ROLES.attempt_started) for event in events)
    return rules.whole(identity, state) if begun else None
