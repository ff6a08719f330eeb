"""A bad line: a proxy that a test puts between a client and a server, and then spoils.

`FaultProxy` passes bytes on, whatever they mean. Each connection has a thread per direction. What
spoils the line (`refuse`, `hold`, `half_open`, `reset`, `slow_down`) holds until `restore`. A
`Tap` reads along and may cut a connection at a place that only its protocol knows.
`http_fault_proxy` and `postgres_fault_proxy` know two protocols.
"""

import contextlib
import socket
import struct
import threading
import time
from enum import Enum, auto
from types import TracebackType
from typing import Protocol, Self

CHUNK_BYTES = 65536
CONNECT_SECONDS = 30.0
JOIN_SECONDS = 60.0
"""Limit for the threads to end; they end at once unless something is wrong here."""


class LineCut(Exception):
    """The connection is over, because the line was spoiled or an end has gone away."""


class _State(Enum):
    OPEN = auto()
    HELD = auto()
    HALF_OPEN = auto()


class Tap(Protocol):
    """Reads along one connection. Each method returns what to pass on, or None to cut."""

    def up(self, data: bytes) -> bytes | None:
        """Take what the client sent."""

    def down(self, data: bytes) -> bytes | None:
        """Take what the server sent."""


class _NoTap:
    def up(self, data: bytes) -> bytes | None:
        return data

    def down(self, data: bytes) -> bytes | None:
        return data


