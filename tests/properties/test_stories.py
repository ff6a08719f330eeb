"""Everything that can happen in a small world, in any order: the invariants hold, and it ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer, RetryOptions, RetryRule
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.ending import is_open
from jobledger.core.rayjob.phases import FINAL, JobStatus, Phase
from jobledger.core.rayjob.state import selects_cluster
from tests.properties.effort import effort
from tests.properties.invariants import check_history
from tests.properties.moves import CHOICES, WAITING, calm, choose
from tests.properties.world import SELECTED, World
from tests.support.rayjob_builders import HTTP, INTERACTIVE

pytestmark = pytest.mark.faults

rules = st.builds(RetryRule, failure=st.sampled_from(FailureClass), answer=st.sampled_from(Answer))
options = st.builds(
    RetryOptions,
    rules=st.lists(rules, max_size=3).map(tuple),
    uncounted_max=st.integers(0, 2),
    delay_seconds=st.sampled_from([None, 0, 40]),
    jitter_percent=st.sampled_from([0, 50]),
    wait_for_pods=st.booleans(),
    same_cluster=st.booleans(),
    job_deadline_seconds=st.sampled_from([None, None, 30, 90, 10_000]),
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "submission_mode": st.sampled_from([HTTP, INTERACTIVE]),
        "backoff_limit": st.integers(0, 2),
        "active_deadline_seconds": st.sampled_from([1, 60, 10_000]),
        "pre_running_deadline_seconds": st.sampled_from([1, 20]),
        "shutdown_after_job_finishes": st.booleans(),
        "ttl_seconds_after_finished": st.sampled_from([0, 30]),
        "suspend": st.booleans(),
        "options": options,
    },
)
choices = st.one_of(
    st.lists(st.integers(0, CHOICES - 1), max_size=12),
    st.lists(st.integers(0, CHOICES - 1), min_size=30, max_size=80),
)
endings = st.sampled_from([JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED])


def live(world: World, chosen: list[int]) -> None:
    """Let one possible thing after the other happen."""
    for choice in chosen:
        world.now += 1
        if (move := choose(world, choice)) is not None:
            move()


@effort
@given(specs, choices)
def test_whatever_happens_the_invariants_hold(spec: dict[str, object], chosen: list[int]) -> None:
    world = World(dict(spec))
    live(world, chosen)
    check_history(world.history)


@effort
@given(specs, choices)
def test_the_same_observation_again_brings_nothing(
    spec: dict[str, object], chosen: list[int]
) -> None:
    world = World(dict(spec))
    for choice in chosen:
        live(world, [choice])
        if world.heard:
            assert RAYJOB.news(world.state, world.heard[-1][0]) == ()


@effort
@given(specs, choices, endings)
def test_once_the_faults_stop_every_job_comes_to_an_end_or_waits_for_somebody(
    spec: dict[str, object], chosen: list[int], ending: JobStatus
) -> None:
    """Invariant 8: no stuck job, no leaked object."""
    world = World(dict(spec), ending)
    live(world, chosen)
    calm(world)
    check_history(world.history)
    state = world.state
    assert state.effects == ()
    assert state.decisions == ()
    if not world.exists:
        assert state.deleted_at is not None or state.manifest is None
        assert not world.clusters
        return
    assert not world.deleting, "an object that is to go goes"
    assert state.phase in WAITING, state
    if state.phase in FINAL:
        assert not is_open(state), state
    own = [child for child in world.clusters.values() if child.owned]
    keeps = state.phase not in FINAL or not world.spec.get("shutdown_after_job_finishes")
    assert len(own) <= keeps, f"{own} is leaked"


@effort
@given(choices, endings)
def test_a_selected_cluster_survives_everything(chosen: list[int], ending: JobStatus) -> None:
    """Invariant 6."""
    world = World({"cluster_selector": SELECTED, "shutdown_after_job_finishes": True}, ending)
    live(world, chosen)
    calm(world)
    check_history(world.history)
    assert selects_cluster(world.state)
    assert SELECTED in world.clusters
    assert not world.clusters[SELECTED].deleting
    assert not world.exists or world.state.phase in FINAL | {Phase.VALIDATION_FAILED}
