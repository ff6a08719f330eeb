"""Observations of a Job in any order: reordered, repeated, late, about strangers.

Whatever comes, nothing raises, the same again brings nothing, and the invariants of the design
hold (`docs/explanation/invariants.md`).
"""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.events import BatchJobEvent
from jobledger.core.batchjob.observations import BatchJobObservation, BatchJobSeen, SeenBatchStatus
from jobledger.core.batchjob.phases import Phase
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.batchjob.status.status import status
from jobledger.core.jobs.observations import DecisionDue, EffectEnded, Survey
from jobledger.core.jobs.pending.effects import EffectKind, Outcome
from jobledger.core.jobs.policy import Policy
from jobledger.core.values.ids import ObservationId, decision_id_of, effect_id_of
from tests.properties.batch_invariants import check_batch_history, check_step, jobs_observed
from tests.properties.effort import effort, lighter
from tests.support.batchjobs import (
    UNNAMED,
    after,
    complete_end,
    failed_end,
    interrupted,
    job,
    job_gone,
    manifest,
    manifest_gone,
    name_of,
    named,
    pods,
    uid_of,
)
from tests.support.observed import assert_kept_as_it_came
from tests.support.rows import through_the_log

pytestmark = pytest.mark.faults

Wild = Callable[[BatchJobState], BatchJobObservation]

seconds = st.integers(0, 500).map(float)
attempts = st.sampled_from([1, 1, 1, 2, 2, 3])
EVENTS_PER_OBSERVATION_MAX = 12
statuses = st.sampled_from(
    [
        SeenBatchStatus(),
        SeenBatchStatus(),
        SeenBatchStatus(started_at=after(1), pods=pods(active=1)),
        SeenBatchStatus(started_at=after(1), pods=pods(failed=3)),
        SeenBatchStatus(suspended_since=after(2)),
        SeenBatchStatus(started_at=after(1), failing=failed_end()),
        SeenBatchStatus(started_at=after(1), failing=failed_end(), end=failed_end()),
        SeenBatchStatus(started_at=after(1), end=complete_end(), pods=pods(succeeded=1)),
    ]
)


@st.composite
def looks(draw: st.DrawFn) -> BatchJobSeen:
    """Return any look at the user's Job."""
    odd = draw(st.integers(0, 9)) == 0
    seen = manifest(
        draw(seconds),
        generation=draw(st.integers(1, 4)),
        deleting=draw(st.sampled_from([False] * 15 + [True])),
        status=draw(statuses) if odd else SeenBatchStatus(),
        recorded=draw(st.sampled_from([""] * 9 + ["another installation controls it"])),
        deadline=draw(st.sampled_from([None, None, 60])),
        policy=Policy(retry_delay_seconds=draw(st.sampled_from([0, 30]))),
        suspend=draw(st.sampled_from([False, False, True])),
        backoff_limit=draw(st.integers(0, 2)),
        managed_by=draw(st.sampled_from(["jobledger.dev/job-controller"] * 19 + [""])),
    )
    there = draw(st.sampled_from([None, None, (), (1,), (2,)]))
    survey = None if there is None else Survey(there=tuple(name_of(number) for number in there))
    return named(
        replace(
            seen, survey=survey, written_here=draw(st.booleans()), in_between=draw(st.booleans())
        )
    )


@st.composite
def jobs(draw: st.DrawFn) -> BatchJobObservation:
    """Return any look at the Job of an attempt; sometimes of one that is none."""
    attempt = draw(attempts)
    end = draw(st.sampled_from([None] * 4 + [complete_end(), failed_end(), failed_end()]))
    return job(
        draw(seconds),
        attempt,
        uid=draw(st.sampled_from([uid_of(attempt)] * 5 + ["made-anew"])),
        suspend=draw(st.booleans()),
        deleting=draw(st.sampled_from([False] * 5 + [True])),
        end=end,
        name=draw(st.sampled_from([""] * 9 + ["etl-other"])),
        version=draw(st.sampled_from(["", "1", "2"])),
        active=draw(st.integers(0, 1)) if end is None else 0,
        failed=draw(st.integers(0, 2)),
        succeeded=draw(st.integers(0, 1)),
    )


