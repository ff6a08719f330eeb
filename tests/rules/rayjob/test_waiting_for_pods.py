"""Where the job asks for it, the next attempt begins only when no Pod of the last is left.

Asked for in kuberay#5211: two attempts that write to the same place must not overlap.
"""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import AttemptCleared, JobSuspended, PodsObserved
from jobledger.core.rayjob.observations.pods import PodFact, PodLook
from jobledger.core.rayjob.rules.pod_looks import desired_look
from jobledger.core.rayjob.state import RayJobState
from tests.support.rayjob_builders import (
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    pod,
    pods,
    submitter_gone,
)
from tests.support.rayjob_events import asked, started
from tests.support.rayjob_stories import Story, cleared, failing, working
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, play, table

WAITING = RetryOptions(wait_for_pods=True)
CLEARING = PodLook.CLEARING
LEFT = pod("worker", "Running", deleting=True)


def failed(options: RetryOptions = WAITING) -> Story:
    """Return a job whose first attempt has failed and is granted another."""
    return *working(backoff_limit=1, options=options), *failing()


def observed(at: float, *seen: PodFact, trouble: str = "") -> PodsObserved:
    """Return what is written of a look at what is left."""
    look = pods(at, *seen, purpose=CLEARING, trouble=trouble)
    return PodsObserved(
        at=WHEN, attempt=1, purpose=CLEARING, total=len(seen), pods=look.pods, trouble=trouble
    )


GONE = (*failed(), *cleared())
BEGUN = (
    AttemptCleared(at=WHEN, attempt=1),
    started(2),
    asked(EffectKind.CREATE_CLUSTER, cluster_of(2), attempt=2),
)


@table(
    Row(
        rule="Pods that are left hold up the next attempt, and that is told",
        given=GONE,
        when=pods(101, LEFT, purpose=CLEARING),
        then=(observed(101, LEFT),),
    ),
    Row(
        rule="that some are still left is told once",
        given=(*GONE, pods(101, LEFT, pod(), purpose=CLEARING)),
        when=pods(102, LEFT, purpose=CLEARING),
    ),
    Row(
        rule="Pods that cannot be looked at hold it up as well: they may be there",
        given=(*GONE, pods(101, LEFT, purpose=CLEARING)),
        when=pods(102, purpose=CLEARING, trouble="pods is forbidden"),
        then=(observed(102, trouble="pods is forbidden"),),
    ),
    Row(
        rule="once none is left the next attempt begins",
        given=(*GONE, pods(101, LEFT, purpose=CLEARING)),
        when=pods(103, purpose=CLEARING),
        then=(observed(103), *BEGUN),
    ),
    Row(
        rule="none left at the first look is enough",
        given=GONE,
        when=pods(101, purpose=CLEARING),
        then=(observed(101), *BEGUN),
    ),
    Row(
        rule="a look while the RayCluster is there proves nothing: it may still make Pods",
        given=(*failed(), submitter_gone(44)),
        when=pods(45, purpose=CLEARING),
    ),
    Row(
        rule="a suspension is complete only when no Pod is left",
        given=(
            *working(options=WAITING),
            manifest(60, generation=2, suspend=True, finalizer=True, options=WAITING),
            done(EffectKind.DELETE_CLUSTER, 61, uid="cluster-1", gone=True),
            done(EffectKind.DELETE_SUBMITTER, 61, uid="submitter-1", gone=True),
        ),
        when=pods(62, purpose=CLEARING),
        then=(observed(62), JobSuspended(at=WHEN, attempt=1)),
    ),
)
def test_waiting_for_pods(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="while Pods are left the job is Retrying",
        story=(*GONE, pods(101, LEFT, purpose=CLEARING)),
        status={"jobDeploymentStatus": "Retrying", "failed": 1, "rayClusterName": cluster_of()},
        under_way=[],
    ),
    Outlook(
        rule="Pods that go before the retry is due do not begin it",
        story=(
            *failed(RetryOptions(wait_for_pods=True, delay_seconds=500)),
            done(EffectKind.DELETE_CLUSTER, 43, uid="cluster-1", gone=True),
            done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1", gone=True),
            pods(44, purpose=CLEARING),
        ),
        status={"jobDeploymentStatus": "Retrying"},
        pending={"retry": 542},
    ),
    Outlook(
        rule="and are not waited for again when it is",
        story=(
            *failed(RetryOptions(wait_for_pods=True, delay_seconds=500)),
            done(EffectKind.DELETE_CLUSTER, 43, uid="cluster-1", gone=True),
            done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1", gone=True),
            pods(44, purpose=CLEARING),
            due(DecisionKind.RETRY),
        ),
        status={"jobDeploymentStatus": "Initializing"},
    ),
    Outlook(
        rule="a job that does not ask for it waits for RayCluster and submitter only, as upstream",
        story=(*failed(RetryOptions()), *cleared()),
        status={"jobDeploymentStatus": "Initializing"},
    ),
)
def test_what_waits(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def state_after(story: Story) -> RayJobState:
    """Return the state that a story leads to."""
    return play(RAYJOB, story).state


def test_a_look_is_wanted_only_when_nothing_can_be_made_any_more() -> None:
    assert desired_look(state_after(failed())) is None
    assert desired_look(state_after((*failed(), cluster_gone(44)))) is None
    assert desired_look(state_after(GONE)) is CLEARING
    assert desired_look(state_after((*GONE, pods(101, purpose=CLEARING)))) is None
