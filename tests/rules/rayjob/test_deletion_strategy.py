"""deletionStrategy: which rule covers which end, what is due when, and what goes (section 7)."""

import pytest
from msgspec.structs import replace

from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs.events import DecisionFired, EffectRequested
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.ending import is_open
from jobledger.core.rayjob.observations.observations import RayJobObservation
from jobledger.core.rayjob.spec.spec import DeletionPolicy, DeletionRule
from jobledger.core.rayjob.state import RayJobState
from tests.support.rayjob_builders import (
    HTTP,
    JOB,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    manifest_gone,
    poll,
    refused,
    submitter,
)
from tests.support.rayjob_stories import Story, failing, selecting, succeeded, working
from tests.support.rows import Outlook, Step, check_laws, check_outlook, play, table

RULE, TTL = DecisionKind.DELETION_RULE, DecisionKind.TTL_SHUTDOWN
WORKERS, CLUSTER, SELF, NONE = DeletionPolicy
Rules = tuple[DeletionRule, ...]


def rule(
    policy: DeletionPolicy, ttl: int = 0, status: str = "SUCCEEDED", **where: str
) -> DeletionRule:
    """Return a rule for an end with a jobStatus, or with a jobDeploymentStatus."""
    return DeletionRule(
        policy=policy,
        job_status="" if "phase" in where else status,
        phase=where.get("phase", ""),
        ttl_seconds=ttl,
        source=where.get("source", "deletionRules[0]"),
    )


def with_rules(*rules: DeletionRule, **spec: object) -> dict[str, object]:
    """Return a specification with a deletionStrategy."""
    return {"deletion_rules": rules, "has_deletion_strategy": True, **spec}


def legacy(on_success: DeletionPolicy, on_failure: DeletionPolicy, ttl: int = 0) -> Rules:
    """Return the two old policies."""
    return (
        rule(on_success, ttl, source="onSuccess"),
        rule(on_failure, ttl, "FAILED", source="onFailure"),
    )


FIRST = rule(WORKERS, 10)
SECOND = rule(CLUSTER, 20, source="deletionRules[1]")
THIRD = rule(SELF, 30, source="deletionRules[2]")
STAGED = succeeded(**with_rules(FIRST, SECOND, THIRD))
ON_SUCCESS = with_rules(rule(CLUSTER))


def firing(policy: DeletionPolicy, at: float | None = None) -> Step:
    """Return that the decision about a policy is due."""

    def reply(state: RayJobState) -> RayJobObservation:
        one = tuple(item for item in state.decisions if item.subject.startswith(policy))
        told = due(RULE, at)
        assert callable(told)
        return told(replace(state, decisions=one))

    return reply


CHANGED = manifest(50, generation=2, finalizer=True, **with_rules(rule(CLUSTER, 600)))  # type: ignore[arg-type] # a spec
ADDED = manifest(50, generation=2, finalizer=True, **with_rules(rule(CLUSTER, 30, "STOPPED")))  # type: ignore[arg-type] # a spec
STOPPED = (*working(**ON_SUCCESS), poll("STOPPED", 40))
SUSPENDED_WORKERS = done(EffectKind.SUSPEND_WORKERS, 53, uid="cluster-1")