def effect_ended(index: int, outcome: Outcome, at: float, gone: bool, another: bool) -> Wild:
    """Return the outcome of an open effect, or of one that nobody asked for."""

    def reply(state: BatchJobState) -> BatchJobObservation:
        stranger = effect_id_of(UNNAMED, EffectKind.CREATE_ATTEMPT_JOB.value, "nobody")
        ids = [*(effect.effect_id for effect in state.effects), stranger]
        number = state.attempt.number if state.attempt is not None else 1
        ended = EffectEnded(
            id=UNNAMED,
            at=after(at),
            effect_id=ids[index % len(ids)],
            outcome=outcome,
            trouble="" if outcome is Outcome.SUCCEEDED else f"trouble {index % 2}",
            uid="made-anew" if another else uid_of(number),
            gone=gone,
        )
        return named(ended)

    return reply


def decision_due(index: int, at: float, looked: bool) -> Wild:
    """Return the firing of a pending decision, at any time, or of one that nobody scheduled."""

    def reply(state: BatchJobState) -> BatchJobObservation:
        ids = [item.decision_id for item in state.decisions]
        ids.append(decision_id_of(UNNAMED, "retry", "nobody"))
        chosen = ids[index % len(ids)]
        return named(DecisionDue(id=UNNAMED, at=after(at), decision_id=chosen, looked=looked))

    return reply


def always(observation: BatchJobObservation) -> Wild:
    """Return an observation that does not depend on the state."""
    return lambda _: observation


def _done(at: float) -> Wild:
    return effect_ended(0, Outcome.SUCCEEDED, at, gone=False, another=False)


def _fails(at: float) -> Wild:
    """Return that the Job of the present attempt fails."""

    def reply(state: BatchJobState) -> BatchJobObservation:
        number = state.attempt.number if state.attempt is not None else 1
        return job(at, number, end=failed_end(at), failed=1, version="9")

    return reply


def _goes(at: float) -> Wild:
    """Return that the Job of the present attempt is gone."""

    def reply(state: BatchJobState) -> BatchJobObservation:
        attempt = state.attempt
        known = attempt.job if attempt is not None else None
        number = attempt.number if attempt is not None else 1
        return job_gone(at, number, uid=known.uid if known is not None else uid_of(number))

    return reply


wild: st.SearchStrategy[Wild] = st.one_of(
    looks().map(always),
    jobs().map(always),
    st.builds(job_gone, seconds, attempts).map(always),
    st.builds(interrupted, seconds, seconds).map(always),
    st.builds(manifest_gone, st.integers(450, 500).map(float)).map(always),
    st.builds(
        effect_ended,
        st.integers(0, 3),
        st.sampled_from(list(Outcome)),
        seconds,
        st.booleans(),
        st.booleans(),
    ),
    st.builds(_done, seconds),
    st.builds(_fails, seconds),
    st.builds(_goes, seconds),
    st.builds(decision_due, st.integers(0, 3), seconds, st.booleans()),
)
lives = st.one_of(st.lists(wild, max_size=8), st.lists(wild, min_size=20, max_size=50))


def lived(first: BatchJobObservation, rest: list[Wild]) -> list[BatchJobEvent]:
    """Return the history that comes of it; the same observation again brings nothing."""
    state = BATCHJOB.initial
    history: list[BatchJobEvent] = []
    heard: set[ObservationId] = set()
    now = after(0)
    for step in (always(first), *rest):
        seen = step(state)
        now = max(now, seen.at)  # what is told late is heard late
        seen = named(replace(seen, at=now))
        if seen.id in heard:
            continue
        heard.add(seen.id)
        decided = BATCHJOB.decide(state, seen)
        assert_kept_as_it_came(seen, decided)
        news = decided.events
        assert len(news) <= EVENTS_PER_OBSERVATION_MAX
        for event in news:
            state = BATCHJOB.evolve(state, event)
        history += news
        assert BATCHJOB.news(state, seen) == ()
    return history


