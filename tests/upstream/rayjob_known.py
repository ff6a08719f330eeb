"""The lines of docs/differences.md, as rules: what each takes away from a comparison.

A rule gets what upstream makes of a case and what we make of it, and returns both without what its
line explains. The release that is asked is the last one that the Go module proxy serves; rules
called `kuberay-1-7-…` take away what the release that we follow does otherwise.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobledger.core.rayjob.manifests.gang_scheduling import KAI, VOLCANO, YUNIKORN
from jobledger.core.rayjob.validation.types import type_problems
from jobledger.core.rayjob.validation.validate import content_problems
from tests.upstream.rayjob_cases import Case
from tests.upstream.rayjobs import Answer, Built, between, ours, theirs

Pair = tuple[Built, Built]
Rule = Callable[[Case, Built, Built], Pair]

_WAIT = re.compile(r"until .*? ; do echo .*? ; sleep 2 ; done ; ")
_METADATA = re.compile(r' --metadata-json "(?:[^"\\]|\\.)*"')
_RUNTIME_ENV = re.compile(r' --runtime-env-json "(?:[^"\\]|\\.)*"')
_FLOW_COLON = re.compile(r":[,\[\]{}]")
_EMPTY_KEY = re.compile(r"^[{]\s*[}]\s*:(?=\s)", re.MULTILINE)
_SINCE_1_7 = (
    "autoscalerOptions.env must not contain KUBERAY_GEN_AUTOSCALER_START_CMD",
    "the embedded RocksDB GCS fault tolerance backend",
    "cannot set GcsFaultToleranceOptions.Storage",
    "spec.networkPolicy requires the RayClusterNetworkPolicy feature gate",
    "spec.tlsOptions requires the RayClusterMTLS feature gate",
    "RayClusterHistoryServer feature gate is not enabled",
    ": priority is set, but",
    ": priority is set to",
)
"""Beginnings of messages of rules that came with 1.7."""
_FIELDS_OF_1_7: Mapping[str, Sequence[str]] = {
    "autoscalerOptions": ("command", "args"),
    "gcsFaultToleranceOptions": ("backend",),
}
_WHOLE_MAX = 2**53
_FAILED_FOR_THE_SCHEDULER: Mapping[str, tuple[str, str]] = {
    "rayjob-kai-submitter": (KAI, "KAI-Scheduler does not support RayJob with K8sJobMode"),
    "rayjob-yunikorn-shared": (YUNIKORN, "panic: runtime error: invalid memory address"),
    "rayjob-volcano-tier": (VOLCANO, "failed to convert volcano.sh/network-topology-highest-tier"),
}


def _without(built: Built, *beginnings: str) -> Built:
    """Return what is made without the objects of some kinds."""
    made = {name: one for name, one in built.made.items() if not name.startswith(beginnings)}
    return replace(built, made=made)


def _changed(built: Built, change: Callable[[str, Any], Any]) -> Built:
    """Return what is made with each object changed."""
    return replace(built, made={name: change(name, one) for name, one in built.made.items()})


def _with_args(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 any JSON
    """Return an object with the commands of its containers changed."""
    if isinstance(value, list):
        return [_with_args(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: [change(text) for text in item] if key == "args" else _with_args(item, change)
        for key, item in value.items()
    }


def _scheduler_fails(scheduler: str, beginning: str) -> Rule:
    """Return the rule for a job that a batch scheduler's plugin never lets begin."""

    def rule(case: Case, one: Built, other: Built) -> Pair:
        fails = case.scheduler == scheduler and one.failed.startswith(beginning)
        return (other, other) if fails else (one, other)

    return rule


def _volcano_shared(case: Case, one: Built, other: Built) -> Pair:
    if case.scheduler != VOLCANO or not case.objects:
        return one, other
    if one.failed.startswith("gang scheduling does not support RayJob"):
        return other, other
    return _without(one, "PodGroup", "podGroup"), other


def _content(case: Case, one: Built, other: Built) -> Pair:
    """Take away what upstream meets later, as an error without end or on the head."""
    if one.type or not other.type:
        return one, other
    spec = case.job["spec"]
    is_ours = other.message in {*type_problems(spec), *content_problems(spec)}
    return (other, other) if is_ours else (one, other)


