"""Observations of a TrainJob in any order: reordered, repeated, late, about strangers.

Whatever comes, nothing raises, the same again brings nothing, and the invariants of the design
hold (`docs/explanation/invariants.md`).
"""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jobledger.core.jobs.observations import DecisionDue, EffectEnded
from jobledger.core.jobs.pending.effects import EffectKind, Outcome
from jobledger.core.log.chain import GENESIS, first_fault
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.contributions.contribution import RefusedCondition
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.events import PluginConditionsObserved, TrainJobEvent
from jobledger.core.trainjob.observations import TrainJobObservation
from jobledger.core.trainjob.phases import CONDITIONS_MAX, OURS
from jobledger.core.trainjob.policy import ConditionStyle, TrainPolicy
from jobledger.core.trainjob.spec import RuntimeRef
from jobledger.core.trainjob.state import TrainJobState, is_final
from jobledger.core.trainjob.status.status import status
from jobledger.core.values.documents import items
from jobledger.core.values.ids import ObservationId, decision_id_of, effect_id_of
from tests.properties.effort import effort, lighter
from tests.properties.test_invariants import recorded, tampered
from tests.properties.train_calm import RESTING, Calm
from tests.properties.train_invariants import (
    check_no_attempt_after_the_end,
    check_one_execution,
    check_train_effects_and_decisions,
    check_train_history,
    check_train_step,
    jobsets_of,
)
from tests.support.contributions import POD_GROUP, plugin_told, pod_group_gone
from tests.support.observed import assert_kept_as_it_came
from tests.support.rows import through_the_log
from tests.support.trainjobs import (
    UNNAMED,
    after,
    completed_end,
    counts,
    failed_end,
    interrupted,
    jobset,
    jobset_gone,
    manifest,
    manifest_gone,
    named,
    runtime,
    snapshot_gone,
    written,
)

pytestmark = pytest.mark.faults

Wild = Callable[[TrainJobState], TrainJobObservation]

STRANGER = "jobset-of-another"
TYPES = ("P1", "P2", "P3", "P4", "P5", "Complete")
"""Types that plugins give: more than there is room for, and one of the controller's."""
seconds = st.integers(0, 500).map(float)
uids = st.sampled_from(["jobset-1", "jobset-2"])
runtimes = st.sampled_from(["runtime-1", "runtime-2", ""])
specs = st.fixed_dictionaries(
    {},
    optional={
        "suspend": st.booleans(),
        "active_deadline_seconds": st.sampled_from([0, 1, 60, 10_000]),
        "runtime": st.just(RuntimeRef(name="x", kind="Runtime", group="example.org")),
        "policy": st.sampled_from(
            [
                TrainPolicy(conditions=style, retry_seconds=7, propagates=propagates)
                for style in ConditionStyle
                for propagates in (True, False)
            ]
        ),
    },
)


@st.composite
def looks(draw: st.DrawFn) -> TrainJobObservation:
    """Return any look at the TrainJob."""
    return manifest(
        draw(seconds),
        generation=draw(st.integers(1, 4)),
        deleting=draw(st.sampled_from([False] * 9 + [True])),
        **draw(specs),  # type: ignore[arg-type] # a policy, and fields of the specification
    )


@st.composite
def jobsets(draw: st.DrawFn) -> TrainJobObservation:
    """Return any look at a JobSet: the job's own, its successor, or a stranger of its name."""
    owned = draw(st.sampled_from([True] * 5 + [False]))
    end = draw(st.sampled_from([None] * 4 + [completed_end(), failed_end(), failed_end(90)]))
    count = draw(st.sampled_from([counts(active=1), counts(active=1, ready=1), counts(failed=1)]))
    return jobset(
        draw(seconds),
        count,
        uid=draw(uids) if owned else STRANGER,
        owned=owned,
        generation=draw(st.integers(1, 3)),
        suspend=draw(st.booleans()),
        restarts=draw(st.integers(0, 2)),
        deleting=draw(st.sampled_from([False] * 5 + [True])),
        end=end,
    )


