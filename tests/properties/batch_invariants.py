"""The invariants of a Job that is retried on new Jobs, as far as a history can show them."""

from collections import Counter
from collections.abc import Sequence

from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.events import (
    AttemptJobObserved,
    BatchAttemptEnded,
    BatchAttemptStarted,
    BatchJobEvent,
    BatchRetryGranted,
)
from jobledger.core.batchjob.state import BatchJobState, is_final
from jobledger.core.batchjob.status.status import status
from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectFailed,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.pending.effects import EffectKind
from tests.support.job_status_rules import problems
from tests.support.rows import check_laws

LIFE = ("phase", "reason", "message", "end", "ended_at", "failed", "succeeded", "started_at")


def check_batch_history(history: Sequence[BatchJobEvent]) -> None:
    """Hold a whole history against every invariant."""
    check_laws(BATCHJOB, history, len(history) // 2)
    check_one_attempt_at_a_time(history)
    check_retries(history)
    check_effects_and_decisions(history)
    state = BATCHJOB.initial
    for event in history:
        after = BATCHJOB.evolve(state, event)
        check_step(state, event, after)
        state = after


def check_one_attempt_at_a_time(history: Sequence[BatchJobEvent]) -> None:
    """Invariant 3: an attempt begins when the one before is over, and no Job of it is there."""
    state, running, last = BATCHJOB.initial, 0, 0
    for event in history:
        if isinstance(event, BatchAttemptStarted):
            assert not running, f"attempt {event.attempt} begins beside {running}"
            assert event.inferred or event.attempt == last + 1
            before = state.attempt
            if not event.inferred:
                assert before is None or before.job is None, "the last one's Job is still there"
            running = last = event.attempt
        if isinstance(event, BatchAttemptEnded):
            assert event.attempt == running, f"{event.attempt} ends, {running} is running"
            running = 0
        state = BATCHJOB.evolve(state, event)


def check_retries(history: Sequence[BatchJobEvent]) -> None:
    """Invariant 2: no more retries than the limit that each was judged by."""
    granted = [event for event in history if isinstance(event, BatchRetryGranted)]
    for event in granted:
        assert event.failed <= event.backoff_limit
        assert event.reason != "DeadlineExceeded"
    assert len({event.attempt for event in granted}) == len(granted), "an attempt retried twice"


def check_effects_and_decisions(history: Sequence[BatchJobEvent]) -> None:
    """Invariant 5: each is asked for once and ends once; nothing ends that never began."""
    ends = (EffectSucceeded, EffectFailed, EffectSuperseded)
    begun = Counter(e.effect_id for e in history if isinstance(e, EffectRequested))
    over = Counter(e.effect_id for e in history if isinstance(e, ends))
    made = Counter(e.decision_id for e in history if isinstance(e, DecisionScheduled))
    resolved = (DecisionFired, DecisionCancelled)
    done = Counter(e.decision_id for e in history if isinstance(e, resolved))
    state = BATCHJOB.fold(history)
    assert {item.effect_id for item in state.effects} == set(begun) - set(over)
    assert {item.decision_id for item in state.decisions} == set(made) - set(done)
    assert all(count == 1 for counts in (begun, over, made, done) for count in counts.values())
    assert set(over) <= set(begun)
    assert set(done) <= set(made)


def check_step(before: BatchJobState, event: BatchJobEvent, after: BatchJobState) -> None:
    """Invariants 4 and 6: what is final stays so, in a status that the API server takes."""
    if is_final(before):
        changed = [name for name in LIFE if getattr(before, name) != getattr(after, name)]
        assert not changed, f"{type(event).__name__} changes {changed} of a job that has ended"
    if isinstance(event, EffectRequested):
        check_request(before, event)
    if before.recorded is None and after.recorded is None:
        suspend = after.manifest is not None and after.manifest.spec.suspend
        refused = problems(status(before), status(after), suspend=suspend)
        assert not refused, f"after {type(event).__name__}: {refused}"


def check_request(before: BatchJobState, event: EffectRequested) -> None:
    """Nothing is made for a job that ends, goes, or is somebody else's; only known Jobs go."""
    attempt = before.attempt
    assert before.recorded is None
    assert before.deleted_at is None
    assert attempt is not None
    if any((event.name, event.uid) == (late.name, late.uid) for late in before.late_jobs):
        assert event.kind is EffectKind.DELETE_ATTEMPT_JOB
        return
    assert event.name == attempt.job_name
    if event.kind is EffectKind.CREATE_ATTEMPT_JOB:
        ends = is_final(before) or before.failing is not None
        assert not ends, "a Job is made after the end"
        assert attempt.job is None, "a second Job is made for an attempt"
        assert not before.late_jobs, "a Job is made beside one of an earlier attempt"
        assert not [one for one in before.effects if one.desired.kind is event.kind]
        assert before.manifest is not None
        assert before.manifest.deleting_at is None
        assert not before.manifest.spec.suspend
    else:
        assert attempt.job is not None
        assert event.uid == attempt.job.uid


def jobs_observed(history: Sequence[BatchJobEvent]) -> set[str]:
    """Return the names of the Jobs that a history takes for those of attempts."""
    return {event.name for event in history if isinstance(event, AttemptJobObserved)}
