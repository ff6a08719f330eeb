"""The rules of a RayJob's state, in order of priority.

After an observation has changed a fact, the rules are asked one after the other; the first that has
something to say is carried out, and all are asked again, until none has (`core.jobs.reconcile`).
Effects and decisions come last: they are compared with what the state calls for
(`core.rayjob.rules.desired_effects`, `core.rayjob.rules.desired_decisions`).
"""

from collections.abc import Callable
from typing import TypeAlias

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.pending.decisions import DecisionKind, PendingDecision
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.jobs.reconcile import ReconcileRules
from jobledger.core.rayjob import names
from jobledger.core.rayjob.deletion import uncovered_because, why_not_deleted
from jobledger.core.rayjob.events.lifecycle import (
    AttemptCleared,
    AttemptReachedRunning,
    AttemptReachedWaiting,
    AttemptStarted,
    ClusterCovered,
    ClusterGivenUp,
    ClusterKept,
    JobResumed,
    JobSuspended,
    ManifestAccepted,
    ManifestRejected,
    RayJobEvent,
    SubmissionNamed,
    SuspensionPostponed,
    SuspensionStarted,
)
from jobledger.core.rayjob.evolve.lifecycle import evolve
from jobledger.core.rayjob.own_cluster import owns_cluster
from jobledger.core.rayjob.phases import FINAL, Phase
from jobledger.core.rayjob.rules.attempt_end import conclude, judge_failing
from jobledger.core.rayjob.rules.desired_decisions import desired_decisions
from jobledger.core.rayjob.rules.desired_effects import called_for
from jobledger.core.rayjob.rules.pod_looks import waits_for_pods
from jobledger.core.rayjob.rules.same_cluster import why_unfit
from jobledger.core.rayjob.spec.spec import SubmissionMode
from jobledger.core.rayjob.state import (
    RayJobState,
    has_submitter,
    keeps_cluster,
    standing,
    submission_mode,
)
from jobledger.core.values.instants import Instant

SUSPENDABLE = frozenset({Phase.INITIALIZING, Phase.RUNNING})
"""Phases that honour spec.suspend at once; the others get there, or need not. Source: KubeRay."""

POSTPONING = frozenset({Phase.WAITING, Phase.RETRYING})
"""Phases in which a wish to be suspended is heard, and honoured later."""

CREATIONS = frozenset({EffectKind.CREATE_CLUSTER, EffectKind.CREATE_SUBMITTER})
"""What makes what an attempt runs on."""
_GOING_ON = frozenset({Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING})

Rule: TypeAlias = Callable[[RayJobState, Instant], tuple[RayJobEvent, ...]]


