"""The end of a log stream tells that a job may have ended; everything else tells nothing."""

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from jobledger.adapters.ray import log_streams
from jobledger.adapters.ray.log_streams import HEAD_BYTES_MAX, LogStreams
from jobledger.adapters.ray.web_socket import CLOSE, PING, FrameSkipper, control_frame
from jobledger.core.errors import RayApiUnreachable
from jobledger.core.ports.job_ends import Following
from tests.adapters.ray.scripted_head import Script, ScriptedHead
from tests.support.waiting import wait_until

LIMIT_SECONDS = 60
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
TEXT = b"\x81\x05hello"
MANY_NEWS = 10_000
"""More than fit between two threads that do not listen."""


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
        b"HTTP/1.1 101 Switching Protocols\r\nX: " + b"x" * HEAD_BYTES_MAX + b"\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nX: " + b"x" * (1 << 20),
    ],
    ids=["404", "a whole answer", "another protocol", "a long head", "a head without end"],
)
def test_what_cannot_be_followed_is_said_at_once(streams: LogStreams, answer: bytes) -> None:
    with head_that_says(answer) as head, pytest.raises(RayApiUnreachable):
        streams.follow(head.address, "train-abcde", "", Ear())
    assert len(streams) == 0


def test_an_answer_that_breaks_off_in_its_head_lets_nothing_be_followed(
    streams: LogStreams,
) -> None:
    script = Script(b"HTTP/1.1 101 Switching Protocols\r\n")
    with ScriptedHead(script) as head, pytest.raises(RayApiUnreachable):
        streams.follow(head.address, "train-abcde", "", Ear())


def test_a_head_that_trickles_holds_nobody_for_long(
    streams: LogStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte comes soon enough, all of them do not."""
    monkeypatch.setattr(log_streams, "OPEN_SECONDS", 0.3)
    slow = Script(
        b"HTTP/1.1 101 Switching Protocols\r\nX: " + b"x" * 100 + b"\r\n\r\n", trickle=True
    )
    with ScriptedHead(slow) as head, pytest.raises(RayApiUnreachable):
        streams.follow(head.address, "train-abcde", "", Ear())
    assert len(streams) == 0


def test_a_goodbye_that_comes_with_the_answer_is_a_hint(streams: LogStreams) -> None:
    ear = Ear()
    with head_that_says(SWITCHED + b"\x88\x00") as head:
        streams.follow(head.address, "train-abcde", "", ear)
        ear.wait()
        wait_until(lambda: len(streams) == 0, "nothing is kept", LIMIT_SECONDS)
    assert ear.told == 1


def test_a_control_frame_without_end_is_a_hint(streams: LogStreams) -> None:
    ear = Ear()
    with head_that_says(SWITCHED) as head:
        streams.follow(head.address, "train-abcde", "", ear)
        head.only().sendall(b"\x89\x7f" + (1 << 60).to_bytes(8))
        ear.wait()


class Broken(FrameSkipper):
    """What nobody foresaw."""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        raise ZeroDivisionError(data)


def test_what_goes_wrong_with_one_stream_is_no_concern_of_the_others(streams: LogStreams) -> None:
    broken, good = Ear(), Ear()
    with head_that_says(SWITCHED) as head, head_that_says(SWITCHED) as other:
        following = streams.follow(head.address, "one", "", broken)
        streams.follow(other.address, "two", "", good)
        following.frames = Broken()
        head.only().sendall(TEXT)
        broken.wait()
        assert good.told == 0
        other.only().sendall(b"\x88\x00")
        good.wait()
    wait_until(lambda: len(streams) == 0, "nothing is kept", LIMIT_SECONDS)


class Full(selectors.DefaultSelector):
    """Has no room for the first stream."""

    had_room = True

    def register(
        self,
        fileobj: Any,  # noqa: ANN401 as in the library
        events: int,
        data: Any = None,  # noqa: ANN401 as in the library
    ) -> selectors.SelectorKey:
        if data is not None and self.had_room:
            self.had_room = False
            raise OSError("no space left")
        return super().register(fileobj, events, data)


def test_a_stream_that_cannot_be_watched_is_no_concern_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", Full)
    unwatched, good = Ear(), Ear()
    streams = LogStreams(proxies={})
    with head_that_says(SWITCHED) as head:
        streams.follow(head.address, "one", "", unwatched)
        unwatched.wait()
        streams.follow(head.address, "two", "", good)
        wait_until(lambda: len(head.connections) == 2, "both answered", LIMIT_SECONDS)
        head.connections[1].sendall(b"\x88\x00")
        good.wait()
    streams.close()


def stop_often(following: Following) -> None:
    for _ in range(MANY_NEWS):
        following.stop()


def test_who_has_news_never_waits_for_the_thread() -> None:
    """Else the thread, which has news too, would wait for itself."""
    streams = LogStreams(proxies={})
    is_held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        is_held.set()
        go_on.wait(LIMIT_SECONDS)

    with head_that_says(SWITCHED) as head, head_that_says(SWITCHED) as other:
        streams.follow(head.address, "one", "", hold)
        following = streams.follow(other.address, "two", "", Ear())
        head.only().sendall(b"\x88\x00")
        assert is_held.wait(LIMIT_SECONDS)
        news = threading.Thread(target=stop_often, args=(following,), daemon=True)
        news.start()
        news.join(LIMIT_SECONDS / 2)
        is_waiting = news.is_alive()
        go_on.set()
        assert not is_waiting
    wait_until(lambda: len(streams) == 0, "nothing is kept", LIMIT_SECONDS)
    streams.close()  # which itself has news


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


@pytest.mark.parametrize("opcode", [CLOSE, PING, 0xA, 0xB])
@pytest.mark.parametrize("length", [b"\x7e\x00\x7e", b"\x7f" + (1 << 60).to_bytes(8)])
def test_a_control_frame_that_is_too_long_is_a_goodbye(opcode: int, length: bytes) -> None:
    frame = bytes([0x80 | opcode]) + length + b"x" * 1000
    assert FrameSkipper().feed(TEXT + frame) == [(CLOSE, b"")]


def test_what_a_client_says_is_masked() -> None:
    frame = control_frame(CLOSE, b"bye")
    mask, payload = frame[2:6], frame[6:]
    assert bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload)) == b"bye"
    assert frame[1] & 0x80


def test_a_thread_that_cannot_be_started_is_started_for_the_next_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody was told of any end from then on, and to close the streams failed too."""
    told, streams = threading.Event(), LogStreams(proxies={})

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "log-streams":
            raise RuntimeError("can't start new thread")
        start(thread)

    start = threading.Thread.start
    with head_that_says(SWITCHED) as head:
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RayApiUnreachable):
                streams.follow(head.address, "job", "", told.set)
        assert len(streams) == 0
        streams.follow(head.address, "job", "", told.set)
        wait_until(lambda: len(head.connections) == 2, "the second connection")
        head.connections[1].shutdown(socket.SHUT_RDWR)
        assert told.wait(LIMIT_SECONDS)
    streams.close()