@pytest.mark.parametrize(
    ("given", "when", "then"),
    [
        pytest.param(
            (*working(**with_rules(FIRST, SECOND)), poll("SUCCEEDED", 40)),
            submitter("Complete", 42),
            [
                "submitter train ended: Complete",
                "the job is complete: SUCCEEDED",
                "time-out of the submitter is cancelled: attempt 1 has ended",
                (
                    "deletion rule is due at 2026-11-21T12:00:52Z: deletionRules[0]: DeleteWorkers "
                    "10 s after an end with jobStatus SUCCEEDED"
                ),
                (
                    "deletion rule is due at 2026-11-21T12:01:02Z: deletionRules[1]: DeleteCluster "
                    "20 s after an end with jobStatus SUCCEEDED"
                ),
            ],
            id="each rule that holds is a decision of its own, counted from the end",
        ),
        pytest.param(
            STAGED,
            firing(WORKERS),
            [
                "deletion rule fired, 0.000 s after it was due",
                f"suspend workers {cluster_of()} is asked for",
            ],
            id="DeleteWorkers lets the worker groups go",
        ),
        pytest.param(
            (*STAGED, firing(WORKERS), SUSPENDED_WORKERS),
            firing(CLUSTER),
            [
                "deletion rule fired, 0.000 s after it was due",
                f"delete cluster {cluster_of()} is asked for",
            ],
            id="DeleteCluster lets the RayCluster go",
        ),
        pytest.param(
            (
                *(*STAGED, firing(WORKERS), SUSPENDED_WORKERS, firing(CLUSTER)),
                done(EffectKind.DELETE_CLUSTER, 63, uid="cluster-1"),
                cluster_gone(64),
            ),
            firing(SELF),
            ["deletion rule fired, 0.000 s after it was due", "delete job train is asked for"],
            id="DeleteSelf lets the RayJob go",
        ),
        pytest.param(
            STAGED,
            cluster_gone(45),
            [
                f"RayCluster {cluster_of()} is gone, unasked",
                "deletion rule is cancelled: it is done, or being done, already",
                "deletion rule is cancelled: it is done, or being done, already",
            ],
            id="a RayCluster that somebody deletes leaves nothing but DeleteSelf to do",
        ),
        pytest.param(
            STAGED,
            firing(WORKERS, 65),
            [
                "deletion rule fired, 3.000 s after it was due",
                f"delete cluster {cluster_of()} is asked for",
                "deletion rule is cancelled: DeleteCluster is due as well and goes further",
            ],
            id="of two that are overdue only the one that goes further fires (scenario h)",
        ),
        pytest.param(
            succeeded(**ON_SUCCESS),
            CHANGED,
            [
                "manifest generation 2",
                "deletion rule is cancelled: its instant has changed",
                (
                    "deletion rule is due at 2026-11-21T12:10:42Z: deletionRules[0]: DeleteCluster "
                    "600 s after an end with jobStatus SUCCEEDED"
                ),
            ],
            id="a live edit of a rule's ttl reschedules it",
        ),
        pytest.param(
            STOPPED,
            submitter("Complete", 42),
            [
                "submitter train ended: Complete",
                "the job is complete: STOPPED",
                (
                    f"RayCluster {cluster_of()} stays: no rule of spec.deletionStrategy holds for "
                    "jobStatus STOPPED and jobDeploymentStatus Complete"
                ),
                "time-out of the submitter is cancelled: attempt 1 has ended",
            ],
            id="a RayCluster that no rule covers is kept, and that is told",
        ),
        pytest.param(
            (*STOPPED, submitter("Complete", 42)),
            ADDED,
            [
                "manifest generation 2",
                f"RayCluster {cluster_of()} is covered by deletionStrategy now",
                (
                    "deletion rule is due at 2026-11-21T12:01:12Z: deletionRules[0]: DeleteCluster "
                    "30 s after an end with jobStatus STOPPED"
                ),
            ],
            id="a rule that is added after the end covers what was kept",
        ),
    ],
)
def test_deletion_rules(given: Story, when: Step, then: list[str]) -> None:
    played = play(RAYJOB, given)
    played.take(when)
    assert [in_words(event) for event in played.news] == then
    check_laws(RAYJOB, played.history, len(played.history) - len(played.news))


