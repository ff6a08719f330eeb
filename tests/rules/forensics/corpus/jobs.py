"""Failures that only the course of the job explains: losses, silence, deadlines, handing in."""

from collections.abc import Iterable

from jobledger.core.jobs.evidence.evidence import Missing
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from tests.rules.forensics.corpus.cases import Capture, Case, ended
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import (
    HTTP,
    SIDECAR,
    cluster,
    cluster_gone,
    due,
    manifest,
    not_found,
    poll,
    refused,
    silence,
    submitter,
)
from tests.support.rayjob_heads import head_pod, head_pod_gone
from tests.support.rows import Step

UNREACHABLE = Capture(log="requests.exceptions.ConnectionError: Connection refused\n")
OVER_ITS_LIMIT = Capture(pods=(ended("head", 137, "OOMKilled", role="head"),))
TOO_LATE = Capture(missing=(Missing(what="log of the driver", why="the head did not answer"),))


def past_deadline() -> Iterable[Step]:
    return (
        *stories.working(active_deadline_seconds=100),
        due(DecisionKind.ACTIVE_DEADLINE),
        TOO_LATE.seen(101),
    )


def never_ready() -> Iterable[Step]:
    return (
        *stories.initializing(pre_running_deadline_seconds=60),
        due(DecisionKind.PRE_RUNNING_DEADLINE),
    )


def silent() -> Iterable[Step]:
    return (*stories.working(), silence(60), due(DecisionKind.STATUS_CHECK))


def cluster_deleted() -> Iterable[Step]:
    return (*stories.working(), cluster_gone(60))


def head_lost() -> Iterable[Step]:
    begun = (*stories.initializing(submission_mode=SIDECAR), head_pod())
    at_work = (*stories.readied(1, SIDECAR), poll("RUNNING", 30, started_at=25))
    return (*begun, *at_work, head_pod_gone(60))


def head_deleted_under_its_submitter() -> Iterable[Step]:
    begun = (*stories.initializing(), head_pod())
    at_work = (*stories.readied(1), poll("RUNNING", 30, started_at=25))
    going = head_pod(50, deleting=True)
    return (
        *begun,
        *at_work,
        going,
        submitter("Failed", 55, reason="BackoffLimitExceeded"),
        silence(56),
        UNREACHABLE.seen(57),
        head_pod_gone(80),
    )


def head_over_its_limit() -> Iterable[Step]:
    return (*head_lost(), OVER_ITS_LIMIT.seen(61))


def failed_then_deleted() -> Iterable[Step]:
    return (*stories.working(), poll("FAILED", 60, started_at=25, ended_at=59), cluster_gone(70))


def head_restarted() -> Iterable[Step]:
    return (*stories.working(submission_mode=HTTP), not_found(60))


def nothing_came() -> Iterable[Step]:
    return (*stories.running(), submitter("Complete", 60), not_found(61))


def submitter_failed() -> Iterable[Step]:
    ended = submitter(
        "Failed", 60, reason="BackoffLimitExceeded", message="Job has reached the backoff limit"
    )
    return (*stories.running(), ended, not_found(61))


def refused_by_head() -> Iterable[Step]:
    begun = (*stories.initializing(submission_mode=HTTP), stories.readied(1, HTTP)[0])
    return (*begun, refused(EffectKind.SUBMIT_ENTRYPOINT, 12, "400: submission_id is too long"))


def no_agreement() -> Iterable[Step]:
    ended = poll("FAILED", 40, started_at=25, ended_at=39)
    return (*stories.working(), ended, due(DecisionKind.TRANSITION_GRACE))


def not_valid() -> Iterable[Step]:
    return (manifest(problem="The RayJob spec is invalid: backoffLimit must be 0 or more"),)


def valid_again() -> Iterable[Step]:
    """Its deadline passes a second after the manifest was corrected, before anything is heard."""
    return (
        *stories.initializing(active_deadline_seconds=40),
        manifest(5, generation=2, problem="a typo", active_deadline_seconds=40),
        manifest(30, generation=3, active_deadline_seconds=40),
        cluster("ready", 39),
        due(DecisionKind.ACTIVE_DEADLINE),
    )


def still_not_valid() -> Iterable[Step]:
    """Nothing goes on with it until its deadline has passed."""
    return (
        *stories.initializing(active_deadline_seconds=40),
        manifest(5, generation=2, problem="a typo", active_deadline_seconds=40),
        due(DecisionKind.ACTIVE_DEADLINE),
    )


OWN_LOG = (
    "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 "
    "chars):\nWARNING scheduler.py:1057] Sequence group 7 is preempted by "
    "PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.\n"
    "ValueError: a prompt is too long"
)
"""What vLLM says at work, as Ray quotes it: its own scheduler preempts, and no Pod went."""


def speaks_of_preemption() -> Iterable[Step]:
    failed = poll("FAILED", 40, message=OWN_LOG, started_at=25, ended_at=39, exit_code=1)
    return (*stories.working(), failed, submitter("Complete", 42))


LOST_NODE = (
    "The actor died because its node has died. The actor's node was killed by a spot preemption."
)
"""What Ray says of an actor whose node its cloud took."""


def lost_an_actor() -> Iterable[Step]:
    failed = poll("FAILED", 40, message=LOST_NODE, started_at=25, ended_at=39, exit_code=1)
    return (*stories.working(), failed, submitter("Complete", 42))


JOBS: tuple[Case, ...] = (
    Case(
        name="longer than its deadline",
        expected="deadline",
        story=past_deadline,
        capture=TOO_LATE,
        says="Some evidence could not be had: log of the driver",
    ),
    Case(name="never ready, for no reason that shows", expected="never-ran", story=never_ready),
    Case(name="a head that fell silent", expected="head-silent", story=silent),
    Case(
        name="a cluster that somebody deleted",
        expected="cluster-deleted",
        story=cluster_deleted,
        says="the RayCluster was gone",
    ),
    Case(name="a head that was lost", expected="head-lost", story=head_lost),
    Case(
        name="a head that was deleted under its submitter",
        expected="head-lost",
        story=head_deleted_under_its_submitter,
        capture=UNREACHABLE,
        says="the head Pod was gone",
    ),
    Case(
        name="a head over its memory limit that was lost",
        expected="head-out-of-memory",
        story=head_over_its_limit,
        capture=OVER_ITS_LIMIT,
    ),
    Case(
        name="a cluster that was deleted after the program had failed",
        expected="application",
        story=failed_then_deleted,
    ),
    Case(name="a head that lost its jobs", expected="head-restarted", story=head_restarted),
    Case(name="a Ray job that never came to be", expected="never-started", story=nothing_came),
    Case(name="a submitter that failed", expected="submission", story=submitter_failed),
    Case(name="a head that would not take it", expected="submission", story=refused_by_head),
    Case(name="a submitter that never ended", expected="no-agreement", story=no_agreement),
    Case(
        name="a manifest that is not valid",
        expected="invalid-manifest",
        story=not_valid,
        says="is not valid since",
    ),
    Case(name="a manifest that was valid again", expected="deadline", story=valid_again),
    Case(
        name="a deadline that found no valid manifest",
        expected="invalid-manifest",
        story=still_not_valid,
    ),
    Case(
        name="a program whose own scheduler preempts",
        expected="application",
        story=speaks_of_preemption,
        says="ValueError: a prompt is too long",
    ),
    Case(name="a node that its cloud took", expected="preempted", story=lost_an_actor),
)
