"""Selects failures whose evidence is captured at once, since no deletion will trigger it.

Where a deletion follows, evidence is captured right before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jobledger.adapters.service.effects.carrying_out import EffectContext
from jobledger.adapters.service.evidence.capture import Capturer
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.work.workers import Task
from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.evidence.scene import SceneObject
from jobledger.core.jobs.history.report_news import AttemptFailed
from jobledger.core.kinds import JobState, failure_news, kind_of
from jobledger.core.values.ids import StreamId


def failure_capture(
    context: EffectContext,
    stream: StreamId,
    state: JobState,
    events: Sequence[JobEvent],
    before: JobState,
) -> Task | None:
    """Return the task that captures evidence of an attempt that has just failed, if one has.

    `before` is the state before the events: it knows of the attempt what may be gone since.
    """
    failed = next((number for event in events if (number := _failed(event))), None)
    if context.evidence is None or failed is None or state.identity is None:
        return None
    rules = kind_of(state).evidence
    going = {rules.before.get(effect.desired.kind) for effect in state.effects}
    is_of_before = before.attempt is not None and before.attempt.number == failed
    known = before if is_of_before else state
    objects = (rules.whole(state.identity, known), *rules.beside(known))
    left = [one for one in objects if one.kind not in going]
    job = context.world.live.job(state.identity.uid)
    return (
        None
        if job is None or not left
        else _Capture(context.evidence, stream, job, state, failed, left)
    )


def _failed(event: JobEvent) -> int | None:
    """Return the number of the attempt that an event says has failed."""
    news = failure_news(event)
    return news.attempt if isinstance(news, AttemptFailed) else None


@dataclass(frozen=True, slots=True)
class _Capture:
    """Captures once. Calling it is a task for the workers."""

    capturer: Capturer
    stream: StreamId
    job: CachedJob
    state: JobState
    attempt: int
    objects: Sequence[SceneObject]
    """Those that no deletion under way will look at."""

    def __call__(self) -> float | None:
        """Capture; there is no second try."""
        for about in self.objects:
            self.capturer.after_failure(self.stream, self.job, self.state, self.attempt, about)
        return None
