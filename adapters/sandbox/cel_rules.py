"""The few CEL rules the sandbox understands, by their text.

There is no CEL interpreter here. Each rule of our own CRDs has a predicate in Python below; a rule
with any other text (in a CRD somebody else brings) is NOT evaluated and never refuses an object.
A real API server evaluates all of them.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from adapters.sandbox.documents import Document, JsonValue

Predicate: TypeAlias = Callable[[JsonValue, JsonValue], bool]
"""Whether the rule holds for (self, oldSelf)."""

_MANAGERS: Final = ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue")

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
