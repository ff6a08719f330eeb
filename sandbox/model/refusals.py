"""How the API server says no: every refusal is a `Status` object with code, reason and details.

Source: k8s.io/apimachinery pkg/api/errors and pkg/util/validation/field (v0.36): the sentences and
reasons clients and people look for.
"""

from dataclasses import dataclass
from http import HTTPStatus

from jobledger.sandbox.model.documents import Document, JsonValue, encode
from jobledger.sandbox.model.kinds import Kind


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with one field."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class Refusal(Exception):
    """A request is answered with a `Status` of failure."""

    def __init__(
        self, code: int, reason: str, message: str, details: Document | None = None
    ) -> None:
        self.code, self.reason, self.message, self.details = code, reason, message, details or {}
        super().__init__(message)

    @property
    def status(self) -> Document:
        """Return the `Status` object that is sent."""
        status: Document = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = self.details
        return status | {"code": self.code}


def shown(value: JsonValue) -> str:
    """Return a value as Go's field errors show it: strings quoted, the rest as JSON."""
    return encode(value).decode()


def required(field: str, detail: str = "") -> FieldError:
    """Return the error of a field that is missing."""
    message = f"Required value: {detail}" if detail else "Required value"
    return FieldError(field, "FieldValueRequired", message)


def wrong(field: str, value: JsonValue, detail: str) -> FieldError:
    """Return the error of a field whose value breaks a rule."""
    return FieldError(field, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def mistyped(field: str, found: str, wanted: str) -> FieldError:
    """Return the error of a field of the wrong JSON type."""
    detail = f'{field} in body must be of type {wanted}: "{found}"'
    return FieldError(field, "FieldValueTypeInvalid", f'Invalid value: "{found}": {detail}')


def unsupported(field: str, value: JsonValue, allowed: list[JsonValue]) -> FieldError:
    """Return the error of a field whose value is not one of an enumeration."""
    choices = ", ".join(shown(choice) for choice in allowed)
    message = f"Unsupported value: {shown(value)}: supported values: {choices}"
    return FieldError(field, "FieldValueNotSupported", message)


def untouchable(field: str, detail: str) -> FieldError:
    """Return the error of a field that may not be set (so)."""
    return FieldError(field, "FieldValueForbidden", f"Forbidden: {detail}")


def _details(kind: Kind, name: str, **more: JsonValue) -> Document:
    details = {"name": name, "group": kind.group, "kind": kind.plural} | more
    return {key: value for key, value in details.items() if value not in ("", None)}


def not_found(kind: Kind, name: str) -> Refusal:
    """Return the answer for an object that does not exist."""
    message = f'{kind.resource} "{name}" not found'
    return Refusal(HTTPStatus.NOT_FOUND, "NotFound", message, _details(kind, name))


def page_not_found() -> Refusal:
    """Return the answer for an address at which nothing is served."""
    return Refusal(
        HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource"
    )


def not_within_pods() -> Refusal:
    """Return the answer to whoever wants a connection into a Pod, with what can be done instead."""
    return Refusal(
        HTTPStatus.NOT_FOUND,
        "NotFound",
        "the sandbox does no exec, attach or port-forward: its containers are processes of this "
        "machine, and their ports are at the podIP of the Pod",
    )


def exists(kind: Kind, name: str) -> Refusal:
    """Return the answer for a name that is taken."""
    message = f'{kind.resource} "{name}" already exists'
    return Refusal(HTTPStatus.CONFLICT, "AlreadyExists", message, _details(kind, name))


def conflict(kind: Kind, name: str, why: str) -> Refusal:
    """Return the answer for a request that names another version or another object."""
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return Refusal(HTTPStatus.CONFLICT, "Conflict", message, _details(kind, name))


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
"""What a stale resourceVersion is answered with."""


def invalid(kind: Kind, name: str, errors: list[FieldError]) -> Refusal:
    """Return the answer for an object that breaks rules of its kind."""
    listed = ", ".join(dict.fromkeys(str(error) for error in errors))
    text = f"[{listed}]" if len(errors) > 1 else listed
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details = _details(kind, name) | {
        "kind": kind.kind,
        "causes": [
            {"reason": error.reason, "message": error.message, "field": error.field}
            for error in errors
        ],
    }
    message = f'{qualified} "{name}" is invalid: {text}'
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def unprocessable(why: str) -> Refusal:
    """Return the answer for a patch that cannot be carried out."""
    details = {"causes": [{"reason": "UnexpectedServerResponse", "message": why}]}
    message = "the server rejected our request due to an error in our request"
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def bad_request(why: str) -> Refusal:
    """Return the answer for a request that makes no sense."""
    return Refusal(HTTPStatus.BAD_REQUEST, "BadRequest", why)


def failed(why: str) -> Refusal:
    """Return the answer where a real API server fails for want of a better word; it has no reason.

    Source: k8s.io/apiserver pkg/storage/etcd3 `ErrResourceVersionSetOnCreate` (v0.36).
    """
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "", why)


def forbidden(kind: Kind, name: str, why: str, causes: list[Document] | None = None) -> Refusal:
    """Return the answer for what nobody may do."""
    message = f'{kind.resource} "{name}" is forbidden: {why}'
    details = _details(kind, name, causes=causes)
    return Refusal(HTTPStatus.FORBIDDEN, "Forbidden", message, details)


def method_not_allowed() -> Refusal:
    """Return the answer for a verb that the resource does not know."""
    message = "the server does not allow this method on the requested resource"
    return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", message)


def not_acceptable() -> Refusal:
    """Return the answer for a client that reads nothing we can write."""
    message = "only the following media types are accepted: application/json"
    return Refusal(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message)


def unsupported_media_type(accepted: list[str]) -> Refusal:
    """Return the answer for a body in a format that is not understood here."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
    return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)


def expired(asked: int | str, oldest: int) -> Refusal:
    """Return the answer for a resourceVersion whose history is no longer there."""
    message = f"too old resource version: {asked} ({oldest})"
    return Refusal(HTTPStatus.GONE, "Expired", message)


def continue_expired() -> Refusal:
    """Return the answer for a page of a list that is no longer kept."""
    message = (
        "The provided continue parameter is too old to display a consistent list result. "
        "You must start a new list without the continue parameter."
    )
    return Refusal(HTTPStatus.GONE, "Expired", message)


def from_the_future(asked: int, current: int) -> Refusal:
    """Return the answer for a resourceVersion that has not been given out yet."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return Refusal(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message, details)
