"""Checks that Pods of TrainJobs can report their progress to `jobledger trainer-status`.

They are made where the settings let the controller tell Pods of that server.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from cryptography import x509

from jobledger.adapters.kube.checks.cluster import ClusterView
from jobledger.adapters.kube.checks.endpoints import is_answered, ready_endpoints
from jobledger.adapters.kube.checks.rights import TRAINER_STATUS, Right, Wants, rights
from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.forensics.findings import Check, Finding, error, note, warning
from jobledger.core.ports.cluster import CONFIGMAPS, PODS, SERVICES, Resource
from jobledger.core.trainjob.plugins.trainer_status import AUTHORITY
from jobledger.core.values.counted import counted
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.instants import rfc3339

ENDS_SOON_DAYS = 30
"""So long before its end an authority is told of; the server makes a new one by then."""

_URL, _AUTHORITY = "JOBLEDGER_TRAINER_STATUS_URL", "JOBLEDGER_TRAINER_STATUS_AUTHORITY"
_HTTPS_PORT = 443
_ADMINISTRATOR = "nothing has to be done; an administrator sees more"
_RENEW = (
    "`jobledger trainer-status` makes another 30 days before while it runs; with --cert-dir, have "
    "the certificate there renewed. TrainJobs that run trust the old one: their Pods report no more"
)
_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview")
_OF_NO_NAMESPACE = "tokenreviews"


def authority(view: ClusterView) -> Iterator[Finding]:
    """Yield what keeps Pods from trusting the server: no authority, or one that ends."""
    if not is_told(view.wants):
        return
    namespace, name = view.wants.status_authority
    called = f"ConfigMap {namespace}/{name}"
    try:
        found = view.cluster.get(CONFIGMAPS, namespace, name) if namespace and name else None
    except RequestForbidden:
        what = f"{called} may not be read: whether Pods can trust trainer-status is unknown"
        yield note("progress-authority", what, _ADMINISTRATOR)
        return
    pem = text(found, "data", AUTHORITY)
    if not pem:
        what = f"{called} with {AUTHORITY} is not there: TrainJobs are not built"
        remedy = (
            f"run `jobledger trainer-status`, which makes it, or let {_AUTHORITY} name "
            f"namespace/name of another, or leave {_URL} empty"
        )
        yield error("progress-authority", what, remedy)
        return
    yield from _judged(view, f"{AUTHORITY} of {called}", pem)


def _judged(view: ClusterView, called: str, pem: str) -> Iterator[Finding]:
    now = view.now()
    try:
        known = x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        what = f"{called} is no certificate: no Pod can report"
        remedy = (
            "`jobledger trainer-status` puts it right within a minute while it runs; with "
            "--cert-dir, have a certificate (PEM) as ca.crt there"
        )
        yield error("progress-authority", what, remedy)
        return
    begun = [one.not_valid_after_utc for one in known if one.not_valid_before_utc <= now]
    if not begun:
        first = min(one.not_valid_before_utc for one in known)
        what = f"{called} is not valid before {rfc3339(first)}: no Pod can report"
        yield error("progress-authority", what, "see whether the clock that made it is right")
        return
    end = max(begun)
    if end <= now:
        what = f"{called} ended at {rfc3339(end)}: no Pod can report"
        yield error("progress-authority", what, _RENEW)
    elif (left := end - now).days < ENDS_SOON_DAYS:
        what = f"{called} ends at {rfc3339(end)}, in {counted(left.days, 'day')}"
        yield warning("progress-authority", what, _RENEW)


def server(view: ClusterView) -> Iterator[Finding]:
    """Yield what keeps the reports of Pods from a server: no address, Service or endpoint."""
    if not is_told(view.wants):
        return
    url = view.wants.status_url
    address = _address(url)
    if address is None:
        what = f"{_URL} is {url}, which is no https:// address without a path: no Pod can report"
        yield error("progress-server", what, "name it as the Service of ops/trainer-status.yaml is")
        return
    place = _place(address[0])
    if place is None:
        what = f"{_URL} names {address[0]}, which is no Service: whether somebody answers there "
        what += "is unknown"
        yield note("progress-server", what, "nothing has to be done if Pods can reach it")
        return
    called = f"Service {'/'.join(place)}"
    try:
        found = view.cluster.get(SERVICES, *place)
        if found is None:
            what = f"{called}, named by {_URL}, is not there: no Pod can report"
            yield error("progress-server", what, "kubectl apply -f ops/trainer-status.yaml")
        elif not _has_port(found, address[1]):
            what = f"{called} has no port {address[1]}, named by {_URL}: no Pod can report"
            yield error("progress-server", what, f"let {_URL} name a port that it has")
        elif not _is_elsewhere(found) and not is_answered(view.cluster, *place):
            what = f"nobody answers for {called}, which has no ready endpoint: reports of Pods are "
            what += "lost"
            remedy = (
                "start `jobledger trainer-status` there, or see why it is not ready; if that was "
                f"switched off for good, leave {_URL} empty"
            )
            yield error("progress-server", what, remedy)
    except (ObjectNotFound, RequestForbidden):  # the former: no endpoints, as the sandbox
        what = f"{called} or its endpoints may not be read: whether somebody answers is unknown"
        yield note("progress-server", what, _ADMINISTRATOR)


def server_rights(view: ClusterView) -> Iterator[Finding]:
    """Yield the rights that the server lacks: those of the account that its ready Pods run as."""
    address = _address(view.wants.status_url) if is_told(view.wants) else None
    place = _place(address[0]) if address is not None else None
    if place is None:
        return
    try:
        for account in sorted(_accounts(view, *place)):
            for right in rights(TRAINER_STATUS):
                if not _may(view, place[0], account, right):
                    what = f"ServiceAccount {place[0]}/{account} of trainer-status may not "
                    what += right.words
                    remedy = (
                        "kubectl apply -f ops/trainer-status.yaml, and run the server as its "
                        "service account"
                    )
                    yield error("progress-rights", what, remedy)
    except (ObjectNotFound, RequestForbidden):
        what = "what trainer-status may do cannot be asked: whether it has its rights is unknown"
        yield note("progress-rights", what, _ADMINISTRATOR)


def is_told(wants: Wants) -> bool:
    """Return whether Pods of TrainJobs are told of a server."""
    return bool(wants.status_url) and "TrainJob" in wants.kinds and not wants.only_records


def _address(url: str) -> tuple[str, int] | None:
    """Return host and port of an address that Pods can post to; None if it is none."""
    try:
        parts = urlsplit(url)
        port = parts.port or _HTTPS_PORT
    except ValueError:
        return None
    is_plain = parts.path in {"", "/"} and not parts.query and not parts.fragment
    if parts.scheme != "https" or not parts.hostname or not is_plain:
        return None
    return parts.hostname, port


def _place(host: str) -> tuple[str, str] | None:
    """Return namespace and name of the Service that a host is; None if it is none."""
    name, _, rest = host.partition(".")
    namespace, _, domain = rest.partition(".")
    return (namespace, name) if domain == "svc" or domain.startswith("svc.") else None


def _has_port(service: Manifest, port: int) -> bool:
    if _is_elsewhere(service) or text(service, "spec", "clusterIP") == "None":
        return True  # whatever port is asked for, the call arrives as it is
    return any(number(one, "port") == port for one in items(service, "spec", "ports"))


def _is_elsewhere(service: Manifest) -> bool:
    """Return whether a Service is but another name of a host."""
    return text(service, "spec", "type") == "ExternalName"


def _accounts(view: ClusterView, namespace: str, service: str) -> set[str]:
    """Return the service accounts of the Pods that answer for a Service."""
    pods = {
        text(endpoint, "targetRef", "name")
        for endpoint in ready_endpoints(view.cluster, namespace, service)
        if text(endpoint, "targetRef", "kind") == PODS.kind
    }
    found = [view.cluster.get(PODS, namespace, pod) for pod in pods]
    return {text(pod, "spec", "serviceAccountName") or "default" for pod in found if pod}


def _may(view: ClusterView, home: str, account: str, right: Right) -> bool:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{home}", "system:authenticated")
    user = f"system:serviceaccount:{home}:{account}"
    in_namespaces = right.resource != _OF_NO_NAMESPACE and tuple(view.namespaces)
    for namespace in in_namespaces or ("",):
        about = right.attributes(namespace)
        asked: Manifest = {"user": user, "groups": groups, "resourceAttributes": about}
        answer = view.cluster.create(_REVIEWS, {"metadata": {}, "spec": asked})
        if child(answer, "status").get("allowed") is not True:
            return False
    return True


CHECKS: tuple[Check[ClusterView], ...] = (
    Check(
        name="progress-authority",
        asks="Can Pods of TrainJobs trust the trainer-status server, and for the next 30 days?",
        run=authority,
    ),
    Check(
        name="progress-server",
        asks="Does somebody answer where Pods of TrainJobs report their progress?",
        run=server,
    ),
    Check(
        name="progress-rights",
        asks="May the trainer-status server do what ops/trainer-status.yaml grants?",
        run=server_rights,
    ),
)
