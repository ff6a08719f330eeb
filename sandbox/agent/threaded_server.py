"""A threaded TCP server on a free loopback port that can be ended with all its conversations."""

import socket
import socketserver
import threading


class ThreadedServer:
    """One thread accepts, one thread per connection converses; `end` leaves none of them."""

    def __init__(self, name: str, handler: type[socketserver.BaseRequestHandler]) -> None:
        self._name, self._handler = name, handler
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it is served; empty before `begin`."""
        if self._listener is None:
            return ""
        return f"http://127.0.0.1:{self._listener.server_address[1]}"

    def begin(self) -> None:
        """Bind a free port and start to accept."""
        listener = self._listener = Listener(self, self._handler)
        self._thread = threading.Thread(
            target=listener.serve_forever, args=(0.05,), name=self._name, daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """Stop accepting, hang up on everybody and wait for the threads."""
        if self._thread is None or self._listener is None:
            return
        self._listener.shutdown()
        self._thread.join()
        self._listener.hang_up()
        self._listener.server_close()
        self._thread = None


class Listener(socketserver.ThreadingTCPServer):
    """The library's part of a `ThreadedServer`; handlers find the latter as `server.owner`."""

    allow_reuse_address = True
    daemon_threads = False
    """So that `server_close` waits for them."""
    request_queue_size = 128

    def __init__(
        self, owner: ThreadedServer, handler: type[socketserver.BaseRequestHandler]
    ) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), handler)
        # no part of an answer waits until another was acknowledged
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def hang_up(self) -> None:
        """End every conversation; called when no new ones are accepted any more."""
        with self._lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # it has ended by itself

    def process_request(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        """Register the connection and hand it to a thread."""
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        """Forget and close the connection."""
        if isinstance(request, socket.socket):
            with self._lock:
                self._open.discard(request)
        super().shutdown_request(request)
