"""Maps answers of the API server, or their absence, to the core's errors.

Only a body of `kind: Status` is quoted, and cut: what a proxy or a login page writes may hold
anything, secrets included, so it is dropped. Of a failed connection the operating system's word
for it is quoted, never an address (a proxy's may hold a password).
"""

import re
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from kubernetes.config import ConfigException

from jobledger.core import errors
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import parse_http_date

MAX_MESSAGE = 800
"""Characters; enough for what a webhook says of one object, too few for a manifest."""

MAX_RETRY_AFTER_SECONDS = 300.0
"""No server may silence us for longer than this."""

_RENEW = (
    "the API server does not take our credentials: renew the token, or the client certificate, of "
    "the kubeconfig or service account"
)

_TLS_REMEDIES = {
    "certificate has expired": "its certificate has expired; renew it",
    "not yet valid": "its certificate is not valid yet; look at the clocks",
    "Hostname mismatch|IP address mismatch": (
        "its certificate is another host's; correct the server in the kubeconfig, or the "
        "certificate"
    ),
    "CERTIFICATE_VERIFY_FAILED": (
        "nothing in the certificate authority of the kubeconfig vouches for its certificate; "
        "correct certificate-authority"
    ),
    "NO_CERTIFICATE_OR_CRL_FOUND|KEY_VALUES_MISMATCH|PEM lib|NO_START_LINE|"
    "No such file|Is a directory|Permission denied": (
        "a certificate or key that the kubeconfig names cannot be used"
    ),
    "ALERT_(UNKNOWN_CA|.*CERTIFICATE)|CERTIFICATE_REQUIRED": (
        "it refuses our client certificate; renew it"
    ),
    "WRONG_VERSION_NUMBER|HTTP_REQUEST": (
        "it speaks no TLS; correct the server, or the proxy, in the kubeconfig"
    ),
}
"""What OpenSSL says of a connection, and what somebody has to do about it."""

_NOT_SERVED = b"404 page not found"
"""What the API server itself writes, as plain text, for a group or kind it does not serve."""

_PATH_OF_A_KIND = re.compile(r"/apis/([^/]+)/([^/]+)/(?:namespaces/[^/]+/)?([^/?]+)")

_DENIED = re.compile(r'^admission webhook ".*" denied the request')
"""What the API server says where a webhook refused, which may choose code and reason."""

_UNTYPED = "failed to create typed patch object"
"""What the API server says, with 500, to an apply with a field that its schema lacks or has in
another form. Source: structured-merge-diff; tried on 1.36.
"""

_UNDECLARED = "field not declared in schema"
"""What it says besides, with 500, where the object as it is has a field that a version lacks in
which somebody wrote it. Source as above.
"""

_LOG_FILE = (
    rb"[^\"\n]{1,400}/(?:[^/\"\n]{1,260}_[^/\"\n]{1,260}_[0-9a-f-]{32,36}/[^/\"\n]{1,260}/\d{1,9}\.log"
    rb"|[0-9a-f]{64}-json\.log)"
)
"""Where a kubelet, or Docker below it, keeps what containers write, in whichever folder."""

_NO_LOG = re.compile(
    rb"unable to retrieve container logs for [\w.+-]{1,40}://\S{0,300}|container status is nil|"
    rb"failed to (?:try resolving symlinks in path|open log file|tail \d{1,9} lines of log file|"
    rb"seek -?\d{1,20} in log file|read log file) \"" + _LOG_FILE + rb"\": [^\n]{1,600}|"
    rb"failed to get parse function: unsupported log format: [^\n]{1,600}"
)
"""What a kubelet writes in place of a log, as a success: it has promised one before it looks.
Source: kubelet, GetKubeletContainerLogs (a write of nothing, since Kubernetes 1.32) and cri-client,
ReadLogs; tried on 1.34 with containerd.
"""

_SAY_NOTHING = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
"""Of a webhook they do not mean that an object is gone, or that nobody knows us."""

_THROTTLED = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


class UnreadableAnswer(errors.ClusterUnreachable):
    """The answer is not what the API serves: no JSON, no object, or cut off."""