def _hidden(case: Case, one: Built, other: Built) -> Pair:
    del case
    said = "failed to unmarshal RuntimeEnvYAML: "
    both = one.message.startswith(said) and other.message.startswith(said)
    return (replace(one, message=said), replace(other, message=said)) if both else (one, other)


def _escape(case: Case, one: Built, other: Built) -> Pair:
    del case
    refused = one.message.endswith("yaml: found unknown escape character")
    return (other, other) if refused else (one, other)  # what else is wrong, is met here


def _flow_colon(case: Case, one: Built, other: Built) -> Pair:
    """Take away runtime environments with a colon right before a mark of a list or map."""
    if not _FLOW_COLON.search(case.job["spec"].get("runtimeEnvYAML", "")):
        return one, other
    if bool(one.type) != bool(other.type):
        return other, other

    def change(name: str, made: Any) -> Any:  # noqa: ANN401 any JSON
        if name == "Submission":
            return {key: item for key, item in made.items() if key != "runtime_env"}
        return _with_args(made, lambda text: _RUNTIME_ENV.sub("", text))

    return _changed(one, change), _changed(other, change)


def _empty_key(case: Case, one: Built, other: Built) -> Pair:
    """Take away runtime environments of which upstream reads an empty map, and not what follows."""
    text = case.job["spec"].get("runtimeEnvYAML", "")
    is_read = not one.type and "a key that is no text" in other.message
    return (other, other) if is_read and _EMPTY_KEY.search(text) else (one, other)


def _ports(case: Case, one: Built, other: Built) -> Pair:
    """Take away the head's ports whose name the template of its Service has as well."""
    head = (case.job["spec"].get("rayClusterSpec") or {}).get("headGroupSpec") or {}
    own = ((head.get("headService") or {}).get("spec") or {}).get("ports") or []
    names = {port.get("name") for port in own}

    def change(name: str, made: Any) -> Any:  # noqa: ANN401 any JSON
        if not name.startswith("Service/"):
            return made
        kept = [
            port
            for port in made["spec"]["ports"]
            if port.get("name") not in names or port.get("appProtocol") != "tcp"
        ]
        return {**made, "spec": {**made["spec"], "ports": kept}}

    return (_changed(one, change), other) if own else (one, other)


def _hosts(case: Case, one: Built, other: Built) -> Pair:
    del case

    def change(name: str, made: Any) -> Any:  # noqa: ANN401 any JSON
        if not name.startswith("RayCluster/"):
            return made
        groups = [dict(group) for group in made["spec"].get("workerGroupSpecs", [])]
        for group in groups:
            if group.get("numOfHosts") == 0:
                del group["numOfHosts"]
        return {
            **made,
            "spec": {**made["spec"], **({"workerGroupSpecs": groups} if groups else {})},
        }

    return _changed(one, change), _changed(other, change)


def _whole_numbers(case: Case, one: Built, other: Built) -> Pair:
    del case

    def rounded(value: Any) -> Any:  # noqa: ANN401 any JSON
        if isinstance(value, list):
            return [rounded(item) for item in value]
        if isinstance(value, dict):
            return {key: rounded(item) for key, item in value.items()}
        is_great = isinstance(value, int) and abs(value) > _WHOLE_MAX
        return float(value) if is_great else value

    def change(name: str, made: Any) -> Any:  # noqa: ANN401 any JSON
        return rounded(made) if name == "Submission" else made

    return _changed(one, change), _changed(other, change)


def _waits(case: Case, one: Built, other: Built) -> Pair:
    del case

    def change(name: str, made: Any) -> Any:  # noqa: ANN401 any JSON
        is_job = name.startswith("Job/")
        return _with_args(made, lambda text: _WAIT.sub("", text, count=1)) if is_job else made

    return one, _changed(other, change)


