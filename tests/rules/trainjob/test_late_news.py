"""JobSets follow each other under one name: what is told late of one is not taken for another's."""

from msgspec.structs import replace

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from tests.support.trainjobs import (
    applied,
    counts,
    created,
    deleted,
    due,
    jobset,
    jobset_gone,
    play,
    running,
)


def test_late_news_of_a_deleted_jobset_does_not_make_its_successor_pass_for_gone() -> None:
    """The apply made `jobset-1`; only then does the watch tell of the one that was there before."""
    played = play([*created(), jobset(5, uid="jobset-0"), jobset_gone(6, uid="jobset-0")])
    assert played.state.gone == ("jobset-0",)
    assert played.state.rebuild, "it is looked at anew"
    again = play(
        [
            *created(),
            jobset(5, uid="jobset-0"),
            jobset_gone(6, uid="jobset-0"),
            applied(7),
            jobset(8, counts(active=1)),
        ]
    )
    known = again.state.jobset
    assert known is not None
    assert (known.uid, again.state.phase) == ("jobset-1", "Running")


def test_a_jobset_that_was_seen_and_has_a_successor_is_gone() -> None:
    played = play([*running(), jobset(30, uid="jobset-2"), jobset(31, counts(active=1))])
    known = played.state.jobset
    assert known is not None
    assert (known.uid, played.state.gone) == ("jobset-2", ("jobset-1",))


def test_a_jobset_that_is_made_late_after_the_deadline_is_deleted_as_well() -> None:
    """A request that was given up arrives once the JobSet that it was for has gone."""
    ended = (*running(active_deadline_seconds=100), due(DecisionKind.ACTIVE_DEADLINE), deleted())
    over = play([*ended, jobset_gone(102)])
    assert over.state.effects == ()
    (effect,) = play([*ended, jobset_gone(102), jobset(110, uid="jobset-2")]).state.effects
    assert (effect.desired.kind, effect.desired.uid) == (EffectKind.DELETE_JOBSET, "jobset-2")
    told_again = play([*ended, jobset(103, counts(active=1), suspend=True)])
    assert told_again.state.effects == (), "its deletion is on its way"


def test_a_look_that_is_older_than_what_is_known_is_no_news() -> None:
    """After a hand-over the other replica's watch may lag; what it tells was taken in before."""
    ready = replace(jobset(20, counts(active=1, ready=1)), version="110")
    active = replace(jobset(10, counts(active=1)), version="99")
    played = play([*created(), ready, active])
    assert played.said == []
    assert [item.ready for item in played.state.jobs] == [1]