@effort
@given(looks(), lives)
def test_whatever_comes_in_whatever_order_the_invariants_hold(
    first: BatchJobObservation, rest: list[Wild]
) -> None:
    check_batch_history(lived(first, rest))


@lighter
@given(looks(), lives)
def test_invariant_1_the_status_is_the_fold_of_the_log(
    first: BatchJobObservation, rest: list[Wild]
) -> None:
    history = lived(first, rest)
    stored = through_the_log(history)
    for known in range(len(history) + 1):
        assert status(BATCHJOB.fold(stored[:known])) == status(BATCHJOB.fold(history[:known]))


@lighter
@given(looks(), lives, st.booleans(), lives)
def test_invariant_4_what_has_ended_has_ended(
    first: BatchJobObservation, before: list[Wild], completed: bool, later: list[Wild]
) -> None:
    """Whatever happens before the end, and whatever after it."""
    end = complete_end() if completed else failed_end()
    history = lived(first, [*before, always(job(60, end=end, version="8")), *later])
    state = BATCHJOB.initial
    for event in history:
        known = BATCHJOB.evolve(state, event)
        check_step(state, event, known)
        state = known


@lighter
@given(looks(), lives)
def test_a_job_of_another_name_is_never_taken_for_an_attempts(
    first: BatchJobObservation, rest: list[Wild]
) -> None:
    assert "etl-other" not in jobs_observed(lived(first, rest))


RESTING = frozenset({Phase.SUSPENDED, Phase.COMPLETE, Phase.FAILED})


@effort
@given(looks(), lives)
def test_invariant_8_once_the_faults_stop_every_job_ends_or_waits(
    first: BatchJobObservation, rest: list[Wild]
) -> None:
    """What is asked for is done from then on, and what runs completes."""
    history = lived(first, rest)
    state = BATCHJOB.fold(history)
    if state.identity is None or state.recorded is not None:
        return
    now = max(after(1000), *(event.at for event in history))
    for _ in range(60):
        step = _next_calm_step(state)
        if step is None:
            break
        now = max(now, step.at)
        news = BATCHJOB.news(state, named(replace(step, at=now)))
        history += news
        for event in news:
            state = BATCHJOB.evolve(state, event)
    check_batch_history(history)
    assert (state.effects, state.decisions) == ((), ())
    is_leaving = state.manifest is not None and state.manifest.deleting_at is not None
    assert state.deleted_at is not None or is_leaving or state.phase in RESTING, state


def _next_calm_step(state: BatchJobState) -> BatchJobObservation | None:
    """Return what happens next in a world without faults; None: nothing does."""
    attempt = state.attempt
    if state.effects:
        effect = state.effects[0]
        number = attempt.number if attempt is not None else 1
        uid = effect.desired.uid or f"calm-{number}"
        gone = effect.desired.kind is EffectKind.DELETE_ATTEMPT_JOB
        return EffectEnded(
            id=UNNAMED,
            at=after(1000),
            effect_id=effect.effect_id,
            outcome=Outcome.SUCCEEDED,
            uid=uid,
            gone=gone,
        )
    if state.decisions:
        first = min(state.decisions, key=lambda item: item.due_at)
        return DecisionDue(id=UNNAMED, at=first.due_at, decision_id=first.decision_id, looked=True)
    if attempt is None or attempt.job is None or state.deleted_at is not None:
        return None
    known = attempt.job
    if known.deleting or known.delete_asked:
        return job_gone(1000, attempt.number, uid=known.uid)
    if known.end is None and not known.suspend:
        return job(1000, attempt.number, uid=known.uid, end=complete_end(1000), version="99")
    return None
