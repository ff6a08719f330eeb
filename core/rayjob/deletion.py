"""What is deleted once a RayJob has ended: RayCluster, workers, or the RayJob itself.

`clusterSelector` goes before everything (nothing is ever deleted), `deletionStrategy` before
`shutdownAfterJobFinishes`. Of several rules that are due only the one that goes furthest is
carried out. A RayCluster that no rule covers stays; that is told, not mended.

Source: KubeRay's handleDeletionRules, handleLegacyDeletionPolicy and
handleShutdownAfterJobFinishes.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta

from msgspec.structs import replace

from jobledger.core.jobs.pending.decisions import DecisionKind, DesiredDecision, PendingDecision
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.spec.spec import DeletionPolicy, DeletionRule, RayJobSpec
from jobledger.core.rayjob.state import (
    KnownManifest,
    RayJobState,
    gives_up,
    is_final,
    selects_cluster,
)
from jobledger.core.values.instants import Instant

IMPACT: Mapping[DeletionPolicy, int] = {
    DeletionPolicy.NONE: 0,
    DeletionPolicy.WORKERS: 1,
    DeletionPolicy.CLUSTER: 2,
    DeletionPolicy.SELF: 3,
}
"""How far a policy goes."""


_AT_THE_END = (EffectKind.DELETE_CLUSTER, EffectKind.DELETE_JOB, EffectKind.SUSPEND_WORKERS)


def covering_rules(state: RayJobState) -> tuple[DeletionRule, ...]:
    """Return the rules of deletionStrategy that hold for how the job ended."""
    if state.manifest is None or not is_final(state):
        return ()
    status, phase = state.entrypoint.status.value, state.phase.value
    return tuple(
        rule
        for rule in state.manifest.spec.deletion_rules
        if (rule.job_status and rule.job_status == status) or (rule.phase and rule.phase == phase)
    )


def policy_of(subject: str) -> DeletionPolicy:
    """Return which policy a decision is about, from its subject (`DeleteCluster onSuccess`)."""
    return DeletionPolicy(subject.partition(" ")[0])


def desired_deletions(state: RayJobState, manifest: KnownManifest) -> Iterator[DesiredDecision]:
    """Yield every deletion that should be pending: of the RayCluster, of its workers, of all."""
    spec, ended_at = manifest.spec, state.ended_at
    if not is_final(state) or ended_at is None or selects_cluster(state):
        return
    if not spec.has_deletion_strategy:
        yield from _shutdown(state, manifest, ended_at)
        return
    for rule in covering_rules(state):
        if _is_over(state, rule.policy):
            continue
        yield DesiredDecision(
            kind=DecisionKind.DELETION_RULE,
            due_at=ended_at + timedelta(seconds=rule.ttl_seconds),
            cause=f"{rule.source}: {rule.policy} {rule.ttl_seconds} s after {_when(rule)}",
            subject=f"{rule.policy} {rule.source}",
        )


def _when(rule: DeletionRule) -> str:
    if rule.job_status:
        return f"an end with jobStatus {rule.job_status}"
    return f"an end with jobDeploymentStatus {rule.phase}"


def _shutdown(
    state: RayJobState, manifest: KnownManifest, ended_at: Instant
) -> Iterator[DesiredDecision]:
    spec = manifest.spec
    nothing_left = state.cluster is None and not manifest.policy.delete_job_after_finish
    if not spec.shutdown_after_job_finishes or nothing_left or state.shutdown_due:
        return
    due_at = ended_at + timedelta(seconds=spec.ttl_seconds_after_finished)
    cause = f"ttlSecondsAfterFinished {spec.ttl_seconds_after_finished}"
    yield DesiredDecision(kind=DecisionKind.TTL_SHUTDOWN, due_at=due_at, cause=cause)


def _is_over(state: RayJobState, policy: DeletionPolicy) -> bool:
    """Return whether nothing is left to decide about a policy: done, or overtaken by another."""
    furthest = max((IMPACT[due] for due in _due_by_rules(state)), default=0)
    return IMPACT[policy] <= furthest or is_achieved(state, policy)


def is_achieved(state: RayJobState, policy: DeletionPolicy) -> bool:
    """Return whether what a policy calls for is so already, whoever saw to it."""
    cluster = state.cluster
    going = cluster is None or cluster.deleting or cluster.delete_asked
    if policy is DeletionPolicy.WORKERS:
        return going or state.workers_suspended
    if policy is DeletionPolicy.CLUSTER:
        return going
    return policy is DeletionPolicy.NONE


def due_policy(state: RayJobState) -> DeletionPolicy:
    """Return what is to be carried out now: of all that is due, what goes furthest."""
    manifest = state.manifest
    if manifest is None or not is_final(state) or selects_cluster(state):
        return DeletionPolicy.NONE
    if not manifest.spec.has_deletion_strategy:
        return _due_shutdown(state, manifest)
    return max(_due_by_rules(state), key=IMPACT.__getitem__, default=DeletionPolicy.NONE)


def _due_by_rules(state: RayJobState) -> Collection[DeletionPolicy]:
    """Return what fell due and is still called for: an edit may have taken its rule away since."""
    covered = {rule.policy for rule in covering_rules(state)}
    return {DeletionPolicy(one) for one in state.deletions_due} & covered


def _due_shutdown(state: RayJobState, manifest: KnownManifest) -> DeletionPolicy:
    if not state.shutdown_due:
        return DeletionPolicy.NONE
    whole = manifest.policy.delete_job_after_finish
    return DeletionPolicy.SELF if whole else DeletionPolicy.CLUSTER


def with_what_is_due(state: RayJobState, at: Instant) -> RayJobState:
    """Return the state after an edit: without what was due and by the new manifest is not.

    What has been begun is not taken back. Source: KubeRay reads shutdownAfterJobFinishes, the TTL
    and the rules anew each time.
    """
    manifest, ended_at = state.manifest, state.ended_at
    if manifest is None or ended_at is None or not (state.shutdown_due or state.deletions_due):
        return state
    under_way = any(effect.desired.kind in _AT_THE_END for effect in state.effects)
    if under_way or is_achieved(state, DeletionPolicy.CLUSTER):
        return state
    spec, passed = manifest.spec, at - ended_at
    shuts_down = spec.shutdown_after_job_finishes and not spec.has_deletion_strategy
    ttl = timedelta(seconds=spec.ttl_seconds_after_finished)
    due = {
        rule.policy
        for rule in covering_rules(state)
        if timedelta(seconds=rule.ttl_seconds) <= passed
    }
    return replace(
        state,
        shutdown_due=state.shutdown_due and shuts_down and ttl <= passed,
        deletions_due=tuple(one for one in state.deletions_due if DeletionPolicy(one) in due),
    )


def furthest_due(state: RayJobState, decision: PendingDecision, at: Instant) -> PendingDecision:
    """Return the decision that fires where `decision` is due: another, if that goes further."""
    if decision.kind is not DecisionKind.DELETION_RULE:
        return decision
    due = [
        item
        for item in state.decisions
        if item.kind is DecisionKind.DELETION_RULE and item.due_at <= at
    ]
    return max(due, key=lambda item: IMPACT[policy_of(item.subject)], default=decision)


def why_not_deleted(state: RayJobState, subject: str) -> str:
    """Return why a deletion that was pending is not decided about any more."""
    policy = policy_of(subject)
    further = due_policy(state)
    if IMPACT[further] > IMPACT[policy]:
        return f"{further} is due as well and goes further"
    if further is policy or is_achieved(state, policy):
        return "it is done, or being done, already"
    return "no rule calls for it any more"


def uncovered_because(state: RayJobState) -> str:
    """Return why the RayCluster of an ended job stays though a strategy was given; else nothing."""
    cluster, manifest = state.cluster, state.manifest
    if cluster is None or manifest is None or not is_final(state) or selects_cluster(state):
        return ""
    if gives_up(state):
        return ""
    spec: RayJobSpec = manifest.spec
    if not spec.has_deletion_strategy or cluster.deleting or covering_rules(state):
        return ""
    status = state.entrypoint.status.value or "none"
    return (
        f"no rule of spec.deletionStrategy holds for jobStatus {status} and "
        f"jobDeploymentStatus {state.phase}"
    )
