"""The end of a log stream tells that a job may have ended; everything else tells nothing."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from adapters.ray.log_streams import LogStreams
from adapters.ray.web_socket import CLOSE, PING, FrameSkipper, control_frame
from core.errors import RayApiUnreachable
from tests.support.waiting import wait_until

LIMIT_SECONDS = 20
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
TEXT = b"\x81\x05hello"


class Head:
    """A server that answers each request with the same bytes and keeps the connection open."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self.connections: list[socket.socket] = []
        """Those that were answered."""
        self._accepted: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._accepted.append(connection)
            with contextlib.suppress(OSError):  # who asked may have gone
                self.requests.append(connection.recv(65536))
                connection.sendall(self._answer)
                self.connections.append(connection)

    def only(self) -> socket.socket:
        """Return the connection, once it was answered."""
        wait_until(lambda: len(self.connections) == 1, "a connection", LIMIT_SECONDS)
        return self.connections[0]

    def close(self) -> None:
        """Go away."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # so that nobody waits for the next
        for connection in list(self._accepted):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(LIMIT_SECONDS)
        self._listener.close()
        for connection in self._accepted:
            connection.close()


@contextmanager
def head_that_says(answer: bytes) -> Iterator[Head]:
    head = Head(answer)
    try:
        yield head
    finally:
        head.close()


@pytest.fixture
def streams() -> Iterator[LogStreams]:
    made = LogStreams(proxies={})
    yield made
    made.close()


class Ear:
    """Somebody who is told, and counts."""

    def __init__(self) -> None:
        self.told = 0

    def __call__(self) -> None:
        self.told += 1

    def wait(self) -> None:
        """Return once it was told."""
        wait_until(lambda: self.told > 0, "the hint", LIMIT_SECONDS)


@pytest.mark.parametrize("answer", [SWITCHED + TEXT, PLAIN + b"hello\n"])
def test_a_connection_that_ends_is_a_hint(streams: LogStreams, answer: bytes) -> None:
    ear = Ear()
    with head_that_says(answer) as head:
        streams.follow(head.address, "train-abcde", "", ear)
        connection = head.only()
        connection.sendall(TEXT if answer.startswith(SWITCHED) else b"more\n")
        connection.shutdown(socket.SHUT_RDWR)
        ear.wait()
    wait_until(lambda: len(streams) == 0, "nothing is kept", LIMIT_SECONDS)
    assert ear.told == 1


def test_a_goodbye_is_a_hint_before_the_connection_ends(streams: LogStreams) -> None:
    """Ray's server says it and then waits ten seconds for an answer."""
    ear = Ear()
    with head_that_says(SWITCHED) as head:
        streams.follow(head.address, "train-abcde", "", ear)
        connection = head.only()
        connection.sendall(TEXT * 3 + b"\x88\x02\x03\xe8")
        ear.wait()
        connection.settimeout(LIMIT_SECONDS)
        assert connection.recv(100)[0] & 0x0F == CLOSE, "and it is answered"


def test_a_ping_is_answered_and_no_hint(streams: LogStreams) -> None:
    ear = Ear()
    with head_that_says(SWITCHED) as head:
        streams.follow(head.address, "train-abcde", "", ear)
        connection = head.only()
        connection.sendall(b"\x89\x02hi")
        connection.settimeout(LIMIT_SECONDS)
        assert connection.recv(100)[0] & 0x0F == 0xA
        assert ear.told == 0


def test_who_asks_for_what_with_which_token(streams: LogStreams) -> None:
    with head_that_says(SWITCHED) as head:
        streams.follow(head.address, "a b", "s3cret\n", Ear())
        (request,) = head.requests
    assert request.startswith(b"GET /api/jobs/a%20b/logs/tail HTTP/1.1\r\n")
    assert b"\r\nx-ray-authorization: Bearer s3cret\r\n" in request
    assert b"\r\nUpgrade: websocket\r\n" in request


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"SSH-2.0-OpenSSH\r\n\r\n",
    ],
)
def test_what_cannot_be_followed_is_said_at_once(streams: LogStreams, answer: bytes) -> None:
    with head_that_says(answer) as head, pytest.raises(RayApiUnreachable):
        streams.follow(head.address, "train-abcde", "", Ear())
    assert len(streams) == 0


def test_a_head_that_is_not_there_cannot_be_followed(streams: LogStreams) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    with pytest.raises(RayApiUnreachable):
        streams.follow(address, "train-abcde", "", Ear())


def test_who_is_followed_no_more_tells_nothing(streams: LogStreams) -> None:
    ear = Ear()
    with head_that_says(SWITCHED) as head:
        following = streams.follow(head.address, "train-abcde", "", ear)
        following.stop()
        following.stop()
        wait_until(lambda: len(streams) == 0, "nothing is kept", LIMIT_SECONDS)
    assert ear.told == 0


def test_only_so_many_are_followed() -> None:
    few = LogStreams(proxies={}, streams_max=1)
    with head_that_says(SWITCHED) as head:
        few.follow(head.address, "one", "", Ear())
        with pytest.raises(RayApiUnreachable, match="no more than 1"):
            few.follow(head.address, "two", "", Ear())
    few.close()


def test_it_goes_through_the_proxy() -> None:
    with head_that_says(PLAIN) as proxy:
        through = LogStreams(proxies={"http": f"http://me:pass@{proxy.address}"})
        through.follow("head.ml.svc.cluster.local:8265", "train-abcde", "", Ear())
        (request,) = proxy.requests
        through.close()
        proxy.only()
    assert request.startswith(
        b"GET http://head.ml.svc.cluster.local:8265/api/jobs/train-abcde/logs/tail HTTP/1.1\r\n"
    )
    assert b"\r\nproxy-authorization: Basic " in request


@pytest.mark.parametrize("size", [0, 5, 125, 126, 65535, 65536, 200_000])
@pytest.mark.parametrize("piece", [1, 7, 4096, 1 << 20])
def test_frames_of_any_size_in_any_pieces_are_passed_over(size: int, piece: int) -> None:
    if size > 1000 and piece == 1:
        piece = 1000
    length = (
        bytes([size])
        if size <= 125
        else b"\x7e" + size.to_bytes(2)
        if size < 65536
        else b"\x7f" + size.to_bytes(8)
    )
    data = (b"\x81" + length + b"x" * size) * 2 + b"\x89\x02hi" + b"\x88\x00"
    skipper = FrameSkipper()
    found = []
    for start in range(0, len(data), piece):
        found += skipper.feed(data[start : start + piece])
    assert found == [(PING, b"hi"), (CLOSE, b"")]


def test_what_a_client_says_is_masked() -> None:
    frame = control_frame(CLOSE, b"bye")
    mask, payload = frame[2:6], frame[6:]
    assert bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload)) == b"bye"
    assert frame[1] & 0x80
