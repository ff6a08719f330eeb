"""Serves AdmissionReviews over HTTP: parses the request, judges the object, answers.

A review that cannot be read gets a 400 that says why; one that cannot be judged now (the API server
does not answer) a 503. In both cases the webhook's failurePolicy decides about the object.
Source: Kubernetes' admission.k8s.io/v1.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.admission import Verdict
from jobledger.core.values.documents import Json, Manifest, child, text

BYTES_MAX = 8 * 1024 * 1024
"""Longest review: the API server takes objects of 3 MB, and an update carries two of them."""

ALL_BYTES_MAX = 4 * BYTES_MAX
"""So many bytes of reviews are held at once: read, each may take twenty times its length."""

BODY_SECONDS = 10.0
"""So long a review may take to come: the API server sends it at once."""

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
FORBIDDEN = 403

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is said of one object."""

    verdict: Verdict
    patch: tuple[Manifest, ...] = ()
    """Changes of the object (RFC 6902)."""


Handler = Callable[[Manifest, Manifest | None], Answer]
"""Decides about an object as it would be, and as it is (None where it is created)."""


class Unreadable(Exception):
    """The body is no AdmissionReview; the text says what is wrong."""


class TooMany(Exception):  # named as a sentence, like the core's
    """More reviews are under way than there is room for."""


class Held:
    """The bytes of all reviews that are under way. For the server's thread alone."""

    def __init__(self) -> None:
        self._bytes = 0

    def grow(self, by: int) -> None:
        """Take note of more bytes, or of fewer; raise `TooMany` where there is no room for them."""
        self._bytes += by
        if by > 0 and self._bytes > ALL_BYTES_MAX:
            raise TooMany


@dataclass(frozen=True, slots=True)
class Review:
    """One question."""

    uid: str
    new: Manifest
    old: Manifest | None


def webhook_app(by_path: Mapping[str, Handler]) -> Starlette:
    """Return the application; each handler answers at its path.

    `/healthz` says that it is served.
    """

    async def healthz(request: Request) -> Response:
        del request
        return JSONResponse({"alive": True})

    held = Held()
    hooks = [
        Route(path, _endpoint(handler, held), methods=["POST"]) for path, handler in by_path.items()
    ]
    return Starlette(routes=[Route("/healthz", healthz), *hooks])


def _endpoint(handler: Handler, held: Held) -> Callable[[Request], object]:
    async def answered(request: Request) -> Response:
        body = bytearray()
        try:
            await _read(request, body, held)
            return await _judged(request, bytes(body))
        except Unreadable as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        except TooMany:
            said = "too many reviews are under way; ask again"
            return JSONResponse({"error": said}, status_code=503)
        finally:
            held.grow(-len(body))

    async def _judged(request: Request, body: bytes) -> Response:
        review = read_review(body)
        try:
            answer = await run_in_threadpool(handler, review.new, review.old)
        except ClusterError as error:
            log.warning("review_not_decided", path=request.url.path, why=str(error))
            return JSONResponse({"error": f"cannot be judged now: {error}"}, status_code=503)
        return Response(written(review_of(review, answer)), media_type="application/json")

    return answered


async def _read(request: Request, body: bytearray, held: Held) -> None:
    """Read the body of a request; what came of it counts as held, whatever is raised."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                held.grow(len(chunk))
                if len(body) > BYTES_MAX:
                    raise Unreadable(f"the review is longer than {BYTES_MAX} bytes")
    except (TimeoutError, ClientDisconnect) as error:
        raise Unreadable("the review did not come in time") from error


def read_review(body: bytes) -> Review:
    """Return the question that a body holds.

    Raises:
        Unreadable: it holds none.
    """
    try:
        read: Json = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unreadable("the body is no JSON") from error
    document = child(read)
    if text(document, "kind") != KIND or text(document, "apiVersion") != API_VERSION:
        raise Unreadable(f"the body is no {KIND} of {API_VERSION}")
    request = child(document, "request")
    uid, new, old = text(request, "uid"), request.get("object"), request.get("oldObject")
    if not uid or not isinstance(new, Mapping):
        raise Unreadable("request.uid and request.object are needed")
    return Review(uid, new, old if isinstance(old, Mapping) else None)


def written(answer: Manifest) -> str:
    """Return an answer as JSON in ASCII: what it quotes may hold halves of characters."""
    return json.dumps(answer)


def review_of(review: Review, answer: Answer) -> Manifest:
    """Return the answer as the API server reads it."""
    verdict = answer.verdict
    response: dict[str, Json] = {"uid": review.uid, "allowed": not verdict.refusal}
    if verdict.refusal:
        response["status"] = {"message": verdict.refusal, "reason": "Forbidden", "code": FORBIDDEN}
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if answer.patch and not verdict.refusal:
        patch = json.dumps(answer.patch).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}