def _validity(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """ValidationFailed is entered and left with the manifest; what is final is left alone."""
    manifest = state.manifest
    if manifest is None or state.phase in FINAL:
        return ()
    if manifest.problem is None:
        if state.phase is Phase.VALIDATION_FAILED:
            return (ManifestAccepted(at=at, generation=manifest.generation),)
        return ()
    told = state.phase is Phase.VALIDATION_FAILED and state.message == manifest.problem.message
    if told:
        return ()
    return (
        ManifestRejected(
            at=at,
            generation=manifest.generation,
            kind=manifest.problem.kind,
            message=manifest.problem.message,
        ),
    )


def _conclusion(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """A running attempt ends when what is known of it amounts to an end."""
    if state.attempt is not None and state.attempt.failing is not None:
        return judge_failing(state, at)
    return () if state.paused is not None else conclude(state, at)


def _suspension(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    if state.manifest is None or state.attempt is None or not state.manifest.spec.suspend:
        return ()
    if state.phase in POSTPONING and not state.suspension_postponed:
        return (SuspensionPostponed(at=at, phase=state.phase.value),)
    if state.phase not in SUSPENDABLE or state.attempt.failing is not None:
        return ()
    return (SuspensionStarted(at=at, attempt=state.attempt.number),)


def _progress(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """Leave Initializing when the cluster is ready, Waiting when a submission was named."""
    attempt, manifest, cluster = state.attempt, state.manifest, state.cluster
    if attempt is None or manifest is None or attempt.failing is not None:
        return ()
    if state.phase is Phase.WAITING and manifest.spec.job_id:
        return (
            SubmissionNamed(at=at, job_id=manifest.spec.job_id),
            AttemptReachedRunning(at=at, attempt=attempt.number, address=attempt.address),
        )
    if state.phase is not Phase.INITIALIZING or cluster is None:
        return ()
    # Beside an ended submitter the head's Pod is not ready any more, nor ever its RayCluster.
    ready = cluster.state == "ready" or state.sidecar is not None
    if not ready or not cluster.address:
        return ()
    if submission_mode(state) is SubmissionMode.INTERACTIVE:
        waiting = AttemptReachedWaiting(at=at, attempt=attempt.number, address=cluster.address)
        return (waiting,)
    if has_submitter(state) and (state.submitter is None or not state.submitter.uid):
        return ()
    return (AttemptReachedRunning(at=at, attempt=attempt.number, address=cluster.address),)


def _clean_up(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """Retrying and Suspending are left when nothing of the attempt is left."""
    attempt = state.attempt
    if state.phase not in (Phase.RETRYING, Phase.SUSPENDING) or attempt is None:
        return ()
    creating = any(effect.desired.kind in CREATIONS for effect in state.effects)
    kept = state.cluster.name if state.cluster is not None and keeps_cluster(state) else ""
    own_cluster = owns_cluster(state) and not kept
    if (
        _is_ungrouping(state)
        or creating
        or own_cluster
        or state.submitter is not None
        or state.orphans
    ):
        return ()
    if state.orphan_submitter is not None:
        return ()
    if waits_for_pods(state):
        return ()
    if state.phase is Phase.SUSPENDING:
        return (JobSuspended(at=at, attempt=attempt.number),)
    suspends = state.manifest is not None and state.manifest.spec.suspend
    if not (attempt.retry_due or suspends):  # a suspension ends the pause before a retry
        return ()
    return (AttemptCleared(at=at, attempt=attempt.number, kept_cluster=kept),)


def _abandoning(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """A RayCluster that stays for the next attempt goes as soon as that cannot run there."""
    attempt = state.attempt
    if attempt is None or state.phase is not Phase.RETRYING or not keeps_cluster(state):
        return ()
    cause, name = why_unfit(state), attempt.cluster_name
    given_up = ClusterGivenUp(at=at, attempt=attempt.number, name=name, cause=cause)
    return (given_up,) if cause else ()


def _is_ungrouping(state: RayJobState) -> bool:
    """Return whether the PodGroup is being cleared: late, it would undo what the next one needs."""
    return any(effect.desired.kind is EffectKind.CLEAR_POD_GROUP for effect in state.effects)


def _beginning(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """New is left at once; Suspended when the job is resumed.

    A job that is to be suspended begins no attempt: what waits to be admitted has none. It goes to
    Suspended as it is, so the first attempt is that of the first RayCluster.
    """
    identity, manifest = state.identity, state.manifest
    if identity is None or manifest is None:
        return ()
    if state.phase is Phase.SUSPENDED and not manifest.spec.suspend:
        if _is_ungrouping(state):
            return ()
        return (JobResumed(at=at),)
    if state.phase is not Phase.NEW:
        return ()
    before = state.attempt.number if state.attempt is not None else state.failed
    if manifest.spec.suspend:
        return (JobSuspended(at=at, attempt=before),)
    number = before + 1  # of a job that was taken over only the failures may be known
    spec = manifest.spec
    derived = names.submission_id(identity.name, identity.uid, number)
    interactive = spec.submission_mode is SubmissionMode.INTERACTIVE
    cluster = names.cluster_name(identity.name, identity.uid, number)
    kept = _kept_cluster(state)
    return (
        AttemptStarted(
            at=at,
            attempt=number,
            cluster_name=kept or spec.cluster_selector or cluster,
            same_cluster=kept != "",
            job_id="" if interactive else spec.job_id or derived,
            generation=manifest.generation,
        ),
    )


def _kept_cluster(state: RayJobState) -> str:
    """Return the name of the RayCluster that the attempt before has left for the next; or empty."""
    attempt, cluster = state.attempt, state.cluster
    if attempt is None or not (attempt.keeps_cluster and attempt.cleared) or cluster is None:
        return ""
    return cluster.name if cluster.name == attempt.cluster_name else ""


def _keeping(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """A RayCluster that deletionStrategy does not cover stays, and users are told."""
    cluster, cause = state.cluster, uncovered_because(state)
    if cluster is None or state.kept is (cause != ""):
        return ()
    if state.kept:
        return (ClusterCovered(at=at, name=cluster.name),)
    return (ClusterKept(at=at, name=cluster.name, uid=cluster.uid, cause=cause),)


RULES: tuple[Rule, ...] = (
    _validity,
    _conclusion,
    _suspension,
    _progress,
    _abandoning,
    _clean_up,
    _beginning,
    _keeping,
)
"""In order of priority. What is known to have ended has ended, even if it is to be suspended."""


def _why_dropped(effect: OpenEffect) -> str:
    """Return why an open effect is not wanted any more."""
    deletions = (EffectKind.DELETE_CLUSTER, EffectKind.DELETE_SUBMITTER, EffectKind.DELETE_JOB)
    if effect.desired.kind is EffectKind.FIND_CLUSTER:
        return "the watch tells of it"
    return "it is gone already" if effect.desired.kind in deletions else "no longer wanted"


def _is_done(state: RayJobState, effect: OpenEffect) -> bool:
    """Return whether the watch told that an effect has worked before its outcome came back.

    A creation that nobody needs any more does not wait for it: tried again, it would make anew
    what has been deleted meanwhile. A deletion does, of the very object that is gone: whether it
    was this one that took it away, only its outcome can say.
    """
    kind, name, manifest = effect.desired.kind, effect.desired.name, state.manifest
    if is_dormant(state) or manifest is None:
        return False
    if kind in CREATIONS and not _is_for_now(state, effect):
        return False
    cluster = state.cluster if state.cluster and state.cluster.name == name else None
    submitter, is_gone = state.submitter, effect.desired.uid in state.gone
    done = {
        EffectKind.ADD_FINALIZER: manifest.finalizer and not is_leaving(state),
        EffectKind.REMOVE_FINALIZER: not manifest.finalizer,
        EffectKind.CREATE_CLUSTER: cluster is not None and cluster.uid != "",
        EffectKind.DELETE_CLUSTER: is_gone or (cluster is not None and cluster.deleting),
        EffectKind.CREATE_SUBMITTER: submitter is not None and submitter.uid != "",
        EffectKind.DELETE_SUBMITTER: is_gone or (submitter is not None and submitter.deleting),
        EffectKind.DELETE_JOB: is_leaving(state),
    }
    return done.get(kind, False)


def _is_for_now(state: RayJobState, effect: OpenEffect) -> bool:
    """Return whether an effect belongs to an attempt that goes on."""
    attempt = state.attempt
    goes_on = standing(state) in _GOING_ON and not is_leaving(state)
    return goes_on and attempt is not None and effect.attempt == attempt.number


def _why_cancelled(state: RayJobState, decision: PendingDecision) -> str:
    if state.deleted_at is not None or is_leaving(state):
        return "the RayJob is being deleted"
    if decision.kind is DecisionKind.DELETION_RULE:
        return why_not_deleted(state, decision.subject)
    if state.phase in FINAL or state.phase is Phase.RETRYING:
        return f"attempt {state.attempt.number if state.attempt else 0} has ended"
    return (
        f"the job is {state.phase.value or 'new'}, Ray says {state.entrypoint.status or 'nothing'}"
    )


def _is_at_rest(state: RayJobState) -> bool:
    return is_dormant(state) or is_leaving(state)


reconcile = ReconcileRules(
    evolve=evolve,
    is_at_rest=_is_at_rest,
    rules=RULES,
    called_for=called_for,
    desired_decisions=desired_decisions,
    is_awaited=_is_done,
    why_dropped=_why_dropped,
    why_cancelled=_why_cancelled,
).reconcile
