"""A Kubernetes-style API server in this process, over HTTP, with its storage in memory.

For `kubectl`, the official client and our own tests; it accepts any credentials.
"""

import asyncio
import socket
import threading
from types import TracebackType
from typing import Final, Self

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from jobledger.adapters.http.server import listening
from jobledger.sandbox.faults import Faults
from jobledger.sandbox.http.application import Application
from jobledger.sandbox.http.endpoint import CUT

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0
GRACEFUL_SECONDS: Final = 1
"""How long answers that are under way may take when the server stops."""
IDLE_SECONDS: Final = 90
"""How long a connection is kept that nobody uses. Source: IdleTimeout of kube-apiserver.

uvicorn's own 5 s end it just when a client that asks every 5 s is sending its next request.
"""
BACKLOG: Final = 1024
"""Connections that may wait to be accepted."""


class SandboxApi:
    """The server. Everything it knows is gone when it stops.

    Args:
        host: Loopback by default: there is no authentication.
        port: 0 chooses a free one.
        faults: Switches to make things go wrong.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, *, faults: Faults | None = None
    ) -> None:
        self.faults = faults or Faults()
        self._host, self._port = host, port
        self._application: Application | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Return where the server answers, without a trailing slash; known once it has started."""
        return f"http://{self._host}:{self._port}"

    def start(self) -> None:
        """Serve from a thread of its own; return once requests are answered.

        Raises:
            OSError: the port is taken.
            TimeoutError: it did not start in time.
        """
        made = listening(self._host, self._port)
        self._port = made.getsockname()[1]
        application = self._application = Application(self.faults)
        config = uvicorn.Config(
            application.asgi(),
            http=_CuttableProtocol,
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            backlog=BACKLOG,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
        )
        server = self._server = _Server(config)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(application, server, made)),
            name="sandbox-api",
            daemon=True,
        )
        self._thread.start()
        if not server.ready.wait(START_SECONDS):
            raise TimeoutError(f"the sandbox API did not start within {START_SECONDS} s")

    def stop(self) -> None:
        """End watches and connections, then the thread. Calling it twice does no harm."""
        if self._thread is None or self._server is None or self._application is None:
            return
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._application.close)
        self._server.should_exit = True
        self._thread.join(STOP_SECONDS)
        self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def _serve(
        self, application: Application, server: "_Server", made: socket.socket
    ) -> None:
        self._loop = asyncio.get_running_loop()
        application.begin()
        await server.serve(sockets=[made])


class _Server(uvicorn.Server):
    """uvicorn, with a sign that it has begun to answer."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self.ready.set()


class _CuttableProtocol(H11Protocol):
    """HTTP whose requests can cut their own connection, for faults."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        """Take a new connection and tell its requests how to cut it."""
        super().connection_made(transport)
        self.app = _with_cut(self.app, transport)


def _with_cut(inner: ASGIApp, transport: asyncio.Transport) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        extensions = {**(scope.get("extensions") or {}), CUT: transport.abort}
        await inner({**scope, "extensions": extensions}, receive, send)

    return app
