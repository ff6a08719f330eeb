"""The few CEL rules the sandbox understands, by their text.

There is no CEL interpreter here. Each rule of our own CRDs has a predicate in Python below; a rule
with any other text (in a CRD somebody else brings) is NOT evaluated and never refuses an object.
A real API server evaluates all of them.
"""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from jobledger.sandbox.model.documents import Document, JsonValue

Predicate: TypeAlias = Callable[[JsonValue, JsonValue], bool]
"""Whether the rule holds for (self, oldSelf)."""

_MANAGERS: Final = ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue")
_TRAINERS: Final = ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue")
_POLICIES: Final = ("torch", "mpi", "jax", "xgboost", "flux")
_NAME_LIMIT: Final = 63
_LABEL: Final = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_URI: Final = re.compile("[A-Za-z][A-Za-z0-9+.-]*://.+")


def _in_order_beside_dependencies(spec: JsonValue) -> bool:
    in_order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    return in_order and any("dependsOn" in group for group in spec.get("replicatedJobs") or ())


def _no_namespace(policy: JsonValue) -> bool:
    templates = policy.get("templates") or ()
    return not any((one.get("metadata") or {}).get("namespace") for one in templates)


PREDICATES: Final[dict[str, Predicate]] = {
    "self == oldSelf": lambda new, old: bool(new == old),
    "self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']": lambda new, _: (
        new in _MANAGERS
    ),
    "!(has(self.jobStatus) && has(self.jobDeploymentStatus))": lambda new, _: (
        not ("jobStatus" in new and "jobDeploymentStatus" in new)
    ),
    "has(self.jobStatus) || has(self.jobDeploymentStatus)": lambda new, _: (
        "jobStatus" in new or "jobDeploymentStatus" in new
    ),
    "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))": lambda new, _: (
        not (("onSuccess" in new or "onFailure" in new) and "deletionRules" in new)
    ),
    "((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))": lambda new, _: (
        ("onSuccess" in new and "onFailure" in new) or "deletionRules" in new
    ),
    "self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']": (
        lambda new, _: new in _TRAINERS
    ),
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')": lambda new, _: bool(
        _LABEL.fullmatch(new["metadata"]["name"])
    ),
    "size(self.metadata.name) <= 63": lambda new, _: len(new["metadata"]["name"]) <= _NAME_LIMIT,
    "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')": lambda new, _: (
        not new or bool(_URI.fullmatch(new))
    ),
    "has(self.lastUpdatedTime)": lambda new, _: "lastUpdatedTime" in new,
    "self >= 1": lambda new, _: new >= 1,
    "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),has(self.flux)]"
    ".filter(x, x).size() <= 1": lambda new, _: sum(name in new for name in _POLICIES) <= 1,
    "!self.exists(c, c == 'node')": lambda new, _: "node" not in new,
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
    "self.replicatedJobs.exists(x, has(x.dependsOn)))": lambda new, _: (
        not _in_order_beside_dependencies(new)
    ),
    "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)": (
        lambda new, _: _no_namespace(new)
    ),
}
"""Rule text -> predicate."""


def broken_rules(value: JsonValue, schema: Document, old: tuple[JsonValue] | None) -> list[str]:
    """Return the messages of the rules on this value that do not hold.

    Args:
        value: `self`.
        schema: The schema of this value.
        old: A tuple of `oldSelf`, or None where there was no such value before: rules about a
            change are not asked then.
    """
    messages = []
    for rule in schema.get("x-kubernetes-validations") or ():
        text = rule["rule"]
        predicate = PREDICATES.get(text)
        if predicate is None or ("oldSelf" in text and old is None):
            continue
        if not predicate(value, old[0] if old else None):
            messages.append(rule.get("message") or f"failed rule: {text}")
    return messages