class StatusCause(msgspec.Struct):
    """One entry of `details.causes`."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct):
    """The part of a Status that programs read."""

    retryAfterSeconds: float = 0  # noqa: N815  # the name on the wire
    causes: list[StatusCause] = []


class Status(msgspec.Struct):
    """A `v1 Status`, the body of every error of the API server and of a watch's ERROR event."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


_status = msgspec.json.Decoder(Status)  # made here: msgspec may not learn a class in two threads


def answer_error(
    what: str, code: int, headers: Mapping[str, str], body: bytes, path: str = ""
) -> errors.ClusterError:
    """Return the error that an HTTP answer other than 2xx stands for; `what` was asked, at `path`.

    Of a kind that is not served it names the definition that is missing.
    """
    status = read_status(body)
    if status is None and code == HTTPStatus.NOT_FOUND and body.strip() == _NOT_SERVED:
        return errors.KindNotServed(_cut(f"{what}: 404: {_missing_kind(path)}"))
    if status is None:
        return _foreign_error(what, code, headers)
    return status_error(what, status, code=code, retry_after=_retry_after(headers))


def status_error(
    what: str, status: Status, *, code: int = 0, retry_after: float | None = None
) -> errors.ClusterError:
    """Return the error that a Status stands for, in an answer or in a watch."""
    code = code or status.code
    sentence = _cut(f"{what}: {code} {status.reason}: {status.message}")
    if code in _SAY_NOTHING and _DENIED.search(status.message):
        return errors.RequestForbidden(sentence)
    if retry_after is None and status.details is not None and status.details.retryAfterSeconds:
        retry_after = min(status.details.retryAfterSeconds, MAX_RETRY_AFTER_SECONDS)
    if status.reason in {"Expired", "Gone"} or _is_from_another_time(status):
        return errors.VersionExpired(sentence)
    if code == HTTPStatus.CONFLICT and status.reason == "AlreadyExists":
        return errors.ObjectExists(sentence)
    if code == HTTPStatus.UNPROCESSABLE_ENTITY and _is_of_another_object(status):
        return errors.ObjectChanged(sentence)
    if status.message.startswith(_UNTYPED):
        return errors.RequestInvalid(sentence)
    if _UNDECLARED in status.message:
        return errors.WrittenInAnotherVersion(sentence)
    return _by_code(code, sentence, retry_after)


def event_error(what: str, reported: Manifest) -> errors.ClusterError:
    """Return the error that the object of a watch's ERROR event stands for."""
    try:
        status = msgspec.convert(reported, Status)
    except msgspec.ValidationError:
        return unreadable(what, "an ERROR event without a Status")
    return status_error(what, status)


def log_error(what: str, content: bytes) -> errors.RequestInvalid | None:
    """Return the error that stands in place of a container's log; None: it is the log.

    So it is where the run that is asked for was removed: of each container a node keeps the last
    one that has ended.
    """
    if len(content) > 2 * MAX_MESSAGE or not _NO_LOG.fullmatch(content.strip()):
        return None
    return errors.RequestInvalid(_cut(f"{what}: {content.decode(errors='replace').strip()}"))


def transport_error(what: str, failure: BaseException) -> errors.ClusterUnreachable:
    """Return the error for a request that got no (complete) answer."""
    if isinstance(failure, ConfigException):
        return errors.NoWayToCluster(_cut(f"{what}: {failure}"))
    remedy = _remedy(failure)
    if remedy:
        return errors.NoWayToCluster(_cut(f"{what}: {remedy} ({_word_for(failure)})"))
    return errors.ClusterUnreachable(_cut(f"{what}: no answer: {_word_for(failure)}"))


def unreadable(what: str, problem: str) -> UnreadableAnswer:
    """Return the error for an answer that makes no sense; `problem` is in our own words."""
    return UnreadableAnswer(_cut(f"{what}: the answer cannot be read: {problem}"))


def read_status(body: bytes) -> Status | None:
    """Return the Status in `body`, or None if it is anything else."""
    try:
        status = _status.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return status if status.kind == "Status" else None


