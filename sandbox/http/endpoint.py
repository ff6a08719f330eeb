"""What one HTTP request asks of the API, and how its answer is sent."""

from collections.abc import AsyncIterator
from http import HTTPMethod, HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from jobledger.sandbox.faults import Faults
from jobledger.sandbox.http.listing import Lister
from jobledger.sandbox.http.pod_logs import fetch_log, log_address
from jobledger.sandbox.http.protobuf import MEDIA_TYPE, decode_protobuf
from jobledger.sandbox.http.representations import Representation, representation
from jobledger.sandbox.http.watch import WatchDropped, Watcher, watch_options
from jobledger.sandbox.model.documents import (
    Document,
    JsonValue,
    UnreadableDocument,
    copy_of,
    decode_body,
    encode,
)
from jobledger.sandbox.model.kinds import Kinds
from jobledger.sandbox.model.queries import is_asked
from jobledger.sandbox.model.refusals import bad_request, conflict, method_not_allowed, not_found
from jobledger.sandbox.model.storage import Storage, Version
from jobledger.sandbox.model.targets import Target
from jobledger.sandbox.model.write_options import WriteOptions, write_options
from jobledger.sandbox.patching.patches import APPLY
from jobledger.sandbox.writing.creation import create
from jobledger.sandbox.writing.deletion import (
    ORPHAN_WARNING,
    delete,
    delete_options,
    preserves_pods,
)
from jobledger.sandbox.writing.patching import apply, patch
from jobledger.sandbox.writing.updates import commit, replacement, update

JSON: Final = "application/json"

CUT: Final = "jobledger.cut"
"""Name of the ASGI extension that cuts the connection a request came on."""


