"""How a RayJob gets to where a rule begins: stories of observations, from its first sight on.

Attempt n begins `PACE` seconds after attempt n - 1; within it the RayCluster is created after 1 s,
ready after 10 s, the submitter made after 11 s.
"""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.rayjob.spec.spec import SubmissionMode
from tests.support.rayjob_builders import (
    HTTP,
    INTERACTIVE,
    cluster,
    cluster_gone,
    done,
    due,
    manifest,
    poll,
    submitter,
    submitter_gone,
)
from tests.support.rows import Step

PACE = 100
"""Seconds from one attempt to the next."""

SELECTED = "shared"
"""Name of the RayCluster that a job selects."""

Story = tuple[Step, ...]


def start_of(attempt: int) -> float:
    """Return when an attempt of these stories begins, in seconds after noon."""
    return (attempt - 1) * PACE


def seen(**spec: object) -> Story:
    """Return a job that was just seen and got its finalizer; its RayCluster was asked for."""
    return manifest(**spec), done(EffectKind.ADD_FINALIZER, 0.5)  # type: ignore[arg-type] # a spec


def built(attempt: int = 1) -> Story:
    """Return the creation of an attempt's RayCluster."""
    created = done(EffectKind.CREATE_CLUSTER, start_of(attempt) + 1, uid=f"cluster-{attempt}")
    return (created,)


def led_there(attempt: int = 1) -> Step:
    """Return that the Service of the job's head leads to the attempt's RayCluster."""
    kind = EffectKind.CREATE_SERVICE if attempt == 1 else EffectKind.UPDATE_SERVICE
    return done(kind, start_of(attempt) + 12.5)


def readied(attempt: int = 1, mode: SubmissionMode = SubmissionMode.K8S_JOB) -> Story:
    """Return how an attempt whose RayCluster exists gets to Running (Waiting)."""
    begun = start_of(attempt)
    ready = cluster("ready", begun + 10, attempt=attempt)
    led = led_there(attempt)
    if mode is HTTP:
        return ready, done(EffectKind.SUBMIT_ENTRYPOINT, begun + 11), led
    if mode is INTERACTIVE:
        return (ready,)
    if mode not in (SubmissionMode.K8S_JOB, SubmissionMode.HTTP):
        return ready, led
    created = done(EffectKind.CREATE_SUBMITTER, begun + 11, uid=f"submitter-{attempt}")
    return ready, created, submitter("", begun + 12, attempt=attempt), led


def initializing(**spec: object) -> Story:
    """Return a job whose first RayCluster exists and is not ready yet."""
    return *seen(**spec), *built()


def running(**spec: object) -> Story:
    """Return a job in Running, from which nothing has been heard yet."""
    mode = spec.get("submission_mode", SubmissionMode.K8S_JOB)
    assert isinstance(mode, SubmissionMode)
    return *initializing(**spec), *readied(1, mode)


def working(**spec: object) -> Story:
    """Return a job whose entrypoint runs, since 25 s; heard at 30 s."""
    return *running(**spec), poll("RUNNING", 30, started_at=25)


def succeeded(**spec: object) -> Story:
    """Return a job that is Complete since 42 s."""
    ended = poll("SUCCEEDED", 40, started_at=25, ended_at=39)
    return *working(**spec), ended, submitter("Complete", 42)


def failing(attempt: int = 1) -> Story:
    """Return how a running attempt fails: the entrypoint exits with 1, the submitter is Complete.

    Judged at 42 s of the attempt.
    """
    begun = start_of(attempt)
    ended = poll(
        "FAILED",
        begun + 40,
        attempt=attempt,
        message="ValueError: 42",
        started_at=begun + 25,
        ended_at=begun + 39,
        exit_code=1,
    )
    return ended, submitter("Complete", begun + 42, attempt=attempt)


def cleared(attempt: int = 1) -> Story:
    """Return how a failed attempt's RayCluster and submitter go and the next attempt begins."""
    begun, cluster_uid = start_of(attempt), f"cluster-{attempt}"
    return (
        done(EffectKind.DELETE_CLUSTER, begun + 43, uid=cluster_uid),
        done(EffectKind.DELETE_SUBMITTER, begun + 43, uid=f"submitter-{attempt}"),
        due(DecisionKind.RETRY, begun + 44),
        submitter_gone(begun + 50, attempt=attempt),
        cluster_gone(begun + PACE, attempt=attempt),
    )


def failed_attempts(number: int, **spec: object) -> Story:
    """Return a job of which so many attempts have failed and been cleared away; the next began."""
    story = seen(**spec)
    for attempt in range(1, number + 1):
        story += *built(attempt), *readied(attempt), *failing(attempt), *cleared(attempt)
    return story


def on_the_same(**spec: object) -> Story:
    """Return a job whose second attempt runs on the RayCluster of the first, heard at 56 s."""
    options = RetryOptions(same_cluster=True)
    return (
        *working(options=options, **spec),
        *failing(),
        done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1"),
        due(DecisionKind.RETRY, 44),
        submitter_gone(50),
        done(EffectKind.CREATE_SUBMITTER, 51, uid="submitter-2"),
        submitter("", 52, attempt=2),
        poll("RUNNING", 56, attempt=2, started_at=55),
    )


def suspending(**spec: object) -> Story:
    """Return a job that was suspended while its entrypoint ran: told at 60 s."""
    return *working(**spec), manifest(60, generation=2, suspend=True, finalizer=True)


def suspended(**spec: object) -> Story:
    """Return a job of which nothing is left in the cluster since 70 s."""
    return (
        *suspending(**spec),
        done(EffectKind.DELETE_CLUSTER, 61, uid="cluster-1"),
        done(EffectKind.DELETE_SUBMITTER, 61, uid="submitter-1", gone=True),
        cluster_gone(70),
    )


def selecting(**spec: object) -> Story:
    """Return a job that was just seen and looks for the RayCluster that it selects."""
    return seen(cluster_selector=SELECTED, **spec)
