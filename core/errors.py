"""The errors that the core and its ports raise.

    JobledgerError
    ├── LedgerError               the event log
    │   ├── BrokenChain           an event does not continue its stream's chain
    │   ├── UnknownEventType      written by a newer version, or never released
    │   ├── LedgerUnavailable     Postgres cannot be reached or refuses for now
    │   └── LedgerMisconfigured   wrong address, schema too old or too new, missing permission
    ├── ClusterError              the Kubernetes API, by what someone does differently
    │   ├── ObjectNotFound        404
    │   │   └── KindNotServed     404 for the whole kind: it says nothing of an object
    │   ├── ObjectExists          409 AlreadyExists
    │   ├── ObjectChanged         409 Conflict: stale resourceVersion or UID
    │   ├── VersionExpired        410: list anew
    │   ├── RequestForbidden      403 (quota refusals included)
    │   ├── RequestInvalid        400, 415, 422: repeating it will not help
    │   │   └── WrittenInAnotherVersion  500 to an apply: whose fields are whose is not to be told
    │   ├── RequestThrottled      429, 503 with Retry-After, 504: later
    │   └── ClusterUnreachable    no answer, an unreadable answer, or 5xx
    │       └── NoWayToCluster    401, no address, no trust: somebody has to change something
    └── RayApiError               the Ray job API
        ├── RayJobNotFound        404
        ├── RayJobRefused         the API answered that it will not
        └── RayApiUnreachable     no answer in time, or one that makes no sense

Each takes facts, builds its own sentence (what, where, what to do) and keeps the facts as
attributes.
No HTTP status, SQLSTATE or exit code here: the edges map them.
"""

from collections.abc import Mapping


class JobledgerError(Exception):
    """Anything that Jobledger raises on purpose. It can be handed from one process to another."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return what an equal error is made of: the sentence is not what a class takes."""
        return _as_it_was, (type(self), self.args, vars(self))


def _as_it_was(
    kind: type[JobledgerError], args: tuple[object, ...], facts: Mapping[str, object]
) -> JobledgerError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(facts)
    return error


class LedgerError(JobledgerError):
    """Anything about the event log."""


class BrokenChain(LedgerError):
    """An event does not continue the chain of its stream."""

    def __init__(self, where: str, problem: str) -> None:
        self.where, self.problem = where, problem
        super().__init__(f"{where}: {problem}")


class UnknownEventType(LedgerError):
    """The log holds an event this version cannot read."""

    def __init__(self, event_type: str, schema_version: int) -> None:
        self.event_type, self.schema_version = event_type, schema_version
        super().__init__(
            f"event type {event_type} in schema version {schema_version} is not known here; "
            "it was written by a newer jobledger: upgrade this one"
        )


class LedgerUnavailable(LedgerError):
    """The log cannot be reached or written for now; the same call may succeed later."""


class LedgerMisconfigured(LedgerError):
    """The log will not work until somebody changes something."""


class ClusterError(JobledgerError):
    """Anything the Kubernetes API answers, or fails to answer.

    The message is cut and holds no foreign body.
    """


class ObjectNotFound(ClusterError):
    """There is no such object (or kind)."""


class KindNotServed(ObjectNotFound):
    """The kind is not served in this version: in another its objects may be there all the same."""


class ObjectExists(ClusterError):
    """An object of that name is there already."""


class ObjectChanged(ClusterError):
    """The object is no longer at the resourceVersion, or of the UID, that the request named."""


class VersionExpired(ClusterError):
    """The watch cannot be resumed from that resourceVersion; list anew."""


class RequestForbidden(ClusterError):
    """The caller may not do this: no permission, or a quota refuses."""


class RequestInvalid(ClusterError):
    """The API server refuses the object or the request itself; repeating it will not help."""


class WrittenInAnotherVersion(RequestInvalid):
    """Somebody wrote the object in a version of its kind that lacks some of its fields.

    No apply is taken until something else has been written.
    """


class RequestThrottled(ClusterError):
    """The API server asks for a pause."""

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class ClusterUnreachable(ClusterError):
    """No answer, an answer that cannot be read, or a server's internal error."""


class NoWayToCluster(ClusterUnreachable):
    """No address, no credentials that the API server takes, or no trust in it: change them.

    It says nothing of the object that was asked for.
    """


class RayApiError(JobledgerError):
    """Anything the Ray job API answers, or fails to answer."""


class RayJobNotFound(RayApiError):
    """The head does not know this submission id."""


class RayJobRefused(RayApiError):
    """The head understood the request and will not do it."""


class RayApiUnreachable(RayApiError):
    """No answer in time, or one that makes no sense."""
