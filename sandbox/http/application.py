"""The whole API as one ASGI application: storage, kinds, garbage collection, faults, errors."""

import asyncio
from collections.abc import Callable, Coroutine
from http import HTTPMethod, HTTPStatus
from typing import Final

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from jobledger.sandbox.admission.builtin_kinds import BUILTIN_KINDS, CRDS, NAMESPACES
from jobledger.sandbox.admission.definitions import bundled_definitions, kinds_of
from jobledger.sandbox.faults import Fault, Faults
from jobledger.sandbox.http.discovery import discovery
from jobledger.sandbox.http.endpoint import CUT, JSON, Endpoint
from jobledger.sandbox.http.openapi import openapi
from jobledger.sandbox.model.documents import Document, encode
from jobledger.sandbox.model.field_ownership import Writer
from jobledger.sandbox.model.kinds import Kind, Kinds, StorageKey
from jobledger.sandbox.model.refusals import Refusal, not_within_pods, page_not_found
from jobledger.sandbox.model.storage import Change, Storage
from jobledger.sandbox.model.targets import Target, target_of
from jobledger.sandbox.model.write_options import WriteOptions
from jobledger.sandbox.writing.creation import create
from jobledger.sandbox.writing.garbage import GarbageCollector

FIRST_NAMESPACES: Final = ("default", "jobledger", "kube-public", "kube-system")
HEALTH_PATHS: Final = ("/healthz", "/livez", "/readyz")
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")

_ALLOWED: Final = {
    "kind": "SelfSubjectAccessReview",
    "apiVersion": "authorization.k8s.io/v1",
    "metadata": {},
    "spec": {},
    "status": {"allowed": True, "reason": "the sandbox allows everything"},
}

_log = structlog.get_logger()

OPENAPI_V2: Final = "/openapi/v2"
ASKED_OF_V2: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTOBUF_OF_V2: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""In this form kubectl asks for it where a file holds a List; no bytes are an empty document.

It is asked for by a name that is no media type, and answered by one that is.
"""

WITHIN_PODS = ("/exec", "/attach", "/portforward")
"""Ends of addresses at which a kubelet would be asked."""


class Application:
    """Everything behind the HTTP door."""

    def __init__(self, faults: Faults) -> None:
        self._storage, self._kinds = Storage(), Kinds(BUILTIN_KINDS)
        self._faults = faults
        self._endpoint = Endpoint(self._storage, self._kinds, faults)
        self._collector = GarbageCollector(self._storage, self._kinds)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = asyncio.Event()
        self._storage.on_change = self._changed
        self._fill()

    def asgi(self) -> Starlette:
        """Return the application to serve."""
        return Starlette(routes=[Route("/{path:path}", self._handle, methods=list(METHODS))])

    def begin(self) -> None:
        """Take note of the running loop: garbage is collected in it."""
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._collect)

    def close(self) -> None:
        """End all watches and all requests kept waiting on purpose. Call it in the loop."""
        self._closing.set()
        for watcher in tuple(self._endpoint.watchers):
            watcher.close()

    def _fill(self) -> None:
        """Create what is there from the start: namespaces and our own kinds."""
        for name in FIRST_NAMESPACES:
            self._put_first(NAMESPACES, {"metadata": {"name": name}})
        for definition in bundled_definitions():
            self._put_first(CRDS, definition)

    def _put_first(self, kind: Kind, document: Document) -> None:
        writer = Writer(name="sandbox", operation="Update", api_version=kind.api_version)
        create(self._storage, Target(kind=kind), document, WriteOptions(writer=writer))

    def _changed(self, key: StorageKey, change: Change) -> None:
        """Follow each change of storage: kinds come and go, garbage arises."""
        if key == CRDS.storage:
            self._define(change)
        if self._collector.note(key, change) and self._loop is not None:
            self._loop.call_soon_threadsafe(self._collect)

    def _define(self, change: Change) -> None:
        crd = change.version.document
        storage = (crd["spec"]["group"], crd["spec"]["names"]["plural"])
        self._kinds.withdraw(storage)
        if change.type != "DELETED":
            self._kinds.serve(kinds_of(crd))
            return
        for version in self._storage.versions(storage):
            metadata = version.document["metadata"]
            self._storage.remove(storage, (metadata.get("namespace", ""), metadata["name"]))

    def _collect(self) -> None:
        if self._collector.collect() and self._loop is not None and not self._closing.is_set():
            self._loop.call_soon(self._collect)

    async def _handle(self, request: Request) -> Response:
        """Answer one request, after the fault that waits for it, if any."""
        fault = self._faults.take(request.method, request.scope["path"])
        if fault is None:
            return await self._answer(request)
        if fault.damage == "delay":
            await self._pause(asyncio.sleep(fault.delay_seconds))
            return await self._answer(request)
        if fault.damage == "answer":
            return _failure(fault)
        if fault.after_commit:
            await self._answer(request)
        if fault.damage == "cut":
            cut: Callable[[], None] = request.scope["extensions"][CUT]
            cut()
        else:
            await self._pause(_disconnected(request))
        return Response()

    async def _pause(self, waiting: Coroutine[None, None, None]) -> None:
        """Wait for something, or until the server closes."""
        tasks = {asyncio.create_task(waiting), asyncio.create_task(self._closed())}
        _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()

    async def _closed(self) -> None:
        await self._closing.wait()

    async def _answer(self, request: Request) -> Response:
        """Answer one request; refusals and mistakes of ours become `Status` objects."""
        try:
            return await self._dispatch(request)
        except Refusal as refusal:
            return Response(encode(refusal.status), refusal.code, media_type=JSON)
        except Exception as error:  # noqa: BLE001 one request's bug must not end the others' server
            _log.exception("sandbox_request_failed", path=request.scope["path"])
            code = HTTPStatus.INTERNAL_SERVER_ERROR
            failure = Refusal(code, "InternalError", f"Internal error: {error!r}")
            return Response(encode(failure.status), code, media_type=JSON)

    async def _dispatch(self, request: Request) -> Response:
        path = request.scope["path"]
        if path.rstrip("/") in HEALTH_PATHS:
            return PlainTextResponse("ok")
        if path == ACCESS_REVIEWS and request.method == HTTPMethod.POST:
            return Response(encode(_ALLOWED), HTTPStatus.CREATED, media_type=JSON)
        target = target_of(path, self._kinds)
        if target is not None:
            return await self._endpoint.serve(request, target)
        if path == OPENAPI_V2 and ASKED_OF_V2 in request.headers.get("accept", ""):
            return Response(b"", media_type=PROTOBUF_OF_V2)
        document = openapi(path, self._kinds) or discovery(path, self._kinds)
        if document is None:
            raise not_within_pods() if path.endswith(WITHIN_PODS) else page_not_found()
        return Response(encode(document), media_type=JSON)


def _failure(fault: Fault) -> Response:
    """Return the error a fault asks for."""
    reasons = {429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
    headers = {}
    details: Document = {}
    if fault.retry_after_seconds is not None:
        headers["Retry-After"] = str(fault.retry_after_seconds)
        details["retryAfterSeconds"] = fault.retry_after_seconds
    message = "the sandbox was told to answer so"
    refusal = Refusal(fault.code, reasons.get(fault.code, "Unknown"), message, details)
    return Response(encode(refusal.status), fault.code, media_type=JSON, headers=headers)


async def _disconnected(request: Request) -> None:
    """Wait until the client has given up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