@st.composite
def contributions(draw: st.DrawFn) -> TrainJobObservation:
    """Return any answer of a plugin: about a JobSet or another object, in any version."""
    uid = draw(st.sampled_from(["jobset-1", POD_GROUP.uid, "another"]))
    version = str(draw(st.integers(1, 3)))
    answer = st.tuples(st.sampled_from(TYPES), st.booleans(), st.booleans())
    said = draw(st.lists(answer, max_size=6))
    return plugin_told(
        *(
            Condition(
                type=kind,
                is_true=is_true and not unknown,
                unknown=unknown,
                reason="Because",
                message="",
                since=after(draw(seconds)),
            )
            for kind, is_true, unknown in {one[0]: one for one in said}.values()
        ),
        at=draw(seconds),
        source=replace(POD_GROUP, uid=uid, version=version),
        plugin=draw(st.sampled_from(["gang", "other"])),
        refused=draw(st.sampled_from([(), (RefusedCondition(problem="it fails: E"),)])),
    )


def effect_ended(
    index: int, outcome: Outcome, at: float, details: ApplyOutcome, gone: bool
) -> Wild:
    """Return the outcome of an open effect, or of one that nobody asked for."""

    def reply(state: TrainJobState) -> TrainJobObservation:
        stranger = effect_id_of(UNNAMED, EffectKind.APPLY_OBJECTS.value, "nobody")
        ids = [*(effect.effect_id for effect in state.effects), stranger]
        ended = EffectEnded(
            id=UNNAMED,
            at=after(at),
            effect_id=ids[index % len(ids)],
            outcome=outcome,
            trouble="" if outcome is Outcome.SUCCEEDED else f"trouble {index % 2}",
            uid=details.jobset_uid,
            gone=gone,
            details=write_outcome(details),
        )
        return named(ended)

    return reply


def decision_due(index: int, at: float, looked: bool) -> Wild:
    """Return the firing of a pending decision, at any time, or of one that nobody scheduled."""

    def reply(state: TrainJobState) -> TrainJobObservation:
        ids = [item.decision_id for item in state.decisions]
        ids.append(decision_id_of(UNNAMED, "retry", "nobody"))
        chosen = ids[index % len(ids)]
        return named(DecisionDue(id=UNNAMED, at=after(at), decision_id=chosen, looked=looked))

    return reply


def always(observation: TrainJobObservation) -> Wild:
    """Return an observation that does not depend on the state."""
    return lambda _: observation


groups_gone = st.builds(lambda at, built: pod_group_gone(at, built=built), seconds, st.booleans())
applies = st.builds(
    ApplyOutcome,
    runtime=runtimes,
    failed_building=st.booleans(),
    may_pass=st.booleans(),
    jobset_uid=uids,
    jobset_generation=st.integers(1, 3),
    jobset_suspend=st.booleans(),
    names=st.just(("JobSet/train",)),
    snapshot=st.booleans(),
)
wild: st.SearchStrategy[Wild] = st.one_of(
    looks().map(always),
    jobsets().map(always),
    st.builds(runtime, runtimes, seconds).map(always),
    st.builds(lambda at, uid: jobset_gone(at, uid=uid), seconds, uids).map(always),
    st.builds(snapshot_gone, seconds).map(always),
    contributions().map(always),
    groups_gone.map(always),
    st.builds(interrupted, seconds, seconds).map(always),
    st.builds(lambda at: written(at, str(at)), seconds).map(always),
    st.builds(manifest_gone, st.integers(450, 500).map(float)).map(always),
    st.builds(
        effect_ended,
        st.integers(0, 3),
        st.sampled_from(list(Outcome)),
        seconds,
        applies,
        st.booleans(),
    ),
    st.builds(
        effect_ended, st.just(0), st.just(Outcome.SUCCEEDED), seconds, applies, st.just(False)
    ),
    st.builds(decision_due, st.integers(0, 3), seconds, st.booleans()),
)
lives = st.one_of(st.lists(wild, max_size=8), st.lists(wild, min_size=20, max_size=50))


def lived(first: TrainJobObservation, rest: list[Wild]) -> list[TrainJobEvent]:
    """Return the history that comes of it; the same observation again brings nothing."""
    state = TRAINJOB.initial
    history: list[TrainJobEvent] = []
    heard: set[ObservationId] = set()
    now = after(0)
    for step in (always(first), *rest):
        seen = step(state)
        now = max(now, seen.at)  # what is told late is heard late
        seen = named(replace(seen, at=now))
        if seen.id in heard:
            continue
        heard.add(seen.id)
        decided = TRAINJOB.decide(state, seen)
        assert_kept_as_it_came(seen, decided)
        news = decided.events
        for event in news:
            state = TRAINJOB.evolve(state, event)
        history += news
        assert TRAINJOB.news(state, seen) == ()
    return history


