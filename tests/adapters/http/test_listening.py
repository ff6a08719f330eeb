"""Where a server listens, and that no part of its answers is held back."""

import socket
import threading

import pytest
import urllib3
from prometheus_client import CollectorRegistry

from jobledger.adapters.http.health import health_app
from jobledger.adapters.http.server import HttpServer, listening, url_of

LOOPBACKS = ["127.0.0.1", "localhost"]
if socket.has_ipv6:
    LOOPBACKS.append("::1")


@pytest.mark.parametrize("host", LOOPBACKS)
def test_what_is_written_to_a_connection_goes_out_at_once(host: str) -> None:
    with listening(host, 0) as made, socket.create_connection(made.getsockname()[:2], 60):
        connection, _ = made.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


@pytest.mark.parametrize("host", LOOPBACKS)
def test_the_address_that_is_told_is_answered(host: str) -> None:
    server = HttpServer(health_app(lambda: True, list, CollectorRegistry()), host, 0)
    server.start()
    try:
        answer = urllib3.request("GET", f"{server.url}/healthz", timeout=60)
    finally:
        server.stop()
    assert answer.status == 200


@pytest.mark.skipif(
    not socket.has_ipv6 or not socket.has_dualstack_ipv6(), reason="this system has IPv4 alone"
)
def test_on_all_addresses_of_ipv6_those_of_ipv4_are_answered_too() -> None:
    with listening("::", 0) as made:
        port = made.getsockname()[1]
        assert url_of("https", made, "::") == f"https://[::]:{port}"
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, port), 60):
                connection, _ = made.accept()
                connection.close()


def test_a_server_that_sleeps_ends_when_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobledger.adapters.http.server.TICK_SECONDS", 3600.0)
    before = set(threading.enumerate())
    server = HttpServer(health_app(lambda: True, list, CollectorRegistry()), "127.0.0.1", 0)
    server.start()
    answer = urllib3.request("GET", f"{server.url}/healthz", timeout=60)
    server.stop()
    assert answer.headers["date"]
    assert not [one for one in threading.enumerate() if one not in before and one.name == "http"]
