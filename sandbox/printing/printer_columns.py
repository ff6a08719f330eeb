"""The columns `kubectl get` shows of the built-in kinds.

Source: k8s.io/kubernetes pkg/printers/internalversion/printers.go (v1.36).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from jobledger.sandbox.model.documents import Document, JsonValue, at
from jobledger.sandbox.printing.ages import age, between


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, what stands in it, and whether only `-o wide` shows it."""

    name: str
    cell: Callable[[Document], JsonValue]
    type: str = "string"
    wide: bool = False


def _name(document: Document) -> JsonValue:
    return document["metadata"]["name"]


def _age(document: Document) -> JsonValue:
    return age(document["metadata"].get("creationTimestamp"))


def _pod_status(pod: Document) -> JsonValue:
    """Return the word for a Pod: how its containers wait or ended, else its phase."""
    status = pod.get("status") or {}
    word = status.get("reason") or status.get("phase") or "Unknown"
    for container in reversed(status.get("containerStatuses") or ()):
        state = container.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason"):
            word = waiting["reason"]
        elif ended.get("reason"):
            word = ended["reason"]
        elif ended:
            word = f"ExitCode:{ended.get('exitCode')}"
    return "Terminating" if pod["metadata"].get("deletionTimestamp") else word


def _ready(pod: Document) -> JsonValue:
    ready = sum(bool(c.get("ready")) for c in at(pod, "status", "containerStatuses") or ())
    return f"{ready}/{len(at(pod, 'spec', 'containers') or ())}"


def _restarts(pod: Document) -> JsonValue:
    statuses = at(pod, "status", "containerStatuses") or ()
    return str(sum(int(c.get("restartCount") or 0) for c in statuses))


def _job_status(job: Document) -> JsonValue:
    conditions = {c.get("type"): c.get("status") for c in at(job, "status", "conditions") or ()}
    for word in ("Complete", "Failed"):
        if conditions.get(word) == "True":
            return word
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition, word in (("Suspended", "Suspended"), ("FailureTarget", "FailureTarget")):
        if conditions.get(condition) == "True":
            return word
    return "Running"


def _completions(job: Document) -> JsonValue:
    done = at(job, "status", "succeeded") or 0
    wanted = at(job, "spec", "completions")
    return f"{done}/{1 if wanted is None else wanted}"


def _job_duration(job: Document) -> JsonValue:
    return between(at(job, "status", "startTime"), at(job, "status", "completionTime"))


def _ports(service: Document) -> JsonValue:
    ports = at(service, "spec", "ports") or ()
    return ",".join(f"{p.get('port')}/{p.get('protocol', 'TCP')}" for p in ports) or "<none>"


def _count(field: str) -> Callable[[Document], JsonValue]:
    return lambda document: str(len(document.get(field) or ()))


def _field(*path: str, empty: str = "<none>") -> Callable[[Document], JsonValue]:
    def cell(document: Document) -> JsonValue:
        value = at(document, *path)
        return empty if value in (None, "") else str(value)

    return cell


def _last_seen(event: Document) -> JsonValue:
    for path in (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",)):
        if at(event, *path):
            return age(at(event, *path))
    return age(event.get("firstTimestamp"))


def _about(event: Document) -> JsonValue:
    about = event.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _images(pod_spec: tuple[str, ...]) -> Callable[[Document], JsonValue]:
    return lambda document: ",".join(
        str(container.get("image")) for container in at(document, *pod_spec, "containers") or ()
    )


_NAME: Final = Column("Name", _name)
_AGE: Final = Column("Age", _age)

DEFAULT_COLUMNS: Final = (_NAME, Column("Created At", _field("metadata", "creationTimestamp")))

COLUMNS: Final[dict[tuple[str, str], tuple[Column, ...]]] = {
    ("", "pods"): (
        _NAME,
        Column("Ready", _ready),
        Column("Status", _pod_status),
        Column("Restarts", _restarts),
        _AGE,
        Column("IP", _field("status", "podIP"), wide=True),
        Column("Node", _field("spec", "nodeName"), wide=True),
    ),
    ("batch", "jobs"): (
        _NAME,
        Column("Status", _job_status),
        Column("Completions", _completions),
        Column("Duration", _job_duration),
        _AGE,
        Column("Images", _images(("spec", "template", "spec")), wide=True),
    ),
    ("", "services"): (
        _NAME,
        Column("Type", _field("spec", "type")),
        Column("Cluster-IP", _field("spec", "clusterIP")),
        Column("External-IP", lambda _: "<none>"),
        Column("Port(s)", _ports),
        _AGE,
    ),
    ("", "events"): (
        Column("Last Seen", _last_seen),
        Column("Type", _field("type", empty="")),
        Column("Reason", _field("reason", empty="")),
        Column("Object", _about),
        Column("Source", _field("source", "component", empty=""), wide=True),
        Column("Message", _field("message", empty="")),
        Column("Count", _field("count", empty="1"), wide=True),
        Column("Name", _name, wide=True),
    ),
    ("", "namespaces"): (_NAME, Column("Status", _field("status", "phase")), _AGE),
    ("", "nodes"): (
        _NAME,
        Column(
            "Status",
            lambda node: (
                "Ready"
                if any(
                    c.get("type") == "Ready" and c.get("status") == "True"
                    for c in at(node, "status", "conditions") or ()
                )
                else "NotReady"
            ),
        ),
        Column("Roles", lambda _: "<none>"),
        _AGE,
        Column("Version", _field("status", "nodeInfo", "kubeletVersion", empty="")),
    ),
    ("", "configmaps"): (_NAME, Column("Data", _count("data")), _AGE),
    ("", "secrets"): (
        _NAME,
        Column("Type", _field("type")),
        Column("Data", _count("data")),
        _AGE,
    ),
    ("", "serviceaccounts"): (_NAME, Column("Secrets", _count("secrets")), _AGE),
    ("coordination.k8s.io", "leases"): (
        _NAME,
        Column("Holder", _field("spec", "holderIdentity", empty="")),
        _AGE,
    ),
}
"""By where the objects are stored; kinds without an entry show name and creation."""
