"""What JobSet's webhook refuses in success and failure policies.

Source: JobSet v0.12.0, pkg/webhooks/jobset_webhook.go (messages are literals).
"""

import re
from typing import Final

from jobledger.sandbox.model.documents import Document, at
from jobledger.sandbox.model.refusals import FieldError

RULE_NAME_LIMIT: Final = 128
_RULE_NAME: Final = re.compile("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASONS: Final = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
_GATED: Final = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
"""Actions behind a feature gate that is off by default."""


def inner(message: str) -> FieldError:
    """Return an error that names no field, as the webhook's plain errors come out."""
    return FieldError("<nil>", "InternalError", f"Internal error: {message}")


def success_policy_errors(spec: Document, groups: set[str]) -> list[FieldError]:
    """Return what is wrong with the success policy."""
    return [
        inner(f"invalid replicatedJob name '{name}' does not appear in .spec.ReplicatedJobs")
        for name in at(spec, "successPolicy", "targetReplicatedJobs") or ()
        if name not in groups
    ]


def failure_policy_errors(spec: Document, groups: set[str]) -> list[FieldError]:
    """Return what is wrong with the failure policy."""
    policy = spec.get("failurePolicy") or {}
    errors = []
    if policy.get("restartStrategy") == "InPlaceRestart":
        message = "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate"
        errors.append(inner(f"{message} is disabled"))
    rules = policy.get("rules") or []
    if any(rule["action"] in _GATED for rule in rules):
        message = "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not "
        return [*errors, inner(f"{message}allowed when RestartJob feature gate is disabled")]
    for rule in rules:
        errors += _rule_errors(rule, groups)
    return errors + _repeated([rule["name"] for rule in rules])


def _rule_errors(rule: Document, groups: set[str]) -> list[FieldError]:
    name, errors = rule["name"], []
    if not 1 <= len(name) <= RULE_NAME_LIMIT:
        errors.append(
            inner(
                f"invalid failure policy rule name of length {len(name)}, the rule name must be at "
                f"least 1 characters long and at most {RULE_NAME_LIMIT} characters long"
            )
        )
    if not _RULE_NAME.fullmatch(name):
        errors.append(
            inner(
                f"invalid failure policy rule name '{name}', a failure policy rule name must start "
                "with an alphabetic character, optionally followed by a string of alphanumeric "
                "characters or '_,:', and must end with an alphanumeric character or '_'"
            )
        )
    errors += [
        inner(
            f"invalid replicatedJob name '{target}' in failure policy does not appear in "
            ".spec.ReplicatedJobs"
        )
        for target in rule.get("targetReplicatedJobs") or ()
        if target not in groups
    ]
    errors += [
        inner(
            f"invalid job failure reason '{reason}' in failure policy is not a recognized job "
            "failure reason"
        )
        for reason in rule.get("onJobFailureReasons") or ()
        if reason not in _REASONS
    ]
    return errors


def _repeated(names: list[str]) -> list[FieldError]:
    errors = []
    for name in dict.fromkeys(names):
        places = [index for index, other in enumerate(names) if other == name]
        if len(places) > 1:
            shown = " ".join(map(str, places))
            message = f"rule names are not unique, rules with indices [{shown}] all have the same "
            errors.append(inner(f"{message}name '{name}'"))
    return errors
