"""A creation that the watch has shown, while its outcome is still awaited: a lost answer.

As long as it is open it may be tried again, and would make anew what has been deleted meanwhile.
"""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.ending import is_open
from tests.support.rayjob_builders import (
    HTTP,
    JOB,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    faltered,
    manifest,
    poll,
    refused,
    submission_of,
    submitter,
)
from tests.support.rayjob_stories import Story, initializing, seen, succeeded
from tests.support.rows import Outlook, check_outlook, play, table

CREATE, DELETE = EffectKind.CREATE_CLUSTER, EffectKind.DELETE_CLUSTER
LOST = "no answer in time"


def shown_only(**spec: object) -> Story:
    """Return a job in Running whose RayCluster is there, while its creation got no answer."""
    return (
        *seen(submission_mode=HTTP, **spec),
        faltered(CREATE, 1, LOST),
        cluster("ready", 10),
        done(EffectKind.SUBMIT_ENTRYPOINT, 11),
    )


def submitter_shown_only(**spec: object) -> Story:
    """Return a job in Running whose submitter is there, while its creation got no answer."""
    creating = faltered(EffectKind.CREATE_SUBMITTER, 11, LOST)
    return *initializing(**spec), cluster("ready", 10), creating, submitter("", 12)


FAILED = poll("FAILED", 40, started_at=25, ended_at=39)


@table(
    Outlook(
        rule="while its attempt goes on, its outcome is waited for",
        story=shown_only(),
        status={"jobDeploymentStatus": "Running"},
        under_way=[f"create_cluster {cluster_of()}", "create_service train-head-svc"],
    ),
    Outlook(
        rule="it is dropped when its attempt has failed and its RayCluster is to go",
        story=(*shown_only(backoff_limit=1), FAILED),
        status={"jobDeploymentStatus": "Retrying"},
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="it is dropped when the job is suspended",
        story=(
            *shown_only(),
            manifest(20, submission_mode=HTTP, generation=2, suspend=True, finalizer=True),
        ),
        status={"jobDeploymentStatus": "Suspending"},
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="it is dropped when the job has ended",
        story=(*shown_only(), FAILED),
        status={"jobDeploymentStatus": "Failed"},
        under_way=[],
    ),
    Outlook(
        rule="it is dropped when the RayJob is being deleted",
        story=(
            *shown_only(),
            manifest(20, submission_mode=HTTP, generation=2, deleting=True, finalizer=True),
        ),
        under_way=[f"stop_entrypoint {submission_of()}"],
    ),
    Outlook(
        rule="so it is with that of a submitter, which has the same name in every attempt",
        story=(*submitter_shown_only(backoff_limit=1), FAILED, submitter("Complete", 42)),
        status={"jobDeploymentStatus": "Retrying"},
        under_way=[f"delete_cluster {cluster_of()}", f"delete_submitter {JOB}"],
    ),
    Outlook(
        rule="a finalizer that is there is not waited for once the RayJob is being deleted",
        story=(
            manifest(submission_mode=HTTP),
            faltered(EffectKind.ADD_FINALIZER, 0.2, LOST),
            manifest(0.4, submission_mode=HTTP, finalizer=True),
            manifest(1, submission_mode=HTTP, generation=2, deleting=True, finalizer=True),
        ),
        under_way=["remove_finalizer rayjob"],
    ),
)
def test_an_unconfirmed_creation(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_a_refusal_of_what_has_happened_by_itself_keeps_no_job_open() -> None:
    """The deletion of the RayCluster was refused; then somebody else deletes it."""
    story = (
        *succeeded(shutdown_after_job_finishes=True, ttl_seconds_after_finished=0),
        due(DecisionKind.TTL_SHUTDOWN),
        refused(DELETE, 50),
        cluster_gone(55),
    )
    played = play(RAYJOB, story)
    assert not played.state.effects
    assert not played.state.decisions, "it is not waited for another try"
    assert not is_open(played.state)
