"""How does a call end in time, whatever the other side does?

urllib3's timeouts bound each wait for a byte; a head that sends one byte a second could hold a
thread for ever. Here each wait gets what is left of the time of the whole call. The lookup of the
name is bounded by the resolver (resolv.conf), as everywhere.
"""

import socket
import time
from collections.abc import Mapping
from typing import Any

from urllib3 import HTTPConnectionPool, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection

SHORTEST_WAIT_SECONDS = 0.001
"""A socket reads a timeout of 0 as "do not wait", which is another error."""


IDLE_SECONDS = 4.0
"""Servers close what was idle for 5 s (uvicorn) to 75 s (aiohttp, which Ray uses); a request sent
in that very moment would be lost, so we are faster.
"""


class DeadlineSocket(socket.socket):
    """A connected socket whose waits end at one instant."""

    ends: float = 0.0
    """On the monotonic clock, in seconds."""

    def recv_into(self, *arguments: Any, **options: Any) -> int:  # noqa: ANN401 -- as in the library
        """Receive, within what is left of the time."""
        self._limit()
        return super().recv_into(*arguments, **options)

    def sendall(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 -- as in the library
        """Send everything, within what is left of the time."""
        self._limit()
        super().sendall(*arguments, **options)

    def _limit(self) -> None:
        """Bound the next wait; raise if the time is up."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time for the whole call is up")
        self.settimeout(max(left, SHORTEST_WAIT_SECONDS))


class DeadlineConnection(HTTPConnection):
    """A connection that reads its timeout as the time of the whole call, answer included."""

    _ends: float = 0.0
    _last_used: float = 0.0

    def request(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 -- as in the library
        """Send a request; its time begins here."""
        now = time.monotonic()
        self._ends = now + (self.timeout or 0.0)
        if now - self._last_used > IDLE_SECONDS:
            self.close()  # and it is opened anew below
        self._last_used = now
        if isinstance(self.sock, DeadlineSocket):
            self.sock.ends = self._ends
        super().request(*arguments, **options)

    def connect(self) -> None:
        """Connect, and bound what follows."""
        super().connect()
        connected = DeadlineSocket(fileno=self.sock.detach())
        connected.ends = self._ends
        self.sock = connected


class _DeadlinePool(HTTPConnectionPool):
    """Connections to one head."""

    ConnectionCls = DeadlineConnection  # type: ignore[mutable-override]  # how urllib3 has it set


def direct_pools(pools: int, connections: int) -> PoolManager:
    """Return keep-alive pools to at most `pools` heads, with `connections` each."""
    manager = PoolManager(num_pools=pools, maxsize=connections)
    manager.pool_classes_by_scheme = {"http": _DeadlinePool}
    return manager


def proxy_pool(proxy: str, headers: Mapping[str, str], connections: int) -> PoolManager:
    """Return a pool of `connections` to a proxy, which is told who we are by `headers`."""
    manager = ProxyManager(proxy, maxsize=connections, proxy_headers=headers)
    manager.pool_classes_by_scheme = {"http": _DeadlinePool}
    return manager
