"""Which connections are used again, and what is read of answers that have another form."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest
import urllib3
from urllib3.connection import HTTPConnection

from jobledger.adapters.http_client.exchange import head_of
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.transport import Request, Transport
from jobledger.core.errors import ClusterUnreachable, NoWayToCluster, ObjectNotFound

READ = Request(method="GET", path="/version", about="the version")
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def server(answers: Sequence[bytes], *, hangs_up: bool = False) -> Iterator[tuple[str, list[int]]]:
    """Answer requests, whatever they are, with these bytes; yield its address and what it counts.

    One number for each connection: how many requests came over it.
    """
    counts: list[int] = []
    waiting = list(answers)

    def serve(connection: socket.socket, number: int) -> None:
        with connection, suppress(OSError):
            while waiting and connection.recv(65536):
                counts[number] += 1
                connection.sendall(waiting.pop(0))
                if hangs_up:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            counts.append(0)
            threading.Thread(target=serve, args=(connection, len(counts) - 1), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", counts
        listener.shutdown(socket.SHUT_RDWR)


def transport_to(url: str) -> Transport:
    return connect(ConnectionSettings(host=url, read_timeout_seconds=5.0), environment={})


def test_a_connection_is_used_again() -> None:
    with server([OK, OK, OK]) as (url, counts):
        transport = transport_to(url)
        assert [transport.send(READ) for _ in range(3)] == [b"{}"] * 3
        assert counts == [3]


def test_one_that_was_refused_over_is_used_again() -> None:
    refusal = b"HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\n404 page not found"
    with server([refusal, OK]) as (url, counts):
        transport = transport_to(url)
        with pytest.raises(ObjectNotFound):
            transport.send(READ)
        assert transport.send(READ) == b"{}"
        assert counts == [2]


def test_one_over_which_nobody_knows_us_is_not_used_again() -> None:
    """Its certificate was shown as it began; the API server judges it with each request."""
    refusal = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}"
    with server([refusal, OK, refusal, OK]) as (url, counts):
        transport = transport_to(url)
        for ask in (transport.send, transport.open):
            with pytest.raises(NoWayToCluster):
                ask(READ)
            assert transport.send(READ) == b"{}"
        assert counts == [1, 2, 1]


def test_one_that_is_not_to_be_used_again_is_closed_before_anybody_else_has_it() -> None:
    refusal = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 13\r\n\r\nwho are you? "
    with server([refusal, OK]) as (url, _):
        transport = transport_to(url)
        pool, _ = transport._way()  # noqa: SLF001 as it gives connections back
        assert isinstance(pool, urllib3.HTTPConnectionPool)
        put, closed = pool._put_conn, []  # noqa: SLF001 as above

        def put_and_look(connection: HTTPConnection | None) -> None:
            assert connection is not None
            closed.append(connection.is_closed)
            put(connection)

        pool._put_conn = put_and_look  # type: ignore[assignment,method-assign]  # noqa: SLF001 as above
        with pytest.raises(NoWayToCluster):
            transport.open(READ)
        assert closed == [True]
        assert transport.send(READ) == b"{}"


@pytest.mark.parametrize(
    "answer",
    [
        OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfor others",
        OK + b"more",
    ],
    ids=["it is to be closed", "an answer that nobody asked for", "more than its length"],
)
def test_one_on_which_something_is_left_is_not_used_again(answer: bytes) -> None:
    with server([answer, OK]) as (url, counts):
        transport = transport_to(url)
        assert [transport.send(READ), transport.send(READ)] == [b"{}", b"{}"]
        assert counts == [1, 1]


def test_one_of_which_only_the_beginning_was_read_is_not_used_again() -> None:
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1_000_000
    with server([long, OK]) as (url, counts):
        transport = transport_to(url)
        assert transport.send(READ, max_bytes=10) == b"x" * 10
        assert transport.send(READ) == b"{}"
        assert counts == [1, 1]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (CHUNKED + b"3\r\n{}\n\r\n2\r\n  \r\n0\r\n\r\n", b"{}\n  "),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, b"{}"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
    ],
    ids=["in chunks", "announced", "nothing"],
)
def test_other_forms_of_an_answer_are_read(answer: bytes, expected: bytes) -> None:
    with server([answer, OK]) as (url, counts):
        transport = transport_to(url)
        assert transport.send(READ) == expected
        assert transport.send(READ) == b"{}"
        assert counts == [2]


def test_the_end_of_the_connection_ends_an_answer_without_a_length_and_no_other() -> None:
    with server([b"HTTP/1.1 200 OK\r\n\r\n{}"], hangs_up=True) as (url, _):
        assert transport_to(url).send(READ) == b"{}"
    for cut in (
        OK[:-1],
        OK[:20],
        b"",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
    ):
        with (
            server([cut or b" "], hangs_up=True) as (url, _),
            pytest.raises(ClusterUnreachable, match="no answer"),
        ):
            transport_to(url).send(READ)


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x01\x00\x02\x02\x46"])
def test_what_is_no_http_is_no_answer(answer: bytes) -> None:
    with server([answer]) as (url, _), pytest.raises(ClusterUnreachable, match="no answer"):
        transport_to(url).send(READ)


def test_a_header_or_address_that_would_be_two_is_sent_nowhere() -> None:
    with pytest.raises(ValueError, match="has an end of a line"):
        head_of({"Authorization": "Bearer a\r\nX-Remote-User: admin"})
    with server([OK]) as (url, counts):
        path = "/api HTTP/1.1\r\nHost: other\r\n\r\n"
        with pytest.raises(ClusterUnreachable):
            transport_to(url).send(Request(method="GET", path=path))
        assert sum(counts) == 0
