"""Where the job asks for it, the next attempt runs on the RayCluster of the last.

Wanted in kuberay#4668: making a RayCluster of GPUs anew costs minutes.
"""

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer, RetryOptions, RetryRule
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    AttemptCleared,
    ClusterGivenUp,
    ClusterVanished,
    HeadPodObserved,
    HeadPodVanished,
    RayJobEvent,
    RetryGranted,
    SubmitterVanished,
    SuspensionPostponed,
)
from jobledger.core.rayjob.observations.observations import HeadPodGone, HeadPodSeen
from tests.support.rayjob_builders import (
    ADDRESS,
    HTTP,
    UNNAMED,
    after,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    named,
    pod,
    pods,
    poll,
    submission_of,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_events import asked, cluster_is, fired, reached_running, received, started
from tests.support.rayjob_stories import Story, failing, initializing, running, working
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, play, table

SAME = RetryOptions(same_cluster=True)
LATER = RetryOptions(same_cluster=True, delay_seconds=500)
PAUSED = RetryOptions(delay_seconds=500)
HEAD_WENT = f"the head of RayCluster {cluster_of()} went or was started again"


def head(at: float, *, uid: str = "head-1", taken: str = "", restarts: int = 0) -> HeadPodSeen:
    """Return a look at the Pod of the head."""
    return named(
        HeadPodSeen(
            id=UNNAMED,
            at=after(at),
            name=f"pod-of-{uid}",
            uid=uid,
            cluster=cluster_of(),
            cluster_uid="cluster-1",
            deleting=False,
            taken=taken,
            restarts=restarts,
        )
    )


def head_gone(at: float) -> HeadPodGone:
    """Return that the Pod of the head is gone."""
    return named(HeadPodGone(id=UNNAMED, at=after(at), name="pod-of-head-1", uid="head-1"))


def failed(options: RetryOptions = SAME, **spec: object) -> Story:
    """Return a job whose first attempt has failed, with a head that was seen."""
    spec = {"backoff_limit": 1, **spec}
    return *working(options=options, **spec), head(31), *failing()


def next_one(options: RetryOptions = SAME, **spec: object) -> Story:
    """Return a job whose second attempt has just begun, at 50 s."""
    return (
        *failed(options, **spec),
        done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1"),
        due(DecisionKind.RETRY, 44),
        submitter_gone(50),
    )


def resubmitted() -> Story:
    """Return how the second attempt gets to Running."""
    created = done(EffectKind.CREATE_SUBMITTER, 51, uid="submitter-2")
    return created, submitter("", 52, attempt=2), poll("RUNNING", 56, attempt=2, started_at=55)


def failing_there() -> Story:
    """Return how the second attempt fails."""
    ended = poll("FAILED", 60, attempt=2, started_at=55, ended_at=59, exit_code=1)
    return ended, submitter("Complete", 61, attempt=2)


def given_up(cause: str, *, generation: int = 1) -> tuple[RayJobEvent, ...]:
    """Return that the RayCluster goes all the same, for a cause."""
    return (
        ClusterGivenUp(at=WHEN, attempt=1, name=cluster_of(), cause=cause),
        asked(EffectKind.DELETE_CLUSTER, cluster_of(), uid="cluster-1", generation=generation),
    )


def verdict(story: Story) -> tuple[bool, str]:
    """Return what the last retry that was granted says of the RayCluster."""
    last = [event for event in play(RAYJOB, story).history if isinstance(event, RetryGranted)][-1]
    return last.keeps_cluster, last.new_cluster_because


RESTED = (
    *failed(LATER),
    done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1"),
    submitter_gone(50),
)
"""Its submitter is gone, and the retry is due later."""


@table(
    Row(
        rule="the RayCluster stays, and the next attempt begins on it with a submission of its own",
        given=(
            *failed(),
            done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1"),
            due(DecisionKind.RETRY, 44),
        ),
        when=submitter_gone(50),
        then=(
            SubmitterVanished(at=WHEN, name="train", uid="submitter-1", asked=True),
            AttemptCleared(at=WHEN, attempt=1, kept_cluster=cluster_of()),
            replace(started(2, cluster_name=cluster_of()), same_cluster=True),
            asked(EffectKind.CREATE_SUBMITTER, "train", attempt=2, address=ADDRESS),
        ),
    ),
    Row(
        rule="in HTTPMode nothing is to be cleared away, and the entrypoint is handed in again",
        given=(
            *working(options=SAME, backoff_limit=1, submission_mode=HTTP),
            poll("FAILED", 40, started_at=25, ended_at=39),
        ),
        when=due(DecisionKind.RETRY, 44),
        then=(
            fired(DecisionKind.RETRY, 40),
            AttemptCleared(at=WHEN, attempt=1, kept_cluster=cluster_of()),
            replace(started(2, cluster_name=cluster_of()), same_cluster=True),
            reached_running(2),
            asked(EffectKind.SUBMIT_ENTRYPOINT, submission_of(2), attempt=2, address=ADDRESS),
        ),
    ),
    Row(
        rule="a RayCluster that goes in the pause is not waited for",
        given=RESTED,
        when=cluster_gone(60),
        then=(
            ClusterVanished(at=WHEN, name=cluster_of(), uid="cluster-1", asked=False),
            given_up(f"RayCluster {cluster_of()} is gone")[0],
        ),
    ),
    Row(
        rule="one that somebody deletes is given up",
        given=RESTED,
        when=cluster("ready", 60, deleting=True),
        then=(
            cluster_is("ready", deleting=True),
            given_up(f"RayCluster {cluster_of()} is being deleted")[0],
        ),
    ),
    Row(
        rule="one that is not ready any more is given up",
        given=RESTED,
        when=cluster("failed", 60),
        then=(cluster_is("failed"), *given_up(f"RayCluster {cluster_of()} is failed")),
    ),
    Row(
        rule="a head that goes in the pause takes the RayCluster with it",
        given=RESTED,
        when=head_gone(60),
        then=(
            HeadPodVanished(at=WHEN, name="pod-of-head-1", uid="head-1"),
            *given_up(HEAD_WENT),
        ),
    ),
    Row(
        rule="so does one that is taken away",
        given=RESTED,
        when=head(60, taken="Preempted"),
        then=(
            HeadPodObserved(at=WHEN, name="pod-of-head-1", uid="head-1", taken="Preempted"),
            *given_up(f"the head of RayCluster {cluster_of()} is taken away: Preempted"),
        ),
    ),
    Row(
        rule="so does one that was started again",
        given=RESTED,
        when=head(60, restarts=1),
        then=(
            HeadPodObserved(at=WHEN, name="pod-of-head-1", uid="head-1", restarts=1),
            *given_up(HEAD_WENT),
        ),
    ),
    Row(
        rule="an edit is for a new RayCluster: the one that stands was made by the old manifest",
        given=RESTED,
        when=manifest(60, generation=2, finalizer=True, options=LATER, backoff_limit=1),
        then=(
            received(
                manifest(60, generation=2, finalizer=True, options=LATER, backoff_limit=1),
            ),
            *given_up("the specification was edited since the attempt began", generation=2),
        ),
    ),
    Row(
        rule="who takes the annotation away gets a new RayCluster",
        given=RESTED,
        when=manifest(60, finalizer=True, options=PAUSED, backoff_limit=1),
        then=(
            received(manifest(60, finalizer=True, options=PAUSED, backoff_limit=1), document=False),
            *given_up("the job does not ask for it any more"),
        ),
    ),
    Row(
        rule="a job that is to be suspended holds no RayCluster",
        given=RESTED,
        when=manifest(
            60, generation=2, finalizer=True, options=LATER, backoff_limit=1, suspend=True
        ),
        then=(
            received(
                manifest(
                    60, generation=2, finalizer=True, options=LATER, backoff_limit=1, suspend=True
                )
            ),
            SuspensionPostponed(at=WHEN, phase="Retrying"),
            *given_up("the job is to be suspended", generation=2),
        ),
    ),
)
def test_which_cluster(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="while the retry waits the status names the RayCluster that stays",
        story=RESTED,
        status={
            "jobDeploymentStatus": "Retrying",
            "rayClusterName": cluster_of(),
            "rayClusterStatus": {"state": "ready"},
            "failed": 1,
        },
        under_way=[],
        pending={"retry": 542},
    ),
    Outlook(
        rule="the second attempt is Initializing on it, and no other RayCluster is made",
        story=next_one(),
        status={
            "jobDeploymentStatus": "Initializing",
            "rayClusterName": cluster_of(),
            "rayClusterStatus": {"state": "ready"},
            "jobId": submission_of(2),
            "failed": 1,
        },
        under_way=["create_submitter train"],
    ),
    Outlook(
        rule="it is Running once its own submitter is there, and its Service leads there already",
        story=(*next_one(), *resubmitted()),
        status={
            "jobDeploymentStatus": "Running",
            "rayClusterName": cluster_of(),
            "jobId": submission_of(2),
        },
        under_way=[],
    ),
    Outlook(
        rule="the RayCluster is no orphan of the attempt before",
        story=(*next_one(), cluster("ready", 51)),
        facts={"orphans": ()},
        said=(),
    ),
    Outlook(
        rule="it goes after the last attempt, as the job asks",
        story=(
            *next_one(shutdown_after_job_finishes=True),
            *resubmitted(),
            poll("SUCCEEDED", 60, attempt=2, started_at=55, ended_at=59),
            submitter("Complete", 61, attempt=2),
            due(DecisionKind.TTL_SHUTDOWN),
        ),
        status={"jobDeploymentStatus": "Complete", "succeeded": 1, "failed": 1},
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="a third attempt can run on it as well",
        story=(*next_one(backoff_limit=2), *resubmitted(), *failing_there()),
        facts={"failed": 2},
        status={"jobDeploymentStatus": "Retrying", "rayClusterName": cluster_of()},
        under_way=["delete_submitter train"],
    ),
    Outlook(
        rule="a head that goes with the second Ray job ends that attempt, and a new one is made",
        story=(*next_one(backoff_limit=2), *resubmitted(), head_gone(60)),
        facts={"failed": 2},
        under_way=[f"delete_cluster {cluster_of()}", "delete_submitter train"],
    ),
    Outlook(
        rule="a RayCluster that goes before the second hand-in is made again under its name",
        story=(*next_one(), cluster_gone(55)),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of()},
        under_way=[f"create_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="a job that was given up gets the RayCluster of its number",
        story=(
            *RESTED,
            cluster_gone(60),
            due(DecisionKind.RETRY, 542),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(2)},
        under_way=[f"create_cluster {cluster_of(2)}"],
    ),
    Outlook(
        rule="a deadline over all attempts that passes in the pause leaves nothing behind",
        story=(
            *failed(replace(LATER, job_deadline_seconds=100)),
            done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1", gone=True),
            due(DecisionKind.JOB_DEADLINE),
        ),
        status={"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded"},
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
)
def test_where_it_leads(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def with_rule(failure: FailureClass, answer: Answer) -> RetryOptions:
    """Return a policy of one rule, and the wish for the same RayCluster."""
    return replace(SAME, rules=(RetryRule(failure=failure, answer=answer),))


def test_a_worker_that_was_preempted_does_not_cost_the_cluster() -> None:
    options = with_rule(FailureClass.PREEMPTION, Answer.UNCOUNTED)
    evicted = pod("worker", "Failed", reason="Preempted", disrupted=True)
    story = (*working(options=options, backoff_limit=1), head(31), *failing(), pods(43, evicted))
    played = play(RAYJOB, story)
    assert verdict(story) == (True, "")
    assert (played.state.failed, played.state.uncounted) == (0, 1)


@pytest.mark.parametrize(
    ("story", "keeps", "why"),
    [
        pytest.param(failed(), True, "", id="the Ray job has failed, and all is well"),
        pytest.param(failed(RetryOptions()), False, "", id="nobody asks"),
        pytest.param(
            (*working(options=SAME, backoff_limit=1), cluster_gone(40)),
            False,
            "AppFailed, and Ray says RUNNING: the Ray job may go on, or never be taken",
            id="the RayCluster is gone",
        ),
        pytest.param(
            (*working(options=SAME, backoff_limit=1), head(31), head_gone(40)),
            False,
            "AppFailed, and Ray says RUNNING: the Ray job may go on, or never be taken",
            id="the head is gone",
        ),
        pytest.param(
            (
                *working(options=SAME, backoff_limit=1),
                submitter("Failed", 40, reason="BackoffLimitExceeded"),
                poll("RUNNING", 41, started_at=25),
            ),
            False,
            "SubmissionFailed, and Ray says RUNNING: the Ray job may go on, or never be taken",
            id="the Ray job may be going on",
        ),
        pytest.param(
            (
                *initializing(options=SAME, backoff_limit=1, pre_running_deadline_seconds=5),
                due(DecisionKind.PRE_RUNNING_DEADLINE),
            ),
            False,
            "PreRunningDeadlineExceeded, and Ray says nothing: "
            "the Ray job may go on, or never be taken",
            id="it never ran",
        ),
        pytest.param(
            (
                *working(options=SAME, backoff_limit=1),
                head(31),
                head(32, taken="Evicted"),
                *failing(),
            ),
            False,
            f"the head of RayCluster {cluster_of()} is taken away: Evicted",
            id="the head is on its way out",
        ),
        pytest.param(
            (
                *working(options=SAME, backoff_limit=1),
                manifest(31, generation=2, finalizer=True, options=SAME, backoff_limit=1),
                *failing(),
            ),
            False,
            "the specification was edited since the attempt began",
            id="an edit is not in force on the RayCluster that stands",
        ),
        pytest.param(
            (
                *running(options=SAME, backoff_limit=1, job_id="mine"),
                poll("FAILED", 40, job_id="mine", started_at=25, ended_at=39),
                submitter("Complete", 42),
            ),
            False,
            "which Ray jobs its head has had is not known",
            id="the name of the submission is not derived",
        ),
    ],
)
def test_what_the_verdict_says(story: Story, keeps: bool, why: str) -> None:
    assert verdict(story) == (keeps, why)
