"""Connections of an HTTPS server that never finish their TLS handshake, and who is answered."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest
import urllib3
from prometheus_client import CollectorRegistry

from jobledger.adapters.admission import tls
from jobledger.adapters.admission.certificates import new_certificate
from jobledger.adapters.http.health import health_app
from jobledger.adapters.http.patience import WAITING_MAX
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.telemetry.clock import SystemClock

ANSWER_SECONDS = 60.0
HANDSHAKE_SECONDS = 5.0
"""So long the server waits where that is what is tested: a whole handshake has to fit in it."""
STRANGERS = 600
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Site:
    """A server, and who trusts it."""

    port: int
    trusting: ssl.SSLContext

    def connected(self, stack: ExitStack) -> socket.socket:
        """Return a connection of which no handshake has begun."""
        return stack.enter_context(
            socket.create_connection(("127.0.0.1", self.port), ANSWER_SECONDS)
        )

    def asked(self) -> int:
        """Ask as a probe does; return the status."""
        with urllib3.PoolManager(ssl_context=self.trusting, timeout=ANSWER_SECONDS) as pool:
            url = f"https://localhost:{self.port}/healthz"
            return pool.request("GET", url, retries=False).status


@contextmanager
def served(seconds: float = 600.0) -> Iterator[Site]:
    secured, made = tls.context(), new_certificate(("localhost",), SystemClock().now())
    tls.take(secured, made)
    app = health_app(lambda: True, list, CollectorRegistry())
    server = HttpServer(app, "127.0.0.1", 0, seconds, tls=secured)
    server.start()
    try:
        trusting = ssl.create_default_context(cadata=made.trusted)
        yield Site(int(server.url.rpartition(":")[2]), trusting)
    finally:
        server.stop()


def is_closed(one: socket.socket) -> bool:
    """Wait until the other side has closed a connection; an alert may come first."""
    try:
        while one.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["nothing", "a beginning"])
def test_a_probe_is_answered_beside_connections_that_never_finish_their_handshake(
    sent: bytes,
) -> None:
    """Of those that wait the oldest are closed, so that no more than so many are ever open."""
    with served() as site, ExitStack() as stack:
        strangers = []
        for _ in range(STRANGERS):
            stranger = site.connected(stack)
            strangers.append(stranger)
            if sent:
                stranger.sendall(sent)
        assert site.asked() == 200
        for stranger in strangers[: STRANGERS - WAITING_MAX]:
            assert is_closed(stranger)


def test_a_handshake_is_not_waited_for() -> None:
    with served(HANDSHAKE_SECONDS) as site, ExitStack() as stack:
        assert is_closed(site.connected(stack))


def test_what_is_no_handshake_is_closed_and_the_next_is_answered() -> None:
    with served() as site, ExitStack() as stack:
        stranger = site.connected(stack)
        stranger.sendall(REQUEST)
        assert is_closed(stranger)
        assert site.asked() == 200


def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered() -> None:
    """The last bytes of a handshake and the first request in one piece, as quick clients send."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with served() as site, ExitStack() as stack:
        one = site.connected(stack)
        client = site.trusting.wrap_bio(incoming, outgoing, server_hostname="localhost")
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                one.sendall(outgoing.read())
                incoming.write(one.recv(65_536))
        client.write(REQUEST)
        one.sendall(outgoing.read())
        said = b""
        while b"\r\n" not in said:
            try:
                said += client.read(65_536)
            except ssl.SSLWantReadError:
                piece = one.recv(65_536)
                assert piece, said
                incoming.write(piece)
    assert said.startswith(b"HTTP/1.1 200")
