"""What the API server fills in and insists on for the built-in kinds.

Only what jobs, their Pods and their Services rest on: no full schema. A field of the wrong type in
a built-in kind is stored as it is, where a real API server answers 400.
Source: k8s.io/kubernetes pkg/registry/*/strategy.go and pkg/apis/*/validation (v1.36).
"""

import base64
import itertools
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from jobledger.sandbox.admission.definitions import check_definition, complete
from jobledger.sandbox.model.documents import Document, at, copy_of
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.refusals import FieldError, required, shown, untouchable, wrong

Rule: TypeAlias = Callable[[Document, Document | None], list[FieldError]]
"""Completes a new object in place and returns what is wrong with it; the old object, if any."""

_ADDRESSES: Final[Iterator[int]] = itertools.count(1)
_OCTET: Final = 256
DEFAULT_GRACE_SECONDS: Final = 30


def complete_and_check(kind: Kind, new: Document, old: Document | None) -> list[FieldError]:
    """Fill in a built-in object's defaults in place; return what is wrong with it."""
    rule = _RULES.get((kind.group, kind.plural))
    return rule(new, old) if rule else []


def _pod(new: Document, old: Document | None) -> list[FieldError]:
    spec = new.setdefault("spec", {})
    errors = _pod_spec(spec, "spec")
    if old is None:
        new["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    elif _fixed_part(spec) != _fixed_part(old.get("spec") or {}):
        rule = (
            "pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
            "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
            "(allow it to be set to 1 if it was previously negative)"
        )
        errors.append(untouchable("spec", rule))
    return errors


def _fixed_part(spec: Document) -> Document:
    """Return what of a Pod's spec may not change."""
    fixed: Document = copy_of(spec)
    for field in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"):
        fixed.pop(field, None)
    for container in (*fixed.get("containers", ()), *fixed.get("initContainers", ())):
        container.pop("image", None)
    return fixed


def _pod_spec(spec: Document, path: str) -> list[FieldError]:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    errors = [] if spec.get("containers") else [required(f"{path}.containers")]
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            here = f"{path}.{field}[{index}]"
            errors += [
                required(f"{here}.{key}") for key in ("name", "image") if not container.get(key)
            ]
            _complete_container(container)
    return errors


def _complete_container(container: Document) -> None:
    image = str(container.get("image") or "")
    newest = ":" not in image.rpartition("/")[2] or image.endswith(":latest")
    container.setdefault("imagePullPolicy", "Always" if newest else "IfNotPresent")
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")


def _batch_job(new: Document, old: Document | None) -> list[FieldError]:
    spec = new.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    for field, value in (
        ("parallelism", 1),
        ("backoffLimit", 6),
        ("completionMode", "NonIndexed"),
        ("suspend", False),
        ("manualSelector", False),
        ("podReplacementPolicy", "TerminatingOrFailed"),
    ):
        spec.setdefault(field, value)
    template = spec.setdefault("template", {})
    _leave_out_what_is_empty(new)
    if old is None:
        new["status"] = {}
        _select_own_pods(new, spec, template)
    pod = template.setdefault("spec", {})
    errors = [
        wrong(f"spec.{field}", spec[field], "must be greater than or equal to 0")
        for field in ("parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished")
        if isinstance(spec.get(field), int) and spec[field] < 0
    ]
    if spec["completionMode"] == "Indexed" and spec.get("completions") is None:
        errors.append(required("spec.completions", "when completion mode is Indexed"))
    asked = pod.get("restartPolicy")
    errors += _pod_spec(pod, "spec.template.spec")
    if asked not in ("OnFailure", "Never"):
        choice = 'valid values: "OnFailure", "Never"'
        errors.append(required("spec.template.spec.restartPolicy", choice))
    if old is not None:
        errors += [
            wrong(f"spec.{field}", spec.get(field), "field is immutable")
            for field in _fixed_job_fields(old)
            if spec.get(field) != at(old, "spec", field)
        ]
    return errors


def _leave_out_what_is_empty(job: Document) -> None:
    """Take counts of 0 and empty words out of the status of a batch job.

    Source: batch/v1 JobStatus and JobCondition, `omitempty`; ready and terminating are pointers.
    """
    status = job.get("status") or {}
    for field in ("active", "succeeded", "failed"):
        if status.get(field) == 0:
            del status[field]
    for condition in status.get("conditions") or ():
        for field in ("reason", "message"):
            if condition.get(field) == "":
                del condition[field]


def _fixed_job_fields(old: Document) -> tuple[str, ...]:
    if at(old, "spec", "suspend"):
        return ("selector", "completionMode")
    return ("selector", "completionMode", "template")


def _select_own_pods(job: Document, spec: Document, template: Document) -> None:
    """Give a new batch job the selector and the labels by which it finds its Pods."""
    if spec.get("manualSelector"):
        return
    uid, name = job["metadata"]["uid"], job["metadata"]["name"]
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    labels |= {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}


def _service(new: Document, old: Document | None) -> list[FieldError]:
    spec = new.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    spec.setdefault("internalTrafficPolicy", "Cluster")
    new.setdefault("status", {"loadBalancer": {}})
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] != "ExternalName":
        _give_address(spec, old)
    headless = spec.get("clusterIP") == "None" or spec["type"] == "ExternalName"
    errors = [] if spec.get("ports") or headless else [required("spec.ports")]
    was = at(old, "spec", "clusterIP")
    if was and spec.get("clusterIP") != was and spec["type"] != "ExternalName":
        errors.append(
            wrong("spec.clusterIPs[0]", [spec.get("clusterIP")], "may not change once set")
        )
    return errors


