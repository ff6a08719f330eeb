"""Ends a call in time, whatever the other side does.

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
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from jobledger.adapters.ray.targets import addresses_of

SHORTEST_WAIT_SECONDS = 0.001
"""A socket reads a timeout of 0 as "do not wait", which is another error."""


IDLE_SECONDS = 4.0
"""Servers close what was idle for 5 s (uvicorn) to 75 s (aiohttp, which Ray uses); a request sent
in that very moment would be lost, so we are faster.
"""


def seconds_left(ends: float) -> float:
    """Return how long the next wait may be, in seconds; `ends` is on the monotonic clock.

    Raises:
        TimeoutError: the time is up.
    """
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time for the whole call is up")
    return max(left, SHORTEST_WAIT_SECONDS)


def connect(host: str, port: int, ends: float) -> socket.socket:
    """Connect in time; each address of the name that is still to be tried has an equal share of it.

    Raises:
        OSError: no address takes a connection, or it can be no head's; `socket.gaierror`: the name
        has none.
    """
    found = addresses_of(host, port)
    for place, address in enumerate(found, start=1):
        to_try = len(found) - place + 1
        share = max(seconds_left(ends) / to_try, SHORTEST_WAIT_SECONDS)
        try:
            return socket.create_connection((str(address[0]), port), share)
        except OSError:
            if place == len(found):
                raise
    raise OSError("the name has no address")


class DeadlineSocket(socket.socket):
    """A connected socket whose waits end at one instant."""

    ends: float = 0.0
    """On the monotonic clock, in seconds."""

    def recv(self, *arguments: Any, **options: Any) -> bytes:  # noqa: ANN401 -- as in the library
        """Receive, within what is left of the time."""
        self.settimeout(seconds_left(self.ends))
        return super().recv(*arguments, **options)

    def sendall(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 -- as in the library
        """Send everything, within what is left of the time."""
        self.settimeout(seconds_left(self.ends))
        super().sendall(*arguments, **options)


class DeadlineConnection(HTTPConnection):
    """A connection each of whose calls has a time, answer included."""

    _ends: float = 0.0
    _last_used: float = 0.0

    def begin(self, seconds: float) -> None:
        """Begin a call: be open, and end within so many seconds."""
        now = time.monotonic()
        self._ends = now + seconds
        if now - self._last_used > IDLE_SECONDS:
            self.close()
        self._last_used = now
        if self.is_closed:
            self.connect()
        if isinstance(self.sock, DeadlineSocket):
            self.sock.ends = self._ends

    def connect(self) -> None:
        """Connect, and bound what follows."""
        super().connect()
        connected = DeadlineSocket(fileno=self.sock.detach())
        connected.ends = self._ends
        self.sock = connected

    def _new_conn(self) -> socket.socket:
        """Connect, in the time of the whole call; errors are the library's."""
        try:
            made = connect(self._dns_host, self.port, self._ends)
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except TimeoutError as error:
            raise ConnectTimeoutError(self, f"no connection to {self.host} in time") from error
        except OSError as error:
            raise NewConnectionError(self, f"no new connection: {error}") from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made


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
