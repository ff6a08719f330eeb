"""The Service of the job's head, or its PodGroup, is gone: it is made again while it is needed."""

from msgspec.structs import replace

from jobledger.core.jobs.events import EffectRequested, EffectSucceeded
from jobledger.core.jobs.observations import EffectEnded
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import PartVanished
from jobledger.core.rayjob.names import LEADS_TO
from jobledger.core.rayjob.observations.observations import PartGone, RayJobObservation
from jobledger.core.rayjob.state import RayJobState
from tests.support.rayjob_builders import (
    HTTP,
    JOB,
    UNNAMED,
    after,
    cluster,
    done,
    manifest,
    named,
    poll,
)
from tests.support.rayjob_stories import failed_attempts, seen
from tests.support.rows import Outlook, check_outlook, table

SERVICE, GROUP = f"{JOB}-head-svc", f"ray-{JOB}-pg"
GROUPED = Policy(batch_scheduler="volcano")


def gone(kind: str, name: str, at: float = 50) -> PartGone:
    return named(PartGone(id=UNNAMED, at=after(at), kind=kind, name=name))


def leads_elsewhere(state: RayJobState) -> RayJobObservation:
    found = done(EffectKind.CREATE_SERVICE, 12, already=True)(state)
    assert isinstance(found, EffectEnded)
    return named(replace(found, sent={LEADS_TO: "another"}))


PENDING = (
    *seen(submission_mode=HTTP, policy=GROUPED),
    done(EffectKind.APPLY_POD_GROUP, 0.7),
    done(EffectKind.CREATE_CLUSTER, 1, uid="cluster-1"),
    cluster("", 2),
)
"""A RayCluster whose Pods wait for Volcano."""
HANDED_IN = (*PENDING, cluster("ready"), done(EffectKind.SUBMIT_ENTRYPOINT, 11))
RUNS = (*HANDED_IN, done(EffectKind.CREATE_SERVICE, 12), poll("RUNNING", 20))


@table(
    Outlook(
        rule="the Service of a job that runs is made again",
        story=(*RUNS, gone("Service", SERVICE)),
        said=[PartVanished, EffectRequested],
        under_way=[f"create_service {SERVICE}"],
    ),
    Outlook(
        rule="once: the look that follows finds that it is asked for",
        story=(*RUNS, gone("Service", SERVICE), gone("Service", SERVICE, 110)),
        said=[],
        under_way=[f"create_service {SERVICE}"],
    ),
    Outlook(
        rule="and again as often as it goes",
        story=(
            *RUNS,
            gone("Service", SERVICE),
            done(EffectKind.CREATE_SERVICE, 51),
            gone("Service", SERVICE, 110),
        ),
        said=[PartVanished, EffectRequested],
        under_way=[f"create_service {SERVICE}"],
    ),
    Outlook(
        rule="one that went between two attempts is made, not led on, and told so",
        story=(
            *failed_attempts(1, backoff_limit=1),
            done(EffectKind.CREATE_CLUSTER, 101, uid="cluster-2"),
            cluster("ready", 110, attempt=2),
            done(EffectKind.CREATE_SUBMITTER, 111, uid="submitter-2"),
            done(EffectKind.UPDATE_SERVICE, 112, gone=True, already=True),
        ),
        said=[EffectSucceeded, EffectRequested],
        under_way=[f"create_service {SERVICE}"],
    ),
    Outlook(
        rule="one that leads elsewhere already, as another controller has it, is led on",
        story=(*HANDED_IN, leads_elsewhere),
        said=[EffectSucceeded, EffectRequested],
        under_way=[f"update_service {SERVICE}"],
    ),
    Outlook(
        rule="one that was never made is no loss",
        story=(*HANDED_IN, gone("Service", SERVICE)),
        said=[],
        under_way=[f"create_service {SERVICE}"],
    ),
    Outlook(
        rule="of a job that has ended it is no loss",
        story=(*RUNS, poll("SUCCEEDED", 40), gone("Service", SERVICE)),
        said=[],
    ),
    Outlook(
        rule="nor is it of one that is suspended",
        story=(
            *RUNS,
            manifest(45, generation=2, suspend=True, finalizer=True, policy=GROUPED),
            gone("Service", SERVICE),
        ),
        said=[],
    ),
    Outlook(
        rule="nor of one that is being deleted",
        story=(
            *RUNS,
            manifest(45, deleting=True, finalizer=True, policy=GROUPED),
            gone("Service", SERVICE),
        ),
        said=[],
    ),
    Outlook(
        rule="the PodGroup of Pods that wait is made again beside their RayCluster",
        story=(*PENDING, gone("PodGroup", GROUP)),
        said=[PartVanished, EffectRequested],
        under_way=[f"apply_pod_group {GROUP}"],
    ),
    Outlook(
        rule="what is pending goes on as before once it is there",
        story=(*PENDING, gone("PodGroup", GROUP), done(EffectKind.APPLY_POD_GROUP, 51)),
        status={"jobDeploymentStatus": "Initializing"},
        under_way=[],
    ),
    Outlook(
        rule="of a job that runs the PodGroup is no loss, as upstream's",
        story=(*RUNS, gone("PodGroup", GROUP)),
        said=[],
        under_way=[],
    ),
    Outlook(
        rule="what is not the job's own is no news",
        story=(*RUNS, gone("Service", "another")),
        said=[],
    ),
)
def test_parts(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
