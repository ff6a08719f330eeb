"""When a RayJob passes from one controller to the other: what is forgotten, and what is no news."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.observations.observations import (
    HeadPodGone,
    HeadPodSeen,
    ManifestSeen,
    SeenStatus,
)
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.state import RayJobState
from tests.support.rayjob_builders import (
    ADDRESS,
    UNNAMED,
    after,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    named,
    not_found,
    poll,
    submission_of,
    submitter,
    submitter_gone,
)
from tests.support.rows import Step, check_laws, play

WHY = "this installation only records"


def shown(
    phase: str, at: float, attempt: int = 1, *, began: float | None = 1, **said: object
) -> ManifestSeen:
    """Return a look at a recorded job whose status names an attempt that began at `began`."""
    seen = SeenStatus(
        phase=phase,
        cluster_name=cluster_of(attempt),
        job_id=submission_of(attempt),
        address=ADDRESS,
        started_at=None if began is None else after(began),
        **said,  # type: ignore[arg-type] # fields by name
    )
    return manifest(at, recorded=WHY, status=seen, backoff_limit=2)


def head(
    at: float, *, uid: str = "head-1", cluster_uid: str = "cluster-1", restarts: int = 0
) -> HeadPodSeen:
    """Return a look at the Pod of the head."""
    return named(
        HeadPodSeen(
            id=UNNAMED,
            at=after(at),
            cluster=cluster_of(),
            cluster_uid=cluster_uid,
            name="train-head",
            uid=uid,
            deleting=False,
            restarts=restarts,
        )
    )


def head_gone(at: float, uid: str = "head-1") -> HeadPodGone:
    return named(HeadPodGone(id=UNNAMED, at=after(at), name="train-head", uid=uid))


RECORDED: tuple[Step, ...] = (
    shown("Running", 12, job_status="RUNNING"),
    cluster("ready", 13),
    submitter("", 13),
    head(13),
)
MINE = manifest(50, generation=2, backoff_limit=2)


@pytest.mark.parametrize(
    "survived",
    [
        (cluster_gone(30), cluster("ready", 31, uid="cluster-again")),
        (head_gone(30), head(31, uid="head-2")),
        (head(30, restarts=1),),
        (submitter_gone(30),),
        (shown("Running", 30, job_status="PENDING"),),
    ],
    ids=["cluster", "head", "head started again", "submitter", "Ray job begun anew"],
)
def test_a_loss_that_a_recorded_job_has_survived_does_not_end_it_under_control(
    survived: Sequence[Step],
) -> None:
    played = play(RAYJOB, (*RECORDED, *survived, MINE))
    check_laws(RAYJOB, played.history, 0)
    state = played.state
    assert (state.phase, state.failed, state.decisions) == (Phase.RUNNING, 0, ())
    assert state.submitter is None or state.submitter.outcome == ""
    wanted = {effect.desired.kind for effect in state.effects}
    assert wanted == {EffectKind.ADD_FINALIZER, EffectKind.CREATE_SERVICE}


def test_what_is_lost_after_control_was_taken_ends_the_attempt_all_the_same() -> None:
    survived = (head_gone(30), head(31, uid="head-2"))
    taken = (*RECORDED, *survived, MINE)
    assert play(RAYJOB, (*taken, head_gone(60, "head-2"))).state.phase is Phase.RETRYING
    unknown = (*taken, not_found(60), not_found(90))  # of a Pod as it was, once is not enough
    assert play(RAYJOB, unknown).state.phase is Phase.RETRYING


SECOND: tuple[Step, ...] = (
    manifest(0, finalizer=True, backoff_limit=2),
    done(EffectKind.CREATE_CLUSTER, uid="cluster-1"),
    cluster("ready", 10),
    done(EffectKind.CREATE_SUBMITTER, uid="submitter-1"),
    submitter("", 12),
    poll("FAILED", 20),
    submitter("Failed", 21),
    due(DecisionKind.RETRY),
    cluster_gone(30),
    submitter_gone(31),
)
"""Attempt 1 has failed, attempt 2 is in the log and not shown yet."""


def attempt_of(state: RayJobState) -> tuple[int, str]:
    assert state.attempt is not None
    return state.attempt.number, state.attempt.cluster_name


@pytest.mark.parametrize("began", [1, None])
@pytest.mark.parametrize("phase", ["Running", "Retrying"])
def test_a_status_of_an_attempt_that_was_over_invents_none(phase: str, began: float | None) -> None:
    behind = shown(phase, 100, began=began, failed=1, job_status="FAILED")
    played = play(RAYJOB, (*SECOND, behind))
    check_laws(RAYJOB, played.history, 0)
    assert attempt_of(played.state) == (2, cluster_of(2))
    assert played.state.phase is Phase.INITIALIZING
    told = [type(event).__name__ for event in played.news]
    assert not {"TransitionsMissed", "AttemptStarted", "AttemptFailed"} & set(told)
    later = replace(shown("Initializing", 200, 3, began=190, failed=1), generation=1)
    assert attempt_of(play(RAYJOB, (*SECOND, behind, later)).state) == (3, cluster_of(3))


def test_a_status_of_the_attempt_that_was_cleared_last_begins_none() -> None:
    cleared = (
        *RECORDED,
        shown("Retrying", 40, failed=1),
        manifest(46, recorded=WHY, status=SeenStatus(phase="", failed=1), backoff_limit=2),
    )
    state = play(RAYJOB, (*cleared, shown("Retrying", 47, failed=1))).state
    assert state.attempt is not None
    assert (state.phase, state.attempt.number, state.attempt.cleared) == (Phase.NEW, 1, True)
    later = shown("Initializing", 101, 2, began=100, failed=1)
    assert attempt_of(play(RAYJOB, (*cleared, later)).state) == (2, cluster_of(2))
