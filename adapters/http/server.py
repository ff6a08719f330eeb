"""Serves an ASGI application from a thread of its own."""

import asyncio
import socket
import ssl
import threading
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from jobledger.adapters.http.handshake import Handshake
from jobledger.adapters.http.patience import HEAD_SECONDS, patient_protocol
from jobledger.core.errors import JobledgerError

START_SECONDS_MAX = 10.0

TICK_SECONDS = 1.0
"""So often an idle server wakes, for the date in its answers; uvicorn's own wakes ten times."""

ELSEWHERE = (
    "choose another with --port or JOBLEDGER_PORT (0: any free one), --host or JOBLEDGER_HOST"
)
"""What to do about an address that cannot be served on."""


class CannotServe(JobledgerError):
    """The address cannot be served on: it is taken, not allowed, or not of this machine."""

    def __init__(self, host: str, port: int, error: OSError, settings: str) -> None:
        self.host, self.port = host, port
        why = (error.strerror or str(error)).partition(" (while")[0]  # Python adds the address
        super().__init__(f"cannot serve on {host}:{port}: {why}; {settings}")


def _protocol(head_seconds: float, tls: ssl.SSLContext | None) -> Any:  # noqa: ANN401 see below
    """Return what makes the protocol of a connection: uvicorn calls it as it would a class.

    `tls` is a context of the caller's: its certificate changes while it serves.
    """
    patient = patient_protocol(head_seconds)
    if tls is None:
        return patient

    def secured(**given: Any) -> Handshake:  # noqa: ANN401 uvicorn's own
        return Handshake(tls, patient.waiting, head_seconds, partial(patient, **given))

    return secured


class _Server(uvicorn.Server):
    """Sleeps until it is to end, but for the date."""

    _loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Serve until `end`."""
        self._ending = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), TICK_SECONDS)

    def end(self) -> None:
        """End, if it has begun; called from another thread."""
        self.should_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._ending.set)


class HttpServer:
    """uvicorn in a thread; signals stay with the main thread. With `tls` it serves HTTPS.

    Raises:
        CannotServe: nobody can listen on that host and port.
    """

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        head_seconds: float = HEAD_SECONDS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        try:
            self._socket = listening(host, port)
        except OSError as error:
            raise CannotServe(host, port, error, ELSEWHERE) from error
        self.url = url_of("https" if tls is not None else "http", self._socket, host)
        config = uvicorn.Config(
            app,
            http=_protocol(head_seconds, tls),
            log_config=None,
            access_log=False,
            lifespan="off",
        )
        config.load()
        self._server = _Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="http", daemon=True
        )

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """End; requests under way are finished."""
        self._server.end()
        if self._thread.is_alive():
            self._thread.join(START_SECONDS_MAX)
        self._socket.close()


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there: over IPv6 if the host is such an address.

    On `::` it takes connections over IPv4 as well, where the system can do both. What is written
    goes out at once (TCP_NODELAY, which Linux hands on to each connection): else the kernel holds
    back the second part of an answer until the client has acknowledged the first, which many do
    only after 40 ms. asyncio sets it by itself only on sockets that name TCP as their protocol.

    Raises:
        OSError: nobody can listen on that host and port.
    """
    is_six = ":" in host
    made = socket.create_server(
        (host, port),
        family=socket.AF_INET6 if is_six else socket.AF_INET,
        dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6(),
    )
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def url_of(scheme: str, made: socket.socket, host: str) -> str:
    """Return the address of such a socket, by the name of the host as it was given."""
    port = made.getsockname()[1]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
