"""A recorder hears of the end of an attempt before it hears that the RayCluster went.

The two are told by watches of their own, which keep no order between them.
"""

from jobledger.core.forensics.attempts import facts
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import ClusterVanished
from tests.rules.rayjob.test_recording import FAILED, WORKING, names_of, said, shown
from tests.support.rayjob_builders import after, cluster, cluster_gone
from tests.support.rows import Step, play

RETRIED: tuple[Step, ...] = (*WORKING, shown("Retrying", 40, failed=1, **FAILED))
CLEARED: tuple[Step, ...] = (*RETRIED, shown("", 42, failed=1, bare=True))
AGAIN: tuple[Step, ...] = (
    *CLEARED,
    shown("Initializing", 101, 2, failed=1),
    cluster("ready", 110, attempt=2),
    shown("Running", 120, 2, failed=1, job_status="RUNNING"),
)


def test_a_raycluster_that_goes_after_its_attempt_was_cleared_is_heard_of() -> None:
    played = said((*CLEARED, cluster_gone(43)))
    assert names_of(played.news) == ["ClusterVanished*"]


def test_it_is_not_taken_for_that_of_the_next_attempt() -> None:
    played = said((*AGAIN, cluster_gone(125)))
    (gone,) = played.news
    assert isinstance(gone, ClusterVanished)
    assert (gone.asked, gone.inferred) == (True, "its attempt is over")
    assert played.state.cluster is not None
    assert played.state.cluster.uid == "cluster-2"
    assert played.state.attempt is not None
    assert not played.state.attempt.cluster_lost


def test_it_is_heard_of_once() -> None:
    assert names_of(said((*AGAIN, cluster_gone(125), cluster_gone(126))).news) == []


def test_a_raycluster_of_no_attempt_goes_unnoticed() -> None:
    assert names_of(said((*AGAIN, cluster_gone(125, uid="other", name="other"))).news) == []


def test_each_attempt_is_charged_until_its_own_raycluster_went() -> None:
    found = facts(play(RAYJOB, (*AGAIN, cluster_gone(125))).history)
    first, second = found.attempts
    assert (first.cluster_from, first.cluster_until) == (after(2), after(125))
    assert not second.cluster_is_gone
