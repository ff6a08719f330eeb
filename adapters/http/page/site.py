"""The routes of the pages, and what becomes of their errors."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from jobledger.adapters.http.api.application import NotFound
from jobledger.adapters.http.api.parameters import BadRequest
from jobledger.adapters.http.page import evidence, job, ledger, listing, reports, views
from jobledger.adapters.http.page.parts import PageParts
from jobledger.adapters.http.page.rendering import HEADERS, HERE, PREFIX, of_request, problem_page
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import JobledgerError, LedgerUnavailable

Handler = Callable[[PageParts, Request], Response]

PAGES: tuple[tuple[str, Handler], ...] = (
    ("/jobs/{stream}", job.story),
    ("/jobs/{stream}/moment", job.moment),
    ("/jobs/{stream}/evidence", evidence.listed),
    ("/jobs/{stream}/manifest", views.manifest),
    ("/jobs/{stream}/decisions", views.decisions),
    ("/jobs/{stream}/what-if", views.what_if),
    ("/evidence/{digest}", evidence.shown),
    ("/evidence/{digest}/download", evidence.download),
    ("/pending", ledger.pending),
    ("/health", ledger.health),
    ("/compare", ledger.compare_jobs),
    ("/reports", reports.listed),
    ("/reports/{name}", reports.asked_for),
    ("/reports/{name}/csv", reports.as_csv),
)

ASSET_SECONDS = 86_400
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

log = get_logger(__name__)


class Assets:
    """Style and scripts, which hold nothing of the ledger: from memory, without a thread.

    Their folder is named after what all of them hold, so that a browser that kept some of another
    version takes none of them beside the new ones.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    async def __call__(self, request: Request) -> Response:
        """Return a file with the headers of every page, to be kept for a day."""
        name = request.path_params["name"]
        content = self._files.get(name)
        if content is None:
            raise HTTPException(404)
        headers = {**HEADERS, "Cache-Control": f"public, max-age={ASSET_SECONDS}, immutable"}
        return Response(content, media_type=TYPES[Path(name).suffix], headers=headers)


def page_routes(parts: PageParts) -> list[BaseRoute]:
    """Return the routes of the pages."""
    listed: Handler = partial(listing.jobs, listing.Counts(time.monotonic))
    inside = [
        Route("/", _to_jobs),
        *(Route(path, partial(_served, parts, what)) for path, what in (("/jobs", listed), *PAGES)),
        Route("/static/{mark}/{name}", Assets(HERE / "static").__call__),
    ]
    handlers = {HTTPException: _refused, Exception: _failed}
    pages = Starlette(routes=inside, exception_handlers=handlers)
    return [Route("/", _to_jobs), Mount(PREFIX, pages)]


def _to_jobs(request: Request) -> Response:
    del request
    return RedirectResponse(f"{PREFIX}/jobs", status_code=303, headers=dict(HEADERS))


def _served(parts: PageParts, handler: Handler, request: Request) -> Response:
    def told(status: int, title: str, detail: str) -> Response:
        return problem_page(status, title, detail, **of_request(request))

    try:
        request.scope["stale"] = parts.stale_since()
        return handler(parts, request)
    except BadRequest as error:
        return told(400, "That makes no sense", f"{error}.")
    except NotFound as error:
        return told(404, "Not here", str(error))
    except LedgerUnavailable as error:
        log.warning("page_without_ledger", path=request.url.path, error=str(error))
        return told(503, "The ledger does not answer", "Postgres cannot be reached now.")
    except JobledgerError as error:
        log.warning("page_failed", path=request.url.path, error=str(error))
        return told(500, "The ledger cannot be read", str(error))


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = "There is no such page" if error.status_code == 404 else error.detail  # noqa: PLR2004  # HTTP's
    signed_in = request.scope.get("signed_in", False)
    answer = problem_page(
        error.status_code, title, "Look for it from the list of jobs.", signed_in=signed_in
    )
    answer.headers.update(error.headers or {})
    return answer


def _failed(request: Request, error: Exception) -> Response:
    """Return that a page cannot be made, of an error that nobody foresaw: a bug."""
    log.error("page_broken", path=request.url.path, error=repr(error))
    return problem_page(500, "This page is broken", "The log of the program says why.")