@effort
@given(looks(), lives)
def test_whatever_comes_in_whatever_order_the_invariants_hold(
    first: TrainJobObservation, rest: list[Wild]
) -> None:
    check_train_history(lived(first, rest))


@lighter
@given(looks(), lives)
def test_invariant_1_the_status_is_the_fold_of_the_log(
    first: TrainJobObservation, rest: list[Wild]
) -> None:
    history = lived(first, rest)
    stored = through_the_log(history)
    for known in range(len(history) + 1):
        before = status(TRAINJOB.fold(history[:known]))
        assert status(TRAINJOB.fold(stored[:known])) == before


@lighter
@given(looks(), st.lists(st.one_of(contributions().map(always), wild), max_size=20))
def test_what_plugins_contribute_leaves_the_controllers_conditions_and_their_room_alone(
    first: TrainJobObservation, rest: list[Wild]
) -> None:
    history = lived(first, rest)
    others = [event for event in history if not isinstance(event, PluginConditionsObserved)]
    state, without = TRAINJOB.fold(history), TRAINJOB.fold(others)
    own = {item.type: item for item in state.conditions if item.type in OURS}
    assert own == {item.type: item for item in without.conditions if item.type in OURS}
    assert len(state.conditions) <= CONDITIONS_MAX
    assert len(items(status(state), "conditions")) <= CONDITIONS_MAX


@lighter
@given(looks(), lives)
def test_invariant_2_no_attempt_begins_after_the_end(
    first: TrainJobObservation, rest: list[Wild]
) -> None:
    check_no_attempt_after_the_end(lived(first, rest))


@lighter
@given(looks(), lives)
def test_invariant_3_one_execution_at_a_time(first: TrainJobObservation, rest: list[Wild]) -> None:
    check_one_execution(lived(first, rest))


@lighter
@given(looks(), lives, st.booleans(), lives)
def test_invariant_4_what_has_ended_has_ended(
    first: TrainJobObservation, before: list[Wild], completed: bool, later: list[Wild]
) -> None:
    """Whatever happens before the end, and whatever after it."""
    end = completed_end() if completed else failed_end()
    history = lived(first, [*before, always(jobset(60, end=end)), *later])
    state = TRAINJOB.initial
    for event in history:
        known = TRAINJOB.evolve(state, event)
        if is_final(state):
            check_train_step(state, event, known)
        state = known


@lighter
@given(looks(), lives)
def test_invariant_5_every_effect_and_every_decision_ends_once(
    first: TrainJobObservation, rest: list[Wild]
) -> None:
    check_train_effects_and_decisions(lived(first, rest))


@lighter
@given(looks(), lives)
def test_invariant_6_a_jobset_of_somebody_else_is_never_taken_nor_deleted(
    first: TrainJobObservation, rest: list[Wild]
) -> None:
    history = lived(first, rest)
    assert STRANGER not in jobsets_of(history)
    state = TRAINJOB.initial
    for event in history:
        known = TRAINJOB.evolve(state, event)
        check_train_step(state, event, known)
        state = known


@lighter
@given(
    looks(), lives, st.sampled_from(["lost", "doubled", "moved", "changed"]), st.integers(0, 999)
)
def test_invariant_7_no_event_is_lost_doubled_moved_or_changed_unnoticed(
    first: TrainJobObservation, rest: list[Wild], deed: str, at: int
) -> None:
    records = recorded(lived(first, rest))
    assert first_fault(GENESIS, records) is None
    if len(records) > 1:
        assert first_fault(GENESIS, tampered(records, deed, at)) is not None


@effort
@given(looks(), lives)
def test_invariant_8_once_the_faults_stop_every_job_ends_or_waits(
    first: TrainJobObservation, rest: list[Wild]
) -> None:
    """What is asked for is done from then on, and what runs completes."""
    world = Calm(lived(first, rest))
    state = world.come_to_rest()
    check_train_history(world.history)
    assert (state.effects, state.decisions) == ((), ())
    assert state.deleted_at is not None or state.phase in RESTING, state