def _submitter_labels(case: Case, one: Built, other: Built) -> Pair:
    del case

    def change(name: str, made: Any) -> Any:  # noqa: ANN401 any JSON
        if not name.startswith("Job/"):
            return made
        spec, template = made["spec"], made["spec"]["template"]
        metadata = dict(template.get("metadata", {}))
        own = made["metadata"]["labels"]
        labels = {key: value for key, value in metadata.pop("labels", {}).items() if key not in own}
        metadata |= {"labels": labels} if labels else {}
        bare = {key: item for key, item in template.items() if key != "metadata"}
        template = {**bare, **({"metadata": metadata} if metadata else {})}
        return {**made, "spec": {**spec, "template": template}}

    return _changed(one, change), _changed(other, change)


def _metadata(case: Case, one: Built, other: Built) -> Pair:
    cluster = case.job["spec"].get("rayClusterSpec")
    if not case.job["spec"].get("metadata") or (cluster or {}).get("rayVersion"):
        return one, other
    if one.failed.startswith("failed to parse Ray version: :"):
        return other, other
    return one, _changed(
        other, lambda _, made: _with_args(made, lambda text: _METADATA.sub("", text))
    )


def _rules_of_1_7(case: Case, one: Built, other: Built) -> Pair:
    del case
    since = any(part in other.message for part in _SINCE_1_7)
    return (other, other) if since and not one.type else (one, other)


def _fields_of_1_7(case: Case, one: Built, other: Built) -> Pair:
    del case

    def change(name: str, made: Any) -> Any:  # noqa: ANN401 any JSON
        if not name.startswith("RayCluster/"):
            return made
        spec = dict(made["spec"])
        for part, fields in _FIELDS_OF_1_7.items():
            kept = {key: item for key, item in spec.pop(part, {}).items() if key not in fields}
            spec |= {part: kept} if kept else {}
        for group in (groups := [dict(group) for group in spec.get("workerGroupSpecs", [])]):
            group.pop("priority", None)
        spec |= {"workerGroupSpecs": groups} if groups else {}
        return {**made, "spec": spec}

    return _changed(one, change), _changed(other, change)


def _copied_limits(case: Case, one: Built, other: Built) -> Pair:
    """Take away the limits that 1.6 wrote among the requests when it added up what Pods need."""
    if not case.scheduler:
        return one, other

    def bare(value: Any) -> Any:  # noqa: ANN401 any JSON
        if isinstance(value, list):
            return [bare(item) for item in value]
        if not isinstance(value, dict):
            return value
        limits, requests = value.get("limits"), value.get("requests")
        if isinstance(limits, dict) and isinstance(requests, dict):
            kept = {key: item for key, item in requests.items() if limits.get(key) != item}
            value = {**value, "requests": kept}
        return {key: bare(item) for key, item in value.items()}

    def change(name: str, made: Any) -> Any:  # noqa: ANN401 any JSON
        return bare(made) if name.startswith(("RayCluster/", "Job/")) else made

    return _changed(one, change), _changed(other, change)


KNOWN: Mapping[str, Rule] = {
    "kuberay-1-7-waits": _waits,
    "kuberay-1-7-submitter-labels": _submitter_labels,
    "kuberay-1-7-metadata": _metadata,
    "kuberay-1-7-rules": _rules_of_1_7,
    "kuberay-1-7-fields": _fields_of_1_7,
    "kuberay-1-7-requests": _copied_limits,
    **{name: _scheduler_fails(*fails) for name, fails in _FAILED_FOR_THE_SCHEDULER.items()},
    "rayjob-volcano-shared": _volcano_shared,
    "rayjob-content": _content,
    "rayjob-runtime-env-hidden": _hidden,
    "rayjob-yaml-escape": _escape,
    "rayjob-yaml-flow-colon": _flow_colon,
    "rayjob-yaml-empty-key": _empty_key,
    "rayjob-head-port-twice": _ports,
    "rayjob-hosts-0": _hosts,
    "rayjob-whole-numbers": _whole_numbers,
}
"""A line of docs/differences.md -> what it takes away from a comparison."""


def remaining(case: Case, one: Built, other: Built, *, but: str = "") -> list[str]:
    """Return where the two differ once every listed line, `but` one, has taken its part away."""
    for name, rule in KNOWN.items():
        if name != but:
            one, other = rule(case, one, other)
    return between(one, other)


def found(case: Case, answer: Answer) -> list[str]:
    """Return where what upstream makes of a case differs from ours, but for what is listed."""
    return remaining(case, theirs(answer), ours(case))