def _missing_kind(path: str) -> str:
    """Return what the API server lacks, by a path such as /apis/GROUP/VERSION/namespaces/NS/PLURAL.

    One of another shape is no path of a kind.
    """
    found = _PATH_OF_A_KIND.match(path)
    if found is None:
        return "the API server serves nothing there"
    group, version, plural = found.groups()
    told = f"the API server does not serve {plural} of {group}/{version}"
    if "." not in group or group.endswith(".k8s.io"):  # Kubernetes' own
        return told
    return f"{told}: the CRD {plural}.{group} is not installed, or does not serve that version"


def _foreign_error(what: str, code: int, headers: Mapping[str, str]) -> errors.ClusterError:
    """Judge an answer that has no Status: it comes from a proxy, or from the API's outer door."""
    sentence = _cut(f"{what}: {code}, and no Status in the answer")
    if code == HTTPStatus.NOT_FOUND:
        # Whoever wrote this is no API server, so it says nothing about the object: taken for an
        # answer it would have a running job's cluster believed gone.
        return errors.ClusterUnreachable(sentence)
    return _by_code(code, sentence, _retry_after(headers))


def _by_code(code: int, sentence: str, retry_after: float | None) -> errors.ClusterError:
    match code:
        case HTTPStatus.NOT_FOUND:
            return errors.ObjectNotFound(sentence)
        case HTTPStatus.CONFLICT:
            return errors.ObjectChanged(sentence)
        case HTTPStatus.GONE:
            return errors.VersionExpired(sentence)
        case HTTPStatus.UNAUTHORIZED:
            # Says nothing about what was asked for, so that nothing may follow from it for a job.
            return errors.NoWayToCluster(_cut(f"{sentence}; {_RENEW}"))
        case HTTPStatus.FORBIDDEN:
            return errors.RequestForbidden(sentence)
        case _ if code in _THROTTLED:
            return errors.RequestThrottled(sentence, retry_after)
        case _ if HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR:
            return errors.RequestInvalid(sentence)
        case _:
            return errors.ClusterUnreachable(sentence)


def _is_of_another_object(status: Status) -> bool:
    """Tell whether a patch named a UID that the object of that name does not have.

    Source: Kubernetes judges the UID in a PUT or DELETE as a precondition (409), but in a patch as
    an attempt to change an immutable field (422 on `metadata.uid`).
    """
    causes = status.details.causes if status.details is not None else ()
    return any(cause.field == "metadata.uid" for cause in causes)


def _is_from_another_time(status: Status) -> bool:
    """Tell whether the server is behind the resourceVersion that was asked for.

    Source: `ResourceVersionTooLarge`, sent as 504 by API servers whose etcd was restored from a
    backup; waiting does not help, listing anew does.
    """
    causes = status.details.causes if status.details is not None else ()
    return any(cause.reason == "ResourceVersionTooLarge" for cause in causes)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header in either of its forms, or None."""
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return min(float(value), MAX_RETRY_AFTER_SECONDS)
    # Judged by the server's own clock, so that ours does not matter.
    until, now = parse_http_date(value), parse_http_date(headers.get("Date", ""))
    if until is None or now is None:
        return None
    return min(max((until - now).total_seconds(), 0.0), MAX_RETRY_AFTER_SECONDS)


def _remedy(failure: BaseException) -> str:
    """Return what is to be put right about TLS, or nothing where it may go by."""
    said = _word_for(failure)
    if "SSL" not in said:
        return ""
    found = (told for sign, told in _TLS_REMEDIES.items() if re.search(sign, said))
    return next(found, "")


def _word_for(failure: BaseException) -> str:
    """Return the operating system's word for the failure if it has one, else its kind."""
    link: BaseException | None = failure
    for _ in range(5):  # chains of urllib3 are two or three long
        if isinstance(link, OSError) and link.strerror:
            return f"{type(failure).__name__}: {link.strerror}"
        nested = next((a for a in getattr(link, "args", ()) if isinstance(a, BaseException)), None)
        link = nested or (link.__cause__ or link.__context__ if link is not None else None)
    return type(failure).__name__


def _cut(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_MESSAGE else sentence[: MAX_MESSAGE - 1] + "…"
