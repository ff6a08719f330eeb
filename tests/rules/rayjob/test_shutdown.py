"""shutdownAfterJobFinishes and ttlSecondsAfterFinished (scenario g)."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.ending import is_open
from jobledger.core.rayjob.events.lifecycle import ClusterVanished
from tests.support.rayjob_builders import (
    HTTP,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    poll,
    refused,
    submitter,
)
from tests.support.rayjob_events import (
    asked,
    cancelled,
    cluster_is,
    did,
    fired,
    received,
    scheduled,
)
from tests.support.rayjob_stories import (
    SELECTED,
    failed_attempts,
    failing,
    selecting,
    succeeded,
    working,
)
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, play, table

TTL = DecisionKind.TTL_SHUTDOWN
DELETE = EffectKind.DELETE_CLUSTER
SHUT = succeeded(shutdown_after_job_finishes=True, ttl_seconds_after_finished=30)
LONGER = manifest(
    50,
    generation=2,
    finalizer=True,
    shutdown_after_job_finishes=True,
    ttl_seconds_after_finished=90,
)
KEPT = manifest(50, generation=2, finalizer=True)
ON_SHARED = (
    *selecting(submission_mode=HTTP, shutdown_after_job_finishes=True),
    cluster("ready", name=SELECTED, uid="shared", owned=False),
    done(EffectKind.SUBMIT_ENTRYPOINT, 11),
    poll("SUCCEEDED", 40),
)


@table(
    Row(
        rule="the RayCluster goes when the ttl has passed, not before (scenario g)",
        given=SHUT,
        when=due(TTL),
        then=(fired(TTL, 72), asked(DELETE, cluster_of(), uid="cluster-1")),
    ),
    Row(
        rule="a live edit of the ttl reschedules the shutdown",
        given=SHUT,
        when=LONGER,
        then=(
            received(LONGER),
            cancelled(TTL, "its instant has changed"),
            scheduled(TTL, 132, "ttlSecondsAfterFinished 90"),
        ),
    ),
    Row(
        rule="a shutdown that is taken back is cancelled",
        given=SHUT,
        when=KEPT,
        then=(received(KEPT), cancelled(TTL, "attempt 1 has ended")),
    ),
    Row(
        rule="a shutdown that is asked for after the end is scheduled from the end",
        given=succeeded(),
        when=LONGER,
        then=(received(LONGER), scheduled(TTL, 132, "ttlSecondsAfterFinished 90")),
    ),
    Row(
        rule="a RayCluster that somebody deletes after the end needs no shutdown",
        given=SHUT,
        when=cluster_gone(60),
        then=(
            ClusterVanished(at=WHEN, name=cluster_of(), uid="cluster-1", asked=False),
            cancelled(TTL, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="that the RayCluster is being deleted is written down after the end as well",
        given=(*SHUT, due(TTL), done(DELETE, 73, uid="cluster-1")),
        when=cluster("ready", 74, deleting=True),
        then=(cluster_is(deleting=True),),
    ),
    Row(
        rule="how a RayCluster fares after the end is no news",
        given=SHUT,
        when=cluster("suspended", 60),
    ),
    Row(
        rule="a deletion that finds the RayCluster gone is the end of the shutdown",
        given=(*SHUT, due(TTL)),
        when=done(DELETE, 73, uid="cluster-1", gone=True),
        then=(did(DELETE, cluster_of(), uid="cluster-1", gone=True),),
    ),
)
def test_shutdown(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="without shutdownAfterJobFinishes the RayCluster stays",
        story=succeeded(ttl_seconds_after_finished=30),
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="a failed job is shut down like a successful one",
        story=(*working(shutdown_after_job_finishes=True), *failing()),
        pending={"ttl_shutdown": 42},
    ),
    Outlook(
        rule="a stopped job is shut down as well (T9)",
        story=(
            *working(shutdown_after_job_finishes=True),
            poll("STOPPED", 40),
            submitter("Complete", 42),
        ),
        pending={"ttl_shutdown": 42},
    ),
    Outlook(
        rule="only the last attempt is followed by the ttl: a retry does not wait for it",
        story=(
            *working(
                backoff_limit=1, shutdown_after_job_finishes=True, ttl_seconds_after_finished=600
            ),
            *failing(),
        ),
        under_way=[f"delete_cluster {cluster_of()}", "delete_submitter train"],
        pending={"retry": 42},
    ),
    Outlook(
        rule="the shutdown deletes the RayCluster of the last attempt",
        story=(
            *failed_attempts(1, backoff_limit=1, shutdown_after_job_finishes=True),
            done(EffectKind.CREATE_CLUSTER, 101, uid="cluster-2"),
            cluster("ready", 110, attempt=2),
            done(EffectKind.CREATE_SUBMITTER, 111, uid="submitter-2"),
            *failing(2),
            due(TTL),
        ),
        under_way=[f"delete_cluster {cluster_of(2)}"],
    ),
    Outlook(
        rule="the shutdown keeps the submitter, for its logs (scenario g)",
        story=(*SHUT, due(TTL)),
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="a selected RayCluster is never deleted (invariant 6)",
        story=ON_SHARED,
        status={"jobDeploymentStatus": "Complete"},
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="a refused shutdown is tried again",
        story=(*SHUT, due(TTL), refused(DELETE, 73), due(DecisionKind.EFFECT_RETRY)),
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
)
def test_who_is_shut_down(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_a_job_is_open_until_its_shutdown_is_done() -> None:
    played = play(RAYJOB, SHUT)
    assert is_open(played.state)
    for step in (due(TTL), done(DELETE, 73, uid="cluster-1")):
        played.take(step)
        assert is_open(played.state)
    played.take(cluster_gone(80))
    assert not is_open(played.state)


def test_a_job_on_a_selected_cluster_is_closed_when_it_ends() -> None:
    assert not is_open(play(RAYJOB, ON_SHARED).state)
