"""Observations that no world would bring, in any order: reordered, repeated, about strangers.

The rules must still come to rest, and everything about one history must still add up.
"""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobledger.core.jobs.observations import DecisionDue, EffectEnded
from jobledger.core.jobs.pending.effects import EffectKind, Outcome
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.observations.observations import RayJobObservation, SeenStatus
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.ids import ObservationId, decision_id_of, effect_id_of
from tests.properties.effort import effort
from tests.properties.invariants import check_effects_and_decisions, check_retries, check_step
from tests.support.observed import assert_kept_as_it_came
from tests.support.rayjob_builders import (
    HTTP,
    INTERACTIVE,
    UNNAMED,
    after,
    cluster,
    cluster_gone,
    interrupted,
    manifest,
    manifest_gone,
    named,
    not_found,
    nothing_new,
    poll,
    silence,
    submission_of,
    submitter,
    submitter_gone,
    written,
)
from tests.support.rows import check_laws

pytestmark = pytest.mark.faults

seconds = st.integers(0, 500).map(float)
attempts = st.integers(1, 3)
uids = st.sampled_from(["", "cluster-1", "cluster-2", "submitter-1", "x"])
job_ids = st.sampled_from(["", "mine", submission_of(1), submission_of(2)])
phases = st.sampled_from([*(phase.value for phase in Phase), "Dreaming"])
instants = st.none() | seconds.map(after)
specs = st.fixed_dictionaries(
    {},
    optional={
        "submission_mode": st.sampled_from([HTTP, INTERACTIVE]),
        "backoff_limit": st.integers(-1, 3),
        "active_deadline_seconds": st.integers(-5, 90),
        "pre_running_deadline_seconds": st.integers(0, 90),
        "shutdown_after_job_finishes": st.booleans(),
        "ttl_seconds_after_finished": st.integers(-5, 90),
        "suspend": st.booleans(),
        "job_id": st.sampled_from(["", "mine"]),
        "cluster_selector": st.sampled_from(["", "shared"]),
        "managed_by": st.sampled_from(["", "ray.io/kuberay-operator", "kueue"]),
    },
)
statuses = st.builds(
    SeenStatus,
    phase=phases,
    job_status=st.sampled_from(["", "RUNNING", "FAILED", "SUCCEEDED", "odd"]),
    job_id=job_ids,
    cluster_name=st.sampled_from(["", "shared", "train-theirs"]),
    address=st.sampled_from(["", "head:8265"]),
    started_at=instants,
    ended_at=instants,
    succeeded=st.integers(0, 1),
    failed=st.integers(0, 3),
)
outcomes = st.sampled_from(list(Outcome))
Wild = Callable[[RayJobState], RayJobObservation]


@st.composite
def looks(draw: st.DrawFn) -> RayJobObservation:
    """Return any look at the RayJob."""
    return manifest(
        draw(seconds),
        generation=draw(st.integers(1, 4)),
        problem=draw(st.sampled_from(["", "", "", "bad", "worse"])),
        finalizer=draw(st.booleans()),
        deleting=draw(st.sampled_from([False] * 9 + [True])),
        status=draw(st.none() | statuses),
        **draw(specs),  # type: ignore[arg-type] # fields of the specification only
    )


def effect_ended(index: int, outcome: Outcome, at: float, uid: str, gone: bool) -> Wild:
    """Return the outcome of an open effect, or of one that nobody asked for."""

    def reply(state: RayJobState) -> RayJobObservation:
        known = [effect.effect_id for effect in state.effects]
        stranger = effect_id_of(UNNAMED, EffectKind.CREATE_CLUSTER.value, "nobody")
        ids = [*known, stranger]
        return named(
            EffectEnded(
                id=UNNAMED,
                at=after(at),
                effect_id=ids[index % len(ids)],
                outcome=outcome,
                trouble=f"trouble {index % 2}",
                uid=uid,
                gone=gone,
            )
        )

    return reply


def decision_due(index: int, at: float, looked: bool) -> Wild:
    """Return the firing of a pending decision, at any time, or of one that nobody scheduled."""

    def reply(state: RayJobState) -> RayJobObservation:
        ids = [item.decision_id for item in state.decisions]
        ids.append(decision_id_of(UNNAMED, "retry", "nobody"))
        chosen = ids[index % len(ids)]
        return named(DecisionDue(id=UNNAMED, at=after(at), decision_id=chosen, looked=looked))

    return reply


def always(observation: RayJobObservation) -> Wild:
    """Return an observation that does not depend on the state."""
    return lambda _: observation


observations: st.SearchStrategy[RayJobObservation] = st.one_of(
    looks(),
    st.builds(
        lambda state, at, attempt, owned, deleting: cluster(
            state, at, attempt=attempt, owned=owned, deleting=deleting
        ),
        st.sampled_from(["", "ready", "failed"]),
        seconds,
        attempts,
        st.booleans(),
        st.booleans(),
    ),
    st.builds(lambda at, uid: cluster("ready", at, name="shared", uid=uid), seconds, uids),
    st.builds(
        lambda at, attempt, uid: cluster_gone(at, attempt=attempt, uid=uid), seconds, attempts, uids
    ),
    st.builds(
        lambda end, at, attempt, owned: submitter(end, at, attempt=attempt, owned=owned),
        st.sampled_from(["", "Complete", "Failed"]),
        seconds,
        attempts,
        st.booleans(),
    ),
    st.builds(lambda at, attempt: submitter_gone(at, attempt=attempt), seconds, attempts),
    st.builds(
        lambda status, at, job_id, ended: poll(status, at, job_id=job_id, ended_at=ended),
        st.sampled_from([status.value for status in JobStatus]),
        seconds,
        job_ids,
        st.none() | seconds,
    ),
    st.builds(lambda at, attempt: not_found(at, attempt=attempt), seconds, attempts),
    st.builds(lambda at, attempt: silence(at, attempt=attempt), seconds, attempts),
    st.builds(interrupted, seconds, seconds),
    st.builds(nothing_new, seconds),
    st.builds(lambda at: written("Running", at, str(at)), seconds),
    st.builds(manifest_gone, seconds).filter(lambda gone: gone.at > after(450)),
)
wild: st.SearchStrategy[Wild] = st.one_of(
    observations.map(always),
    st.builds(effect_ended, st.integers(0, 3), outcomes, seconds, uids, st.booleans()),
    st.builds(
        effect_ended, st.integers(0, 3), st.just(Outcome.SUCCEEDED), seconds, uids, st.just(False)
    ),
    st.builds(decision_due, st.integers(0, 3), seconds, st.booleans()),
)


@effort
@given(looks(), st.one_of(st.lists(wild, max_size=8), st.lists(wild, min_size=20, max_size=50)))
def test_no_observation_at_all_makes_the_rules_raise_or_a_history_not_add_up(
    first: RayJobObservation, rest: list[Wild]
) -> None:
    state = RAYJOB.initial
    history: list[RayJobEvent] = []
    heard: set[ObservationId] = set()
    for step in (always(first), *rest):
        seen = step(state)
        if seen.id in heard:
            continue
        heard.add(seen.id)
        decided = RAYJOB.decide(state, seen)
        assert_kept_as_it_came(seen, decided)
        news = decided.events
        for event in news:
            after_it = RAYJOB.evolve(state, event)
            check_step(state, event, after_it)
            state = after_it
        history += news
        assert RAYJOB.news(state, seen) == ()
    check_laws(RAYJOB, history, len(history) // 2)
    check_effects_and_decisions(history)
    check_retries(history)
