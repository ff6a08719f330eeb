"""Requests that mean no good, over real TLS: each gets a clear answer, and others are heard."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jobledger.adapters.admission import tls
from jobledger.adapters.admission.certificates import new_certificate
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.kinds.trainjob.progress import endpoint
from jobledger.adapters.kinds.trainjob.progress.endpoint import Endpoint
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.trainjob.reports import AUDIENCE
from tests.adapters.progress.test_too_many import REPORT, Parts

ANSWER_SECONDS = 60.0
GOOD = json.dumps({"trainerStatus": REPORT}).encode()


class Site:
    """A server whose every token speaks for every job of its namespace, and who trusts it."""

    def __init__(self, port: int, trusting: ssl.SSLContext, parts: Parts) -> None:
        self.port, self.trusting, self.parts = port, trusting, parts

    def connected(self) -> ssl.SSLSocket:
        """Return a connection."""
        plain = socket.create_connection(("localhost", self.port), ANSWER_SECONDS)
        return self.trusting.wrap_socket(plain, server_hostname="localhost")

    def post(self, body: bytes, content_type: str = "application/json") -> tuple[int, str]:
        """Post a body whole; return the code and what is said."""
        with self.connected() as connection:
            length = f"Content-Length: {len(body)}\r\nContent-Type: {content_type}\r\n"
            connection.sendall(head("fit", length) + body)
            return answer(connection)


def head(job: str, more: str) -> bytes:
    """Return the head of a report."""
    path = f"/apis/{AUDIENCE.format(namespace='ml', name=job)}"
    lines = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a-token\r\n"
    return f"{lines}Connection: close\r\n{more}\r\n".encode()


def answer(connection: ssl.SSLSocket) -> tuple[int, str]:
    """Read an answer whole; return the code and what is said."""
    read = b""
    while piece := connection.recv(65_536):
        read += piece
    top, _, body = read.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(body).get("message", "")


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@contextmanager
def serving() -> Iterator[Site]:
    secured, made = tls.context(), new_certificate(("localhost",), SystemClock().now())
    tls.take(secured, made)
    parts = Parts()
    app = Endpoint(parts, parts, lambda _: True).app()  # type: ignore[arg-type] # all that is asked of them
    server = HttpServer(app, "127.0.0.1", 0, tls=secured)
    server.start()
    try:
        trusting = ssl.create_default_context(cadata=made.trusted)
        yield Site(int(server.url.rpartition(":")[2]), trusting, parts)
    finally:
        server.stop()


def test_a_body_that_does_not_come_is_given_up_and_others_are_heard_meanwhile(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "BODY_SECONDS", 3.0)
    slow = []
    for _ in range(30):
        slow.append(site.connected())
        slow[-1].sendall(head("slow", f"Content-Length: {len(GOOD)}\r\n") + GOOD[:5])
    assert site.post(GOOD) == (200, "")
    for connection in slow:
        assert answer(connection) == (408, "the body did not come in time")
        connection.close()
    assert [one.name for one in site.parts.taken] == ["fit"]


def test_chunks_without_end_are_refused_at_the_limit(site: Site) -> None:
    chunk = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
    with site.connected() as connection:
        connection.sendall(head("fit", "Transfer-Encoding: chunked\r\n") + chunk * 16 + b"1\r\n ")
        assert answer(connection) == (413, "Payload too large")
    assert site.parts.taken == []
    assert site.post(GOOD) == (200, "")


def test_a_length_beyond_the_limit_is_refused_before_the_body(site: Site) -> None:
    with site.connected() as connection:
        connection.sendall(head("fit", f"Content-Length: {2**40}\r\n"))
        assert answer(connection) == (413, "Payload too large")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"trainerStatus": {"progressPercentage": NaN}}', "Invalid payload"),
        (b'{"trainerStatus": {"progressPercentage": Infinity}}', "Invalid payload"),
        (b'{"trainerStatus": {"progressPercentage": -Infinity}}', "Invalid payload"),
        (b'{"trainerStatus": {"progressPercentage": 1e400}}', "Invalid payload"),
        (b'{"trainerStatus": {"progressPercentage": 45.0}}', "a whole number from 0 to 100"),
        (b'{"trainerStatus": {"progressPercentage": true}}', "a whole number from 0 to 100"),
        (b'{"trainerStatus":' * 3000, "Invalid payload"),
        (b"[" * 60_000, "Invalid payload"),
        (b"\xff\xfe", "Invalid payload"),
        (b"", "Invalid payload"),
        (b"[]", "the body must be a JSON object"),
        (b"progress=45", "Invalid payload"),
    ],
    ids=[
        "NaN",
        "Infinity",
        "minus infinity",
        "1e400",
        "a fraction",
        "a truth",
        "deep objects",
        "deep lists",
        "no UTF-8",
        "nothing",
        "a list",
        "a form",
    ],
)
def test_what_is_no_report_is_named(site: Site, body: bytes, message: str) -> None:
    code, said = site.post(body)
    assert code == 422
    assert message in said
    assert site.parts.taken == []
    assert site.post(GOOD) == (200, "")


def test_of_a_key_that_stands_twice_the_last_counts(site: Site) -> None:
    report = json.dumps(REPORT)
    body = f'{{"trainerStatus": {{"progressPercentage": 1}}, "trainerStatus": {report}}}'
    assert site.post(body.encode()) == (200, "")
    assert [one.trainer_status for one in site.parts.taken] == [REPORT]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-yaml", "multipart/mixed"])
def test_what_a_body_is_called_does_not_matter(site: Site, content_type: str) -> None:
    assert site.post(GOOD, content_type) == (200, "")