def _give_address(spec: Document, old: Document | None) -> None:
    """Keep a Service's address, or give it one that nobody answers at."""
    address = spec.get("clusterIP") or at(old, "spec", "clusterIP")
    if not address:
        number = next(_ADDRESSES)
        address = f"10.96.{number // _OCTET % _OCTET}.{number % _OCTET}"
    spec["clusterIP"] = address
    spec["clusterIPs"] = [address]
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _secret(new: Document, old: Document | None) -> list[FieldError]:
    new.setdefault("type", "Opaque")
    plain = new.pop("stringData", None) or {}
    if plain:
        coded = {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
        new["data"] = (new.get("data") or {}) | coded
    if old is not None and new["type"] != old.get("type"):
        return [wrong("type", new["type"], "field is immutable")]
    return []


def _namespace(new: Document, old: Document | None) -> list[FieldError]:
    labels = new["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = new["metadata"]["name"]
    if old is None:
        new["spec"] = {"finalizers": ["kubernetes"]}
        new["status"] = {"phase": "Active"}
    return []


def _definition(new: Document, old: Document | None) -> list[FieldError]:
    errors = check_definition(new)
    if not errors:
        if old is not None:
            new["status"] = copy_of(old["status"])
        complete(new)
    return errors


def _lease(new: Document, _old: Document | None) -> list[FieldError]:
    seconds = at(new, "spec", "leaseDurationSeconds")
    if isinstance(seconds, int) and seconds <= 0:
        return [wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
    return []


def _kubernetes_event(new: Document, old: Document | None) -> list[FieldError]:
    """Events are small and free, but the object they are about must be in their namespace."""
    if old is not None:
        return []
    about = at(new, "involvedObject", "namespace")
    space = new["metadata"].get("namespace")
    if about and about != space:
        rule = "does not match event.namespace"
        return [wrong("involvedObject.namespace", about, rule)]
    if new.get("type") not in (None, "", "Normal", "Warning") and new.get("eventTime"):
        return [wrong("type", "", f"has invalid value: {shown(new['type'])}")]
    return []


_RULES: Final[dict[tuple[str, str], Rule]] = {
    ("", "pods"): _pod,
    ("", "services"): _service,
    ("", "secrets"): _secret,
    ("", "namespaces"): _namespace,
    ("", "events"): _kubernetes_event,
    ("events.k8s.io", "events"): _kubernetes_event,
    ("batch", "jobs"): _batch_job,
    ("coordination.k8s.io", "leases"): _lease,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
}
