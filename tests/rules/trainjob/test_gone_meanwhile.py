"""What goes while an apply is under way is applied once more: the apply may have met it still."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.observations import DependentGone
from tests.support.trainjobs import (
    Step,
    applied,
    counts,
    created,
    jobset,
    jobset_gone,
    manifest,
    named,
    not_created,
    play,
    running,
    seen,
    snapshot_gone,
)

AGAIN = ["EffectSucceeded", "ObjectsApplied", "EffectRequested"]
DONE = ["EffectSucceeded", "ObjectsApplied"]
BELONGINGS = ["train-runtime-snapshot", "train-mpi-ssh-auth", "train-mpi-hostfile", "train"]
"""The snapshot, the Secret and the ConfigMap of MPI, and the PodGroup, which has the job's name."""


def gone(name: str, at: float) -> DependentGone:
    """Return that an object of the job is gone."""
    return named(replace(snapshot_gone(at), name=name, uid=f"{name}-1"))


@pytest.mark.parametrize("name", BELONGINGS)
def test_an_object_that_goes_while_everything_is_applied_is_made_again(name: str) -> None:
    played = play([*seen(), gone(name, 0.5), applied(1)])
    assert played.said == [*DONE, "TrainAttemptStarted", "EffectRequested"]
    assert [one.desired.kind for one in played.state.effects] == [EffectKind.APPLY_OBJECTS]
    over = play([*seen(), gone(name, 0.5), applied(1), applied(2)])
    assert over.said == DONE
    assert (over.state.effects, over.state.rebuild) == ((), False)


@pytest.mark.parametrize("name", BELONGINGS)
def test_one_that_went_before_the_apply_was_asked_for_is_covered_by_it(name: str) -> None:
    played = play([*running(), gone(name, 30), applied(31)])
    assert played.said == DONE
    assert (played.state.effects, played.state.rebuild) == ((), False)


@pytest.mark.parametrize("name", BELONGINGS)
def test_a_second_one_that_goes_meanwhile_is_not_forgotten(name: str) -> None:
    story: Sequence[Step] = [*running(), snapshot_gone(30), gone(name, 30.5)]
    assert play(story).said == ["DependentVanished"]
    assert play([*story, gone("another", 30.7)]).said == [], "it is known that one has gone"
    assert play([*story, applied(31)]).said == AGAIN


def test_it_is_not_forgotten_over_an_apply_that_fails() -> None:
    story = [*seen(), snapshot_gone(0.5), not_created(1)]
    assert play(story).state.rebuild


def test_a_jobset_that_goes_before_its_apply_is_told_is_made_again() -> None:
    played = play(
        [*seen(), jobset(0.3, counts(active=1)), jobset_gone(0.6), applied(1, uid="jobset-1")]
    )
    assert played.said == AGAIN
    assert played.state.jobset is None


def test_a_jobset_that_goes_while_it_is_resumed_is_made_again() -> None:
    story = [
        *created(suspend=True),
        jobset(5, suspend=True),
        manifest(10, generation=2),
        jobset_gone(11),
        applied(12, uid="jobset-1", generation=2),
    ]
    assert play(story).said == AGAIN
    over = play([*story, applied(13, uid="jobset-2")])
    assert over.said == [*DONE, "TrainAttemptStarted"]
    assert over.state.effects == ()
