"""Upstream's validation of TTL, deletionStrategy and deletion rules."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from jobledger.core.rayjob.spec.go_values import int32, is_given
from jobledger.core.values.documents import Json, Manifest, child, items, text

SPEC = "The RayJob spec is invalid: "
HIERARCHY = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")
"""From the least to the most that goes away; the delays must not shrink along it."""
_TOUCHES_CLUSTER = ("DeleteCluster", "DeleteWorkers")


def deletion_problems(spec: Manifest) -> Iterator[str]:
    """Yield what is wrong with the delay and the strategy of deletion."""
    shutdown = spec.get("shutdownAfterJobFinishes") is True
    if not shutdown and (int32(spec, "ttlSecondsAfterFinished") or 0) > 0:
        yield (
            f"{SPEC}a RayJob with shutdownAfterJobFinishes set to false "
            "cannot have TTLSecondsAfterFinished"
        )
    strategy = spec.get("deletionStrategy")
    if not isinstance(strategy, Mapping):
        return
    legacy = is_given(strategy, "onSuccess") or is_given(strategy, "onFailure")
    rules = items(strategy, "deletionRules")
    if rules and shutdown:
        yield (
            f"{SPEC}spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules "
            "are mutually exclusive"
        )
    if rules and legacy:
        yield (
            f"{SPEC}Cannot use both legacy onSuccess/onFailure fields "
            "and deletionRules simultaneously"
        )
    if legacy:
        yield from _legacy_problems(spec, strategy)
    elif rules:
        if problems := (*_rule_problems(spec),):
            yield "\n".join(problems)
    elif not is_given(strategy, "deletionRules") or strategy["deletionRules"] == []:
        yield (
            f"{SPEC}DeletionStrategy requires either BOTH onSuccess and onFailure, "
            "OR the deletionRules field (cannot be empty)"
        )


def _legacy_problems(spec: Manifest, strategy: Manifest) -> Iterator[str]:
    if not (is_given(strategy, "onSuccess") and is_given(strategy, "onFailure")):
        yield (
            "both DeletionStrategy.OnSuccess and DeletionStrategy.OnFailure must be set "
            "when using the legacy deletion policy fields of DeletionStrategy"
        )
    for field in ("OnSuccess", "OnFailure"):
        if not is_given(child(strategy, f"o{field[1:]}"), "policy"):
            yield (
                f"the DeletionPolicyType field of DeletionStrategy.{field} "
                "cannot be unset when DeletionStrategy is enabled"
            )
    policies = text(strategy, "onSuccess", "policy"), text(strategy, "onFailure", "policy")
    for policy, when in zip(policies, ("success", "failure"), strict=True):
        if _selects(spec) and policy in _TOUCHES_CLUSTER:
            yield f"the ClusterSelector mode doesn't support DeletionStrategy={policy} on {when}"
    if "DeleteWorkers" in policies and _scales_itself(spec):
        yield (
            "DeletionStrategy=DeleteWorkers currently does not support "
            "RayCluster with autoscaling enabled"
        )
    if spec.get("shutdownAfterJobFinishes") is True and "DeleteNone" in policies:
        # "Finshes" is upstream's spelling.
        yield (
            f"{SPEC}shutdownAfterJobFinshes is set to 'true' while deletion policy is 'DeleteNone'"
        )


def _rule_problems(spec: Manifest) -> Iterator[str]:
    """Yield every problem of the rules: upstream reports these all together."""
    delays: dict[tuple[str, str], dict[str, int]] = {}
    for index, rule in enumerate(items(spec, "deletionStrategy", "deletionRules")):
        policy, condition = text(rule, "policy"), child(rule, "condition")
        problem = _condition_problem(condition) or _policy_problem(spec, policy)
        group = delays.setdefault(_subject(condition), {}) if not problem else {}
        if policy in group:
            field, value = _subject(condition)
            problem = f"duplicate rule for DeletionPolicyType '{policy}' and {field} '{value}'"
        if problem:
            yield f"deletionRules[{index}]: {problem}"
        else:
            group[policy] = int32(condition, "ttlSeconds") or 0
    # Upstream goes through the groups in random order, those of JobStatus first.
    for (field, value), group in sorted(delays.items(), key=_job_status_first):
        yield from _order_problems(field, value, group)


def _job_status_first(
    item: tuple[tuple[str, str], Mapping[str, int]],
) -> tuple[bool, str]:
    (field, value), _ = item
    return field != "JobStatus", value


def _condition_problem(condition: Manifest) -> str:
    by_job, by_deployment = (
        is_given(condition, "jobStatus"),
        is_given(condition, "jobDeploymentStatus"),
    )
    if by_job and by_deployment:
        return "cannot set both JobStatus and JobDeploymentStatus at the same time"
    if not by_job and not by_deployment:
        return "exactly one of JobStatus and JobDeploymentStatus must be set"
    if (int32(condition, "ttlSeconds") or 0) < 0:
        return "TTLSeconds must be non-negative"
    return ""


def _policy_problem(spec: Manifest, policy: str) -> str:
    if _selects(spec) and policy in _TOUCHES_CLUSTER:
        return f"DeletionPolicyType '{policy}' not supported when ClusterSelector is set"
    if policy == "DeleteWorkers" and _scales_itself(spec):
        return "DeletionPolicyType 'DeleteWorkers' not supported with autoscaling enabled"
    return ""


def _subject(condition: Manifest) -> tuple[str, str]:
    if is_given(condition, "jobStatus"):
        return "JobStatus", text(condition, "jobStatus")
    return "JobDeploymentStatus", text(condition, "jobDeploymentStatus")


def _order_problems(field: str, value: str, group: Mapping[str, int]) -> Iterator[str]:
    steps = [(policy, group[policy]) for policy in HIERARCHY if policy in group]
    for (previous, before), (policy, after) in pairwise(steps):
        if after < before:
            yield (
                f"for {field} '{value}': {policy} TTL ({after}) must be >= "
                f"{previous} TTL ({before})"
            )


def _selects(spec: Manifest) -> bool:
    return len(child(spec, "clusterSelector")) > 0


def _scales_itself(spec: Manifest) -> bool:
    scales: Json = child(spec, "rayClusterSpec").get("enableInTreeAutoscaling")
    return scales is True