class Endpoint:
    """Carries out requests for objects and collections."""

    def __init__(self, storage: Storage, kinds: Kinds, faults: Faults) -> None:
        self.storage, self.kinds, self.faults = storage, kinds, faults
        self.watchers: set[Watcher] = set()
        self._lister = Lister(storage)

    async def serve(self, request: Request, target: Target) -> Response:
        """Carry out one request.

        Raises:
            Refusal: whatever keeps it from being carried out.
        """
        form = representation(request.headers.get("accept", ""), request.query_params)
        if request.method == HTTPMethod.GET:
            return await self._read(request, target, form)
        body = await _body(request)
        if target.subresource == "binding" and request.method == HTTPMethod.POST:
            return self._bind(target, body)
        match (request.method, bool(target.name)):
            case (HTTPMethod.POST, False):
                return self._create(request, target, body, form)
            case (HTTPMethod.PUT, True):
                options = _options(request, target, "Update")
                edit = replacement(target, body)
                version = update(self.storage, target, edit, options)
                return self._object(target, version, form, options)
            case (HTTPMethod.PATCH, True):
                return self._patch(request, target, body, form)
            case (HTTPMethod.DELETE, True) if not target.subresource:
                return self._delete(request, target, body)
            case (HTTPMethod.DELETE, False):
                return self._delete_collection(request, target, body, form)
            case _:
                raise method_not_allowed()

    async def _read(self, request: Request, target: Target, form: Representation) -> Response:
        query = request.query_params
        if is_asked(query, "watch"):
            return self._watch(request, target, form)
        if not target.name:
            page = self._lister.page(target, query)
            text = form.many(target.kind, page.versions, page.metadata)
            return Response(text, media_type=JSON)
        version = self.storage.get(target.kind.storage, (target.namespace, target.name))
        if version is None:
            raise not_found(target.kind, target.name)
        if target.subresource == "log":
            pieces = await fetch_log(log_address(version.document, query))
            return StreamingResponse(pieces, media_type="text/plain")
        if target.subresource not in ("", "status"):
            raise method_not_allowed()
        return Response(form.one(target.kind, version), media_type=JSON)

    def _watch(self, request: Request, target: Target, form: Representation) -> Response:
        options = watch_options(target, request.query_params)
        watcher = Watcher(self.storage, self.faults, target, options, form)

        async def lines() -> AsyncIterator[bytes]:
            self.watchers.add(watcher)
            try:
                async for piece in watcher.lines():
                    yield piece
            except WatchDropped:
                request.scope["extensions"][CUT]()
            finally:
                self.watchers.discard(watcher)

        return StreamingResponse(lines(), media_type=JSON)

    def _create(
        self, request: Request, target: Target, body: JsonValue, form: Representation
    ) -> Response:
        options = _options(request, target, "Update")
        version = create(self.storage, target, body, options)
        return self._object(target, version, form, options, HTTPStatus.CREATED)

    def _patch(
        self, request: Request, target: Target, body: JsonValue, form: Representation
    ) -> Response:
        content_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if content_type == APPLY:
            options = _options(request, target, "Apply")
            version, is_new = apply(self.storage, target, body, options, request.query_params)
            code = HTTPStatus.CREATED if is_new else HTTPStatus.OK
            return self._object(target, version, form, options, code)
        options = _options(request, target, "Update")
        version = patch(self.storage, target, content_type, body, options)
        return self._object(target, version, form, options)

    def _delete(self, request: Request, target: Target, body: JsonValue) -> Response:
        options = delete_options(request.query_params, body)
        warns = preserves_pods(target.kind) and not options.propagation
        answer = delete(self.storage, target, options)
        headers = _warnings([ORPHAN_WARNING]) if warns else None
        return Response(encode(answer), media_type=JSON, headers=headers)

    def _delete_collection(
        self, request: Request, target: Target, body: JsonValue, form: Representation
    ) -> Response:
        options = delete_options(request.query_params, body)
        page = self._lister.page(target, request.query_params)
        for version in page.versions:
            metadata = version.document["metadata"]
            one = Target(
                kind=target.kind, namespace=metadata.get("namespace", ""), name=metadata["name"]
            )
            if self.storage.get(target.kind.storage, (one.namespace, one.name)):
                delete(self.storage, one, options)
        text = form.many(target.kind, page.versions, page.metadata)
        return Response(text, media_type=JSON)

    def _bind(self, target: Target, body: JsonValue) -> Response:
        """Put a Pod on a node, as a scheduler does."""
        with self.storage.lock:
            found = self.storage.get(target.kind.storage, (target.namespace, target.name))
            if found is None:
                raise not_found(target.kind, target.name)
            node = ((body or {}).get("target") or {}).get("name")
            if not node:
                raise bad_request("target.name: Required value")
            pod = copy_of(found.document)
            if pod["spec"].get("nodeName"):
                why = f'pod {target.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
                raise conflict(target.kind, target.name, why)
            pod["spec"]["nodeName"] = node
            commit(self.storage, target.kind, pod)
        done: Document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return Response(encode(done | {"code": 201}), HTTPStatus.CREATED, media_type=JSON)

    def _object(
        self,
        target: Target,
        version: Version,
        form: Representation,
        options: WriteOptions,
        code: HTTPStatus = HTTPStatus.OK,
    ) -> Response:
        text = form.one(target.kind, version)
        return Response(text, code, media_type=JSON, headers=_warnings(options.warnings))


async def _body(request: Request) -> JsonValue:
    """Return the decoded body of a request; None if it has none."""
    try:
        raw = await request.body()
        if request.headers.get("content-type", "").startswith(MEDIA_TYPE):
            return decode_protobuf(raw)
        return decode_body(raw) if raw else None
    except UnreadableDocument as error:
        raise bad_request(str(error)) from error


def _options(request: Request, target: Target, how: str) -> WriteOptions:
    agent = request.headers.get("user-agent", "")
    return write_options(target, request.query_params, agent, how)


def _warnings(texts: list[str]) -> dict[str, str] | None:
    """Return the header in which warnings travel, or None."""
    quoted = ", ".join(
        '299 - "' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts
    )
    return {"Warning": quoted} if quoted else None
