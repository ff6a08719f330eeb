"""The endpoint that Pods of TrainJobs post their progress to. Answers are upstream's.

Source: Trainer v2.3, pkg/statusserver.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from jobledger.adapters.kinds.trainjob.progress.speakers import Speakers, TooManyTokens
from jobledger.adapters.kinds.trainjob.progress.writing import Report, TooManyReports, Writer
from jobledger.adapters.serving.bearer import bearer_token
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import ClusterError, KindNotServed, ObjectNotFound, RequestInvalid
from jobledger.core.trainjob.reports import PATH, ReportRefused, read_report
from jobledger.core.values.documents import Json

BYTES_MAX = 64 * 1024
"""Longest body; upstream's."""
BODY_SECONDS = 10.0
"""So long a body may take; upstream's."""
WRITTEN_SECONDS = 4.0
"""So long a report may take until it is written; the Kubeflow SDK waits five seconds."""
RETRY_SECONDS = 5
LATER = {429, 503}
"""Codes with which a Pod is told when to come again."""

log = get_logger(__name__)


class Refused(Exception):  # named as a sentence, like the core's
    """A request that is answered with a Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        self.code, self.reason, self.message = code, reason, message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What the requests need."""

    speakers: Speakers
    writer: Writer
    may_speak: Callable[[str], bool]
    """Whether a TrainJob (its UID) may be heard again already; counts the question."""
    not_written: Repeated = field(
        default_factory=lambda: Repeated(log, "report_not_written", time.monotonic)
    )
    not_judged: Repeated = field(
        default_factory=lambda: Repeated(log, "token_not_judged", time.monotonic)
    )

    def app(self) -> Starlette:
        """Return the application; `/healthz` says that it is served."""
        handlers = {Refused: _refused, HTTPException: _not_found}
        path = PATH.format(namespace="{namespace}", name="{name}")
        routes = [
            Route("/healthz", _healthz),
            Route(path, self._posted, methods=["POST"]),
        ]
        return Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type] # as documented

    async def _posted(self, request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > BYTES_MAX:
            raise _too_large()
        namespace, name = request.path_params["namespace"], request.path_params["name"]
        uid = await self._speaker(request, namespace, name)
        if not self.may_speak(uid):
            raise Refused(429, "TooManyRequests", "report at most once in five seconds")
        body = await _body(request)
        try:
            asked: Json = msgspec.json.decode(body)
            shown = read_report(asked)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(422, "Invalid", "Invalid payload") from error
        except ReportRefused as error:
            raise Refused(422, "Invalid", str(error)) from error
        if shown is None:
            return JSONResponse({})
        report = Report(namespace=namespace, name=name, uid=uid, trainer_status=shown)
        await self._written(report)
        return JSONResponse({"trainerStatus": shown})

    async def _written(self, report: Report) -> None:
        """Return once the report, or a newer one of its job, is in the status."""
        try:
            async with asyncio.timeout(WRITTEN_SECONDS):
                await asyncio.wrap_future(self.writer.take(report))
        except TooManyReports as error:
            raise Refused(429, "TooManyRequests", "too many jobs report; try later") from error
        except (TimeoutError, KindNotServed) as error:
            raise Refused(503, "ServiceUnavailable", "not written yet; report again") from error
        except ObjectNotFound as error:
            raise Refused(404, "NotFound", "Train job not found") from error
        except RequestInvalid as error:
            raise Refused(422, "Invalid", str(error)) from error
        except ClusterError as error:
            self.not_written.warn_of_one(error, job=report.key)
            raise Refused(500, "InternalError", "Internal error") from error

    async def _speaker(self, request: Request, namespace: str, name: str) -> str:
        token = bearer_token(request.headers.get("authorization", ""))
        address = request.client.host if request.client is not None else ""
        try:
            uid = await run_in_threadpool(self.speakers.job_of, token, namespace, name, address)
        except TooManyTokens as error:
            raise Refused(429, "TooManyRequests", "too many unknown tokens were sent") from error
        except ClusterError as error:
            self.not_judged.warn_of_one(error, namespace=namespace)
            raise Refused(500, "InternalError", "Internal error") from error
        if not uid:
            raise Refused(403, "Forbidden", "Forbidden")
        return uid


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BYTES_MAX:
                    raise _too_large()
    except (TimeoutError, ClientDisconnect) as error:
        raise Refused(408, "Timeout", "the body did not come in time") from error
    return bytes(body)


def _too_large() -> Refused:
    return Refused(413, "RequestEntityTooLarge", "Payload too large")


async def _healthz(request: Request) -> Response:
    del request
    return JSONResponse({"alive": True})


async def _refused(request: Request, error: Refused) -> Response:
    del request
    return _status(error.code, error.reason, error.message)


async def _not_found(request: Request, error: HTTPException) -> Response:
    del request, error
    return _status(404, "NotFound", "Not found")


def _status(code: int, reason: str, message: str) -> Response:
    said = {"status": "Failure", "message": message, "reason": reason, "code": code}
    headers = {"Retry-After": str(RETRY_SECONDS)} if code in LATER else None
    return JSONResponse({"metadata": {}, **said}, status_code=code, headers=headers)
