"""A server that answers each connection in its own way: another protocol, or a refusal."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def answering(answer: Callable[[socket.socket], object]) -> Iterator[int]:
    """Run a server that hands each connection to `answer`, one after another; give its port."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(30)


def speak_http(connection: socket.socket) -> None:
    """Answer as a web server does to whoever speaks another language."""
    connection.recv(100)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
