"""How long an HTTPS server waits for a TLS handshake, and for how many at once.

asyncio waits 60 seconds for each and for any number: whoever opens connections and sends nothing
takes every file descriptor of the process, and nobody else is answered. Here a connection in its
handshake is one that asks for nothing: it waits in the same queue, and the oldest makes way.
"""

import asyncio
import ssl
from collections.abc import Callable

from jobledger.adapters.http.patience import Queue

TLS_ALERT_SECONDS = 5.0
"""So long the other side may take to say that it has heard the end of a connection."""


class Early(asyncio.Protocol):
    """Keeps what comes between the end of the handshake and the protocol that reads it."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.ended = self.lost = False

    def data_received(self, data: bytes) -> None:
        """Keep a piece."""
        self.received.append(data)

    def eof_received(self) -> None:
        """Keep that there is no more."""
        self.ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Keep that there is nobody to read for."""
        del exc
        self.lost = True


class Handshake(asyncio.Protocol):
    """A connection until its handshake is made; then `serving` reads what it sends."""

    def __init__(
        self,
        context: ssl.SSLContext,
        waiting: Queue,
        seconds: float,
        serving: Callable[[], asyncio.Protocol],
    ) -> None:
        """Take a queue of connections that ask for nothing, and how long a handshake may take."""
        self.loop = asyncio.get_running_loop()
        self._context, self._waiting, self._seconds = context, waiting, seconds
        self._serving = serving
        self._transport: asyncio.Transport | None = None
        self._making: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake; nothing is read before it."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.pause_reading()
        self._waiting.enter(self)
        self._making = self.loop.create_task(self._make(transport))

    def close(self) -> None:
        """End the connection, wherever its handshake is."""
        self._waiting.leave(self)
        if self._transport is not None:
            self._transport.abort()

    async def _make(self, transport: asyncio.Transport) -> None:
        early = Early()
        try:
            secured = await self.loop.start_tls(
                transport,
                early,
                self._context,
                server_side=True,
                ssl_handshake_timeout=self._seconds,
                ssl_shutdown_timeout=TLS_ALERT_SECONDS,
            )
        except (OSError, asyncio.CancelledError):  # ssl.SSLError and TimeoutError are of the first
            secured = None
        finally:
            self._waiting.leave(self)
        if secured is None or early.lost:
            transport.abort()
            return
        self._hand_over(secured, early)

    def _hand_over(self, secured: asyncio.Transport, early: Early) -> None:
        serving = self._serving()
        secured.set_protocol(serving)
        serving.connection_made(secured)
        for piece in early.received:
            serving.data_received(piece)
        if early.ended and not serving.eof_received():
            secured.close()
