"""Health and metrics are told while readers wait for a database that does not answer."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import urllib3
from prometheus_client import CollectorRegistry
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from jobledger.adapters.http.health import health_app
from jobledger.adapters.http.server import HttpServer

READERS = 60
"""More than the threads that answer them all."""

PROBE_SECONDS = 5.0
"""The chart's; Prometheus waits for ten."""


@pytest.fixture
def url() -> Iterator[str]:
    """A service all of whose threads for readers wait."""
    answering, waiting = threading.Event(), threading.Semaphore(0)

    def slow(request: Request) -> Response:
        del request
        waiting.release()
        answering.wait(60)
        return Response()

    app = health_app(lambda: True, list, CollectorRegistry())
    app.router.routes.append(Route("/slow", slow))
    server = HttpServer(app, "127.0.0.1", 0)
    server.start()
    with ExitStack() as stack:
        stack.callback(server.stop)
        stack.callback(answering.set)
        for _ in range(READERS):
            reader = threading.Thread(target=urllib3.request, args=("GET", f"{server.url}/slow"))
            reader.start()
            stack.callback(reader.join, 60)
        stack.callback(answering.set)
        for _ in range(READERS // 2):
            assert waiting.acquire(timeout=60)
        yield server.url


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_what_probes_ask_waits_for_no_reader(url: str, path: str) -> None:
    """Metrics waited until the readers had given up, so that no alert could tell of the outage."""
    answer = urllib3.request("GET", url + path, retries=False, timeout=PROBE_SECONDS)
    assert answer.status == 200