class Connection:
    """A client's connection and, once there is one, that to the server."""

    def __init__(self, client: socket.socket) -> None:
        self.client = client
        self.server: socket.socket | None = None
        self.is_orphan = False
        """Whether the server is gone and the client does not know."""
        self._closing = threading.Lock()
        self._closed = False

    def connect(self, host: str, port: int) -> socket.socket:
        """Connect to the server; raise `LineCut` if this was closed meanwhile, or `OSError`."""
        server = socket.create_connection((host, port), CONNECT_SECONDS)
        server.settimeout(None)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._closing:
            if not self._closed and not self.is_orphan:
                self.server = server
                return server
        server.close()
        raise LineCut

    def orphan(self) -> None:
        """Take the server away without telling the client."""
        with self._closing:
            self.is_orphan = True
        if self.server is not None:
            _shut(self.server)

    def interrupt(self) -> None:
        """Wake up the threads that read; they close."""
        _shut(self.client)
        if self.server is not None:
            _shut(self.server)

    def close(self, *, rudely: bool = False) -> None:
        """Close both ends, with a reset (RST) for the client if it is done rudely."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        if rudely:
            option = struct.pack("ii", 1, 0)
            with contextlib.suppress(OSError):
                self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
        else:
            _shut(self.client)
        self.client.close()
        if self.server is not None:
            _shut(self.server)
            self.server.close()


class FaultProxy:
    """Passes on what comes to a port of the loopback; a context manager. Safe for many threads."""

    def __init__(self, host: str, port: int) -> None:
        """Take the address of the server; nothing is listened to before `start`."""
        self._upstream = (host, port)
        self._changed = threading.Condition()
        self._state = _State.OPEN
        self._delay_seconds = 0.0
        self._piece_bytes = 0
        self._over = False
        self._connections: set[Connection] = set()
        self._threads: list[threading.Thread] = []
        # It holds the port while nobody listens, so that nobody else is given it.
        self._holder = _bound(0)
        self.port: int = self._holder.getsockname()[1]
        self._listener: socket.socket | None = None

    def tap(self) -> Tap:
        """Return who reads along a new connection."""
        return _NoTap()

    def serve(self, connection: Connection) -> None:
        """Serve one connection to its end, on its own thread; raises `LineCut` or `OSError`."""
        server = connection.connect(*self._upstream)
        tap = self.tap()
        back = self._spawn(lambda: self._pump_back(connection, server, tap))
        try:
            while data := connection.client.recv(CHUNK_BYTES):
                if connection.is_orphan:
                    continue
                wanted = tap.up(data)
                if wanted is None:
                    connection.close(rudely=True)
                    raise LineCut
                self.pass_on(connection, server, wanted)
        finally:
            if not connection.is_orphan:
                _shut(server)
            back.join(JOIN_SECONDS)

    def start(self) -> None:
        """Begin to listen."""
        self._listen()

    def stop(self) -> None:
        """Cut everything and end every thread."""
        self._deafen()
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self.reset()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
            assert not thread.is_alive(), f"{thread.name} goes on"
        self._holder.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.stop()

    def refuse(self) -> None:
        """Cut all connections and refuse new ones."""
        self._deafen()
        self.reset()

    def hold(self) -> None:
        """Pass nothing on in either direction; it arrives late, once the line is restored."""
        self._become(_State.HELD)

    def half_open(self) -> None:
        """Take the server away from every connection, also from new ones, and tell no client."""
        self._become(_State.HALF_OPEN)
        for connection in self._all():
            connection.orphan()

    def reset(self) -> None:
        """Cut all connections with RST; new ones are taken."""
        for connection in self._all():
            connection.interrupt()
            connection.close(rudely=True)

    def slow_down(self, *, delay_seconds: float = 0.0, piece_bytes: int = 0) -> None:
        """Let everything wait before it is passed on, and pass it on in small pieces."""
        with self._changed:
            self._delay_seconds, self._piece_bytes = delay_seconds, piece_bytes

    def lead_to(self, host: str, port: int) -> None:
        """Connect whoever comes from now on to another server."""
        self._upstream = (host, port)

    def restore(self) -> None:
        """Make the line good again; a connection that lost its server never gets it back."""
        self.slow_down()
        self._become(_State.OPEN)
        if self._listener is None:
            self._listen()

    def pass_on(self, connection: Connection, target: socket.socket, data: bytes) -> None:
        """Send, as the line allows; raise `LineCut` if the connection is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or self._state is not _State.HELD)
            if self._over or connection.is_orphan:
                raise LineCut
            delay, piece = self._delay_seconds, self._piece_bytes or len(data)
        for at in range(0, len(data), max(piece, 1)):
            self.wait(delay)
            target.sendall(data[at : at + piece])

    def wait(self, seconds: float) -> None:
        """Let time pass, but no longer than the proxy lives."""
        if seconds <= 0:
            return
        until = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._over, max(0.0, until - time.monotonic()))
            if self._over:
                raise LineCut

    def _pump_back(self, connection: Connection, server: socket.socket, tap: Tap) -> None:
        with contextlib.suppress(OSError, LineCut):
            while data := server.recv(CHUNK_BYTES):
                wanted = tap.down(data)
                if wanted is None:
                    connection.interrupt()
                    connection.close(rudely=True)
                    return
                self.pass_on(connection, connection.client, wanted)
        if not connection.is_orphan:
            _shut(connection.client)

    def _become(self, state: _State) -> None:
        with self._changed:
            self._state = state
            self._changed.notify_all()

    def _all(self) -> list[Connection]:
        with self._changed:
            return list(self._connections)

    def _listen(self) -> None:
        listener = self._listener = _bound(self.port)
        listener.listen(128)
        self._spawn(lambda: self._accept(listener))

    def _deafen(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            _shut(listener)  # which wakes up who accepts
            listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._take(client)

    def _take(self, client: socket.socket) -> None:
        connection = Connection(client)
        with self._changed:
            over = self._over
            self._connections.add(connection)
            connection.is_orphan = self._state is _State.HALF_OPEN
        if over:
            connection.close()
            return
        self._spawn(lambda: self._run(connection))

    def _run(self, connection: Connection) -> None:
        try:
            with contextlib.suppress(OSError, LineCut):
                if not connection.is_orphan:
                    self.serve(connection)
            with contextlib.suppress(OSError):
                while connection.is_orphan and connection.client.recv(CHUNK_BYTES):
                    pass
        finally:
            connection.close()
            with self._changed:
                self._connections.discard(connection)

    def _spawn(self, work: "_Work") -> threading.Thread:
        thread = threading.Thread(target=work, name=f"line-{self.port}", daemon=True)
        with self._changed:
            self._threads = [known for known in self._threads if known.is_alive()]
            self._threads.append(thread)
            thread.start()
        return thread


class _Work(Protocol):
    def __call__(self) -> None: ...


def _bound(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(("127.0.0.1", port))
    return made


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
