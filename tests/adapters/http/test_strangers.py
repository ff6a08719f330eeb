"""What strangers send before anybody knows who they are, and who is answered meanwhile."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse

import pytest
import urllib3
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from jobledger.adapters.http.api.application import PREFIX
from jobledger.adapters.http.api.guard import TooManyTokens
from jobledger.adapters.http.api.review import REMEMBERED_MAX, KubernetesReviewer
from jobledger.adapters.http.health import health_app
from jobledger.adapters.http.patience import WAITING_MAX
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.serving import pace
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest
from tests.adapters.http.conftest import serve

ANSWER_SECONDS = 60.0
SENDING_SECONDS = 5.0
"""So long the server waits for a head: a busy machine has to send the whole of one by then."""

STRANGERS = 600
HALF = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


@contextmanager
def served(head_seconds: float = 600.0) -> Iterator[tuple[str, int]]:
    app = health_app(lambda: True, list, CollectorRegistry())
    server = HttpServer(app, "127.0.0.1", 0, head_seconds)
    server.start()
    try:
        yield "127.0.0.1", int(server.url.rpartition(":")[2])
    finally:
        server.stop()


def connected(stack: ExitStack, address: tuple[str, int]) -> socket.socket:
    return stack.enter_context(socket.create_connection(address, ANSWER_SECONDS))


def is_closed(one: socket.socket) -> bool:
    """Wait until the other side has closed a connection; tell whether it has."""
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


def answered(one: socket.socket) -> int:
    """Read a whole answer, in however many pieces it comes; tell its status."""
    with HTTPResponse(one) as answer:
        answer.begin()
        answer.read()
        return answer.status


def asked(address: tuple[str, int]) -> int:
    url = f"http://{address[0]}:{address[1]}/healthz"
    return urllib3.request("GET", url, retries=False, timeout=ANSWER_SECONDS).status


@pytest.mark.parametrize("sent", [b"", b"G", HALF], ids=["nothing", "a letter", "half a request"])
def test_health_is_answered_beside_connections_that_ask_for_nothing(sent: bytes) -> None:
    """Of those that wait the oldest are closed, so that no more than so many are ever open."""
    with served() as address, ExitStack() as stack:
        strangers = []
        for _ in range(STRANGERS):
            stranger = connected(stack, address)
            strangers.append(stranger)
            if sent:
                stranger.sendall(sent)
        assert asked(address) == 200
        for stranger in strangers[: STRANGERS - WAITING_MAX]:
            assert is_closed(stranger)
        strangers[-1].sendall((HALF if sent != HALF else b"")[len(sent) :] + b"\r\n")
        assert answered(strangers[-1]) == 200, "who came last may still ask"


@pytest.mark.parametrize("first", [b"", HALF + b"\r\n"], ids=["at first", "after an answer"])
def test_half_a_request_is_not_waited_for(first: bytes) -> None:
    with served(head_seconds=SENDING_SECONDS) as address, ExitStack() as stack:
        stranger = connected(stack, address)
        if first:
            stranger.sendall(first)
            assert answered(stranger) == 200
        stranger.sendall(HALF)
        assert is_closed(stranger)


CHUNKED = HALF + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "pieces",
    [(CHUNKED + b"-1\r\n",), (CHUNKED, b"-1\r\n")],
    ids=["before the answer", "after the answer"],
)
def test_a_body_that_is_no_http_ends_its_connection_and_leaves_no_traceback(
    pieces: tuple[bytes, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever reaches the port had thirty lines in the log for each."""
    with served() as address, ExitStack() as stack:
        stranger = connected(stack, address)
        stranger.sendall(pieces[0])
        for piece in pieces[1:]:
            assert answered(stranger) == 200
            stranger.sendall(piece)
        while not is_closed(stranger):
            """It may be told first what is wrong."""
        assert asked(address) == 200
    assert not [one for one in caplog.records if one.exc_info], caplog.text


