"""What JobSet's own webhooks do to a JobSet: fill in defaults, refuse what cannot work.

The sandbox has no webhooks; its API server plays these two itself. Source: JobSet v0.12.0,
pkg/webhooks/jobset_webhook.go, with all feature gates as they are by default (messages are
literals). Not done: the checks of claims that exist already.
"""

import re
from typing import Final

from jobledger.sandbox.admission.jobset_policies import (
    failure_policy_errors,
    inner,
    success_policy_errors,
)
from jobledger.sandbox.model.documents import Document, JsonValue, at, copy_of
from jobledger.sandbox.model.refusals import FieldError, wrong

NAME: Final = "vjobset.kb.io"
"""The name by which a refusal calls the webhook."""

LABEL_LIMIT: Final = 63
_DNS_1035: Final = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_NOT_A_LABEL: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_MUTABLE_IN_SPEC: Final = ("nodeSelector", "tolerations", "schedulingGates")
_MUTABLE_IN_METADATA: Final = ("labels", "annotations")


def complete(jobset: Document) -> None:
    """Fill in what a new JobSet leaves out, in place."""
    spec = jobset.get("spec")
    if not isinstance(spec, dict):
        return
    if not spec.get("successPolicy"):
        spec["successPolicy"] = {"operator": "All"}
    if not spec.get("startupPolicy"):
        spec["startupPolicy"] = {"startupPolicyOrder": "AnyOrder"}
    network = spec.setdefault("network", {})
    network.setdefault("enableDNSHostnames", True)
    network.setdefault("publishNotReadyAddresses", True)
    for group in spec.get("replicatedJobs") or ():
        job = at(group, "template", "spec")
        if isinstance(job, dict):
            job.setdefault("completionMode", "Indexed")
            pod = job.setdefault("template", {}).setdefault("spec", {})
            pod.setdefault("restartPolicy", "OnFailure")
    for index, rule in enumerate(at(spec, "failurePolicy", "rules") or ()):
        if not rule.get("name"):
            rule["name"] = f"failurePolicyRule{index}"
    for policy in spec.get("volumeClaimPolicies") or ():
        policy.setdefault("retentionPolicy", {"whenDeleted": "Delete"})


def check(new: Document, old: Document | None) -> list[FieldError]:
    """Return what the webhook refuses in a new or changed JobSet."""
    return _check_new(new) if old is None else _check_change(new, old)


def _check_new(jobset: Document) -> list[FieldError]:
    spec = jobset.get("spec") or {}
    groups = spec.get("replicatedJobs") or []
    errors = []
    if groups and groups[0].get("dependsOn") is not None:
        errors.append(inner("DependsOn can't be set for the first ReplicatedJob"))
    errors += _check_subdomain(at(spec, "network", "subdomain") or "")
    seen: set[str] = set()
    for index, group in enumerate(groups):
        seen.add(group["name"])
        errors += _check_names(jobset["metadata"]["name"], group, index)
        errors += [
            inner(f"replicatedJob: {group['name']} cannot depend on replicatedJob: {one['name']}")
            for one in group.get("dependsOn") or ()
            if one["name"] not in seen
        ]
    errors += success_policy_errors(spec, seen)
    return errors + failure_policy_errors(spec, seen)


def _check_names(jobset: str, group: Document, index: int) -> list[FieldError]:
    """Return what is wrong with the longest names that this group's Jobs and Pods will have."""
    path = f"spec.replicatedJobs[{index}].name"
    last = int(group.get("replicas", 1)) - 1
    job = f"{jobset}-{group['name']}-{last}"
    errors = _not_a_label(path, job, job, "job")
    template = at(group, "template", "spec") or {}
    if template.get("completionMode") == "Indexed" and template.get("completions") is not None:
        pod = f"{job}-{int(template['completions']) - 1}-abcde"
        errors += _not_a_label(path, job, pod, "pod")
    return errors


def _not_a_label(path: str, shown: str, name: str, what: str) -> list[FieldError]:
    errors = []
    if len(name) > LABEL_LIMIT:
        rule = f"JobSet name is too long, {what} names generated for this JobSet will exceed 63 "
        errors.append(wrong(path, shown, f"{rule}characters"))
    if not _DNS_1035.fullmatch(name):
        errors.append(wrong(path, shown, _NOT_A_LABEL))
    return errors


def _check_subdomain(subdomain: str) -> list[FieldError]:
    path = "spec.network.subdomain"
    errors = []
    if len(subdomain) > LABEL_LIMIT:
        rule = ".spec.network.subdomain is too long, must be less than 63 characters"
        errors.append(wrong(path, subdomain, rule))
    if subdomain and not _DNS_1035.fullmatch(subdomain):
        errors.append(wrong(path, subdomain, _NOT_A_LABEL))
    return errors


def _check_change(new: Document, old: Document) -> list[FieldError]:
    wanted, known = copy_of(new.get("spec") or {}), old.get("spec") or {}
    if known.get("suspend") or wanted.get("suspend"):
        before = {group["name"]: group for group in known.get("replicatedJobs") or ()}
        for group in wanted.get("replicatedJobs") or ():
            if group["name"] in before:
                _mask(group, before[group["name"]])
    return [
        wrong(f"spec.{field}", (new.get("spec") or {}).get(field), "field is immutable")
        for field in ("replicatedJobs", "managedBy")
        if wanted.get(field) != known.get(field)
    ]


def _mask(group: Document, before: Document) -> None:
    """Put back what may change in a suspended JobSet's Pod templates, in place."""
    template = at(group, "template", "spec", "template")
    known = at(before, "template", "spec", "template") or {}
    if not isinstance(template, dict):
        return
    for part, fields in (("metadata", _MUTABLE_IN_METADATA), ("spec", _MUTABLE_IN_SPEC)):
        old_part: JsonValue = known.get(part) or {}
        new_part = dict(template.get(part) or {})
        for field in fields:
            new_part.pop(field, None)
            if field in old_part:
                new_part[field] = old_part[field]
        template.pop(part, None)
        if new_part or part in known:
            template[part] = new_part
