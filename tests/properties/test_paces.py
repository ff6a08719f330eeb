"""No loop outruns its pause: whatever the state and whatever the answers, an hour stays short.

The state is any that observations can lead to, wrong ones included; the answers are any, wrong
ones included, and come as fast as an API server can give them.
"""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from jobledger.core.jobs.pending.effects import Outcome
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.observations import TrainJobObservation
from jobledger.core.trainjob.state import TrainJobState
from tests.properties.effort import effort
from tests.properties.hours import Answer, Hour, cycle
from tests.properties.test_wild import Wild, always, looks, wild
from tests.support import trainjobs
from tests.support.rayjob_builders import after

EVENTS_PER_HOUR_MAX = 400
"""Of one job, by the rules alone. A real job has some 25 events per attempt."""

uids = st.sampled_from(["", "cluster-1", "cluster-2", "submitter-1", "jobset-1", "jobset-2", "x"])
applies = st.builds(
    ApplyOutcome,
    runtime=st.sampled_from(["", "runtime-1", "runtime-2"]),
    failed_building=st.booleans(),
    may_pass=st.booleans(),
    jobset_uid=uids,
    jobset_generation=st.integers(0, 3),
    jobset_suspend=st.booleans(),
).map(write_outcome)
answers = st.lists(
    st.builds(
        Answer,
        st.sampled_from(list(Outcome)),
        uids,
        st.booleans(),
        st.sampled_from(["no", "not now"]),
        applies,
    ),
    min_size=1,
    max_size=4,
)


@effort
@given(looks(), st.lists(wild, max_size=12), answers)
def test_an_hour_of_a_rayjob_is_short(first: Wild, rest: list[Wild], said: list[Answer]) -> None:
    state = RAYJOB.initial
    for step in (always(first), *rest):  # type: ignore[arg-type] # a look
        for event in RAYJOB.news(state, step(state)):
            state = RAYJOB.evolve(state, event)
    hour = Hour(RAYJOB, state, after(500), cycle(said))
    hour.live()
    names = Counter(type(event).__name__ for event in hour.history)
    assert len(hour.history) <= EVENTS_PER_HOUR_MAX, names


numbers = st.integers(0, 2)
seconds = st.integers(0, 400).map(float)
trains = st.one_of(
    st.builds(
        lambda at, generation, suspend, seconds: trainjobs.manifest(
            at, generation=generation, suspend=suspend, active_deadline_seconds=seconds
        ),
        seconds,
        st.integers(1, 3),
        st.booleans(),
        st.sampled_from([0, 0, 50]),
    ),
    st.builds(trainjobs.runtime, st.sampled_from(["", "runtime-1", "runtime-2"]), seconds),
    st.builds(
        lambda at, uid, active, generation, suspend, restarts, deleting: trainjobs.jobset(
            at,
            trainjobs.counts(active=active),
            uid=uid,
            generation=generation,
            suspend=suspend,
            restarts=restarts,
            deleting=deleting,
        ),
        seconds,
        uids,
        numbers,
        st.integers(1, 3),
        st.booleans(),
        numbers,
        st.booleans(),
    ),
    st.builds(lambda at, uid: trainjobs.jobset_gone(at, uid=uid), seconds, uids),
    st.builds(trainjobs.snapshot_gone, seconds),
)


@effort
@given(st.lists(trains, max_size=12), answers)
def test_an_hour_of_a_trainjob_is_short(
    seen: list[TrainJobObservation], said: list[Answer]
) -> None:
    state = TrainJobState()
    hour = Hour(TRAINJOB, state, after(0), cycle(said))
    for step in (*trainjobs.seen(), *seen):
        assert not callable(step), "it is what was seen"
        for event in TRAINJOB.news(hour.state, step):
            hour.state = TRAINJOB.evolve(hour.state, event)
        hour.now = max(hour.now, step.at)
        for effect in hour.state.effects[: len(said) % 2]:
            hour._answer(effect)  # noqa: SLF001 what was asked for is answered meanwhile
    hour.history.clear()
    hour.live()
    names = Counter(type(event).__name__ for event in hour.history)
    assert len(hour.history) <= EVENTS_PER_HOUR_MAX, names