@table(
    Outlook(
        rule="if DeleteSelf is overdue as well, it is all that is done",
        story=(*STAGED, firing(WORKERS, 100)),
        under_way=[f"delete_job {JOB}"],
        pending={},
    ),
    Outlook(
        rule="a rule for jobDeploymentStatus Failed holds whatever Ray says",
        story=(
            *working(active_deadline_seconds=60, **with_rules(rule(CLUSTER, 5, phase="Failed"))),
            due(DecisionKind.ACTIVE_DEADLINE),
        ),
        pending={"deletion_rule": 65},
    ),
    Outlook(
        rule="a deadline with Ray RUNNING is covered by no rule on jobStatus: kept (T4)",
        story=(
            *working(active_deadline_seconds=60, **with_rules(rule(CLUSTER, 5, "FAILED"))),
            due(DecisionKind.ACTIVE_DEADLINE),
        ),
        status={"jobDeploymentStatus": "Failed", "jobStatus": "RUNNING"},
        under_way=[],
        pending={},
        facts={"kept": True},
    ),
    Outlook(
        rule="DeleteNone covers, and does nothing",
        story=succeeded(**with_rules(*legacy(NONE, NONE))),
        pending={},
        facts={"kept": False},
    ),
    Outlook(
        rule="onSuccess covers success, from ttlSecondsAfterFinished on",
        story=succeeded(**with_rules(*legacy(CLUSTER, NONE, 15), shutdown_after_job_finishes=True)),
        pending={"deletion_rule": 57},
    ),
    Outlook(
        rule="onFailure covers a failure",
        story=(*working(**with_rules(*legacy(NONE, WORKERS))), *failing()),
        pending={"deletion_rule": 42},
    ),
    Outlook(
        rule="neither old policy covers another end, even with shutdownAfterJobFinishes: kept",
        story=(
            *working(**with_rules(*legacy(CLUSTER, CLUSTER), shutdown_after_job_finishes=True)),
            poll("STOPPED", 40),
            submitter("Complete", 42),
        ),
        pending={},
        facts={"kept": True},
    ),
    Outlook(
        rule="a retry comes first: no rule is looked at before the last attempt",
        story=(
            *working(backoff_limit=1, **with_rules(rule(CLUSTER, 5, "FAILED"))),
            *failing(),
        ),
        under_way=[f"delete_cluster {cluster_of()}", "delete_submitter train"],
        pending={"retry": 42},
    ),
    Outlook(
        rule="a selected RayCluster is never touched, nor the RayJob (invariant 6)",
        story=(
            *selecting(**with_rules(rule(SELF)), submission_mode=HTTP),
            cluster("ready", name="shared", uid="shared", owned=False),
            done(EffectKind.SUBMIT_ENTRYPOINT, 11),
            poll("SUCCEEDED", 40),
        ),
        status={"jobDeploymentStatus": "Complete"},
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="a refused deletion is tried again",
        story=(
            *succeeded(**ON_SUCCESS),
            firing(CLUSTER),
            refused(EffectKind.DELETE_CLUSTER, 43),
            due(DecisionKind.EFFECT_RETRY),
        ),
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="worker groups that are gone with their RayCluster need nothing more",
        story=(
            *succeeded(**with_rules(FIRST)),
            firing(WORKERS),
            done(EffectKind.SUSPEND_WORKERS, 53, uid="cluster-1", gone=True),
        ),
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="where the installation says so, the shutdown deletes the RayJob itself (7.1)",
        story=(
            *working(shutdown_after_job_finishes=True, policy=Policy(delete_job_after_finish=True)),
            poll("SUCCEEDED", 40),
            submitter("Complete", 42),
            due(TTL),
        ),
        under_way=[f"delete_job {JOB}"],
    ),
)
def test_what_is_deleted(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_a_job_that_is_kept_is_not_held_open() -> None:
    assert not is_open(play(RAYJOB, (*STOPPED, submitter("Complete", 42))).state)


def test_a_job_that_deletes_itself_is_open_until_it_is_gone() -> None:
    played = play(RAYJOB, succeeded(**with_rules(rule(SELF))))
    for step in (firing(SELF), done(EffectKind.DELETE_JOB, 43)):
        played.take(step)
        assert is_open(played.state)
    played.take(manifest(44, finalizer=True, deleting=True, **with_rules(rule(SELF))))  # type: ignore[arg-type] # a spec
    assert [effect.desired.kind for effect in played.state.effects] == [EffectKind.REMOVE_FINALIZER]
    played.take(done(EffectKind.REMOVE_FINALIZER, 45))
    played.take(manifest_gone(46))
    assert not is_open(played.state)


UNDER_WAY = {
    "by the time to live": (
        *working(shutdown_after_job_finishes=True),
        *failing(),
        due(TTL),
    ),
    "by a rule": (*working(**with_rules(rule(CLUSTER, status="FAILED"))), *failing(), due(RULE)),
}


@pytest.mark.parametrize("by", UNDER_WAY)
def test_an_edit_that_takes_back_a_deletion_under_way_leaves_nothing_open(by: str) -> None:
    """It would wait for ever: nothing is asked for that could bring news."""
    played = play(RAYJOB, UNDER_WAY[by])
    assert [one.desired.kind for one in played.state.effects] == [EffectKind.DELETE_CLUSTER]
    played.take(manifest(60, generation=2, finalizer=True, **with_rules(rule(NONE))))  # type: ignore[arg-type] # a spec
    assert played.state.effects == ()
    assert not is_open(played.state)


def test_an_edit_that_asks_for_less_than_is_under_way_gets_that() -> None:
    """Else nothing would be deleted: what was under way is dropped, and counts for no more."""
    played = play(RAYJOB, succeeded(**with_rules(rule(SELF))))
    played.take(firing(SELF))
    assert [one.desired.kind for one in played.state.effects] == [EffectKind.DELETE_JOB]
    played.take(manifest(60, generation=2, finalizer=True, **with_rules(rule(CLUSTER))))  # type: ignore[arg-type] # a spec
    played.take(firing(CLUSTER))
    assert [one.desired.kind for one in played.state.effects] == [EffectKind.DELETE_CLUSTER]


def test_each_deletion_is_one_decision_and_one_effect() -> None:
    played = play(RAYJOB, STAGED)
    before = len(played.history)
    for step in (
        firing(WORKERS),
        done(EffectKind.SUSPEND_WORKERS, 53, uid="cluster-1"),
        firing(CLUSTER),
        done(EffectKind.DELETE_CLUSTER, 63, uid="cluster-1"),
        cluster_gone(64),
        firing(SELF),
        done(EffectKind.DELETE_JOB, 73),
    ):
        played.take(step)
    later = played.history[before:]
    assert [event.kind for event in later if isinstance(event, EffectRequested)] == [
        EffectKind.SUSPEND_WORKERS,
        EffectKind.DELETE_CLUSTER,
        EffectKind.DELETE_JOB,
    ]
    assert sum(isinstance(event, DecisionFired) for event in later) == 3
