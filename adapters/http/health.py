"""`/healthz`, `/readyz` and `/metrics` of a running service."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

WaitsFor = Callable[[], list[str]]
Troubles = Callable[[], list[str]]
Notes = Callable[[], list[str]]


def health_app(
    is_alive: Callable[[], bool],
    waits_for: WaitsFor,
    registry: CollectorRegistry,
    troubles: Troubles = list,
    notes: Notes = list,
) -> Starlette:
    """Return the application.

    `/healthz` fails only if the process should be restarted; `/readyz` says what is missing, adds
    the errors that were met, and heals by itself. What concerns some jobs only is noted there, and
    says nothing against the service. All are answered without a thread of those that the API's
    requests wait for.
    """
    measuring = ThreadPoolExecutor(1, "metrics")

    async def healthz(request: Request) -> Response:
        del request
        alive = is_alive()
        return JSONResponse({"alive": alive}, status_code=200 if alive else 500)

    async def readyz(request: Request) -> Response:
        del request
        missing = waits_for()
        body: dict[str, object] = {"ready": not missing, "waits_for": missing}
        if missing and (errors := troubles()):
            body["errors"] = errors
        if told := notes():
            body["notes"] = told
        return JSONResponse(body, status_code=503 if missing else 200)

    async def metrics(request: Request) -> Response:
        del request
        loop = asyncio.get_running_loop()
        told = await loop.run_in_executor(measuring, generate_latest, registry)
        return Response(told, media_type=CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", metrics),
        ]
    )
