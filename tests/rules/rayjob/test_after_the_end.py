"""A job that has ended: what edits, deletion and first sight mean to what is left of it."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.rayjob.spec.spec import DeletionPolicy, DeletionRule
from tests.support.rayjob_builders import (
    after,
    cluster,
    cluster_of,
    done,
    due,
    manifest,
    poll,
    refused,
    submission_of,
)
from tests.support.rayjob_stories import SELECTED, failing, seen, succeeded, working
from tests.support.rows import Outlook, check_outlook, table

DELETION = f"delete_cluster {cluster_of()}"
SHUT_DOWN_REFUSED = (
    *succeeded(shutdown_after_job_finishes=True),
    due(DecisionKind.TTL_SHUTDOWN),
    refused(EffectKind.DELETE_CLUSTER, 50),
)
ON_A_SHARED_ONE = (
    *seen(cluster_selector=SELECTED, active_deadline_seconds=100),
    cluster("ready", 10, name=SELECTED, uid="shared", owned=False),
    done(EffectKind.CREATE_SUBMITTER, 11, uid="submitter-1"),
    poll("RUNNING", 30, started_at=25),
    due(DecisionKind.ACTIVE_DEADLINE),
)


def rule(seconds: int) -> tuple[DeletionRule, ...]:
    """Return one rule: the RayCluster of a failed job goes after so many seconds."""
    policy, source = DeletionPolicy.CLUSTER, "deletionRules[0]"
    return (DeletionRule(policy=policy, phase="Failed", ttl_seconds=seconds, source=source),)


def edited(at: float, generation: int = 2, **spec: object) -> ManifestSeen:
    """Return a look at the job after an edit."""
    return manifest(at, generation=generation, finalizer=True, **spec)  # type: ignore[arg-type] # a spec


@table(
    Outlook(
        rule="a Ray job that outlived its deadline on a shared RayCluster is stopped with the job",
        story=(
            *ON_A_SHARED_ONE,
            manifest(
                200,
                generation=2,
                finalizer=True,
                deleting=True,
                cluster_selector=SELECTED,
                active_deadline_seconds=100,
            ),
        ),
        under_way=[f"stop_entrypoint {submission_of()}"],
    ),
    Outlook(
        rule="a shutdown that was refused and is not asked for any more is given up",
        story=(*SHUT_DOWN_REFUSED, edited(60)),
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="a shutdown that was refused waits for a longer time to live",
        story=(
            *SHUT_DOWN_REFUSED,
            edited(60, shutdown_after_job_finishes=True, ttl_seconds_after_finished=86_400),
        ),
        under_way=[],
        pending={"ttl_shutdown": 86_442},
    ),
    Outlook(
        rule="a shutdown that was refused is tried again at once by any other edit",
        story=(*SHUT_DOWN_REFUSED, edited(60, shutdown_after_job_finishes=True, backoff_limit=7)),
        under_way=[DELETION],
    ),
    Outlook(
        rule="a deletion that was refused waits for the later instant of a rule that came back",
        story=(
            *working(deletion_rules=rule(20), has_deletion_strategy=True),
            *failing(),
            due(DecisionKind.DELETION_RULE),
            refused(EffectKind.DELETE_CLUSTER, 63),
            edited(80, deletion_rules=rule(5_000), has_deletion_strategy=True),
        ),
        under_way=[],
        pending={"deletion_rule": 5_042},
    ),
    Outlook(
        rule="the RayCluster of an ended job that was found without a start is its own, and stays",
        story=(
            manifest(
                0,
                finalizer=True,
                status=SeenStatus(
                    phase="Complete",
                    job_status="SUCCEEDED",
                    cluster_name=cluster_of(),
                    job_id=submission_of(),
                    succeeded=1,
                    ended_at=after(-50),
                ),
            ),
            cluster("ready", 5),
        ),
        status={"jobDeploymentStatus": "Complete"},
        under_way=[],
        facts={"orphans": ()},
    ),
)
def test_after_the_end(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