class Kubernetes:
    """Knows one token, and counts what it is asked."""

    def __init__(self) -> None:
        self.reviewed = 0

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        if resource.kind != "TokenReview":
            return {"status": {"allowed": True}}
        self.reviewed += 1
        spec = manifest["spec"]
        assert isinstance(spec, dict)
        known = str(spec["token"]).startswith("good")
        return {"status": {"authenticated": known, "user": {"username": "reader"}}}


def refused(reviewer: KubernetesReviewer, token: str, address: str) -> str:
    try:
        return str(reviewer.may_read(token, address))
    except TooManyTokens:
        return "busy"


def test_bogus_tokens_ask_kubernetes_only_so_often_and_harm_no_other_address() -> None:
    now, kubernetes = [0.0], Kubernetes()
    reviewer = KubernetesReviewer(kubernetes, lambda: now[0])
    assert reviewer.may_read("good one", "10.0.0.1") is True
    answers = [refused(reviewer, f"bogus {number}", "10.6.6.6") for number in range(10_000)]
    assert answers.count("busy") == 10_000 - pace.AT_ONCE
    assert kubernetes.reviewed == 1 + pace.AT_ONCE
    assert reviewer.may_read("good one", "10.0.0.1") is True, "nobody pushed it out"
    assert reviewer.may_read("good two", "10.0.0.2") is True, "another address asks as before"
    now[0] = 61.0
    for number in range(10_000):
        refused(reviewer, f"bogus {number}", f"10.6.{number % 200}.6")
    assert reviewer.may_read("good one", "10.6.6.6") is True, "what was good is asked about again"
    most = pace.ALL_AT_ONCE + 61 * pace.ALL_PER_SECOND + 1
    assert kubernetes.reviewed <= most


def test_who_asks_for_another_protocol_is_answered_and_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever reaches the port had an advice to install WebSockets in the log for each request."""
    asks = HALF + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with ExitStack() as stack:
        one = connected(stack, stack.enter_context(served()))
        one.sendall(asks)
        assert answered(one) == 200
    assert "pgrade" not in caplog.text, caplog.text


def test_the_same_bogus_token_is_asked_about_once() -> None:
    kubernetes = Kubernetes()
    reviewer = KubernetesReviewer(kubernetes, lambda: 0.0)
    assert {refused(reviewer, "bogus", "10.6.6.6") for _ in range(1000)} == {"None"}
    assert kubernetes.reviewed == 1


def test_what_is_kept_of_tokens_is_bounded_and_is_none() -> None:
    now = [0.0]
    reviewer = KubernetesReviewer(Kubernetes(), lambda: now[0])
    for number in range(3 * REMEMBERED_MAX):
        now[0] += 1.0
        assert reviewer.may_read(f"{'good' if number % 2 else 'bogus'} {number}", "a") in (
            True,
            None,
        )
    judgements = reviewer._judgements  # noqa: SLF001  # what a dump of memory shows
    kept = [*judgements._good, *judgements._refused]  # noqa: SLF001  # as above
    assert len(kept) <= 2 * REMEMBERED_MAX
    assert {len(key) for key in kept} == {32}, "they are hashes"
    assert not any(b"good" in key for key in kept)


class Weary:
    """A reviewer to whom too many tokens were sent."""

    def may_read(self, token: str, address: str = "") -> bool | None:
        del token
        assert address == "127.0.0.1"
        raise TooManyTokens


def test_whoever_sends_too_many_tokens_is_told_to_wait() -> None:
    with contextmanager(serve)(Weary()) as site:
        answer = site.get(f"{PREFIX}/jobs", Authorization="Bearer x")
    assert answer.status == 429
    assert answer.headers["Retry-After"] == "5"
    assert b"too many unknown tokens" in answer.data


def test_what_is_no_http_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    with served() as address, ExitStack() as stack, capture_logs() as told:
        for _ in range(20):
            one = connected(stack, address)
            one.sendall(b"not http\r\n\r\n")
            assert answered(one) == 400
    assert [line["event"] for line in told] == ["request_is_no_http"]
    assert not caplog.records
