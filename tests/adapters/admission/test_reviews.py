"""AdmissionReviews over HTTP: what is answered, and what is no question."""

import asyncio
import base64
import json
import socket
from collections.abc import Iterator, MutableMapping
from typing import Any

import pytest
import urllib3
from starlette.types import ASGIApp
from urllib3.util import parse_url

from jobledger.adapters.admission import reviews
from jobledger.adapters.admission.reviews import ALL_BYTES_MAX, BYTES_MAX, Answer, webhook_app
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.kinds.admission import handlers
from jobledger.adapters.kinds.rayjob.admission import VALIDATE_RAYJOB
from jobledger.adapters.kinds.trainjob.admission import DEFAULT_TRAINJOB, VALIDATE_TRAINJOB
from jobledger.core.errors import ClusterUnreachable
from jobledger.core.jobs.admission import ADMITTED
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest
from tests.rules.jobs.test_admission import NOW, trainjob
from tests.rules.rayjob.jobs import rayjob

Document = dict[str, Any]

ANSWER_SECONDS = 30.0


class Silent:
    """An API server that does not answer."""

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        raise ClusterUnreachable(f"{resource.kind} {namespace}/{name}: no answer")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    silent = Silent()
    by_path = handlers(silent, lambda: NOW, strict=False)  # type: ignore[arg-type]  # all that is asked of it
    server = HttpServer(webhook_app(by_path), "127.0.0.1", 0)
    server.start()
    yield server.url
    server.stop()


def ask(url: str, body: bytes) -> urllib3.BaseHTTPResponse:
    return urllib3.request("POST", url, body=body, retries=False, timeout=ANSWER_SECONDS)


def review(new: Document, old: Document | None = None) -> bytes:
    request = {"uid": "u-1", "object": new, "oldObject": old}
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    ).encode()


def response(answer: urllib3.BaseHTTPResponse) -> Document:
    assert answer.status == 200, answer.data
    said: Document = answer.json()
    assert (said["apiVersion"], said["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    found: Document = said["response"]
    assert found.pop("uid") == "u-1"
    return found


def test_who_is_let_in_and_who_is_not(site: str) -> None:
    assert response(ask(f"{site}{VALIDATE_RAYJOB}", review(rayjob()))) == {"allowed": True}
    said = response(ask(f"{site}{VALIDATE_RAYJOB}", review(rayjob({"metadata.name": "Train"}))))
    assert said["allowed"] is False
    assert said["status"]["code"] == 403
    assert 'RayJob.ray.io "Train" is invalid' in said["status"]["message"]


def test_warnings_go_with_what_is_let_in(site: str) -> None:
    said = response(ask(f"{site}{VALIDATE_RAYJOB}", review(rayjob(backoffLimit=-1))))
    assert said["allowed"] is True
    assert "backoffLimit" in said["warnings"][0]


def test_a_patch_is_given_its_time(site: str) -> None:
    job = trainjob(runtimePatches=[{"manager": "acme.io/x"}])
    said = response(ask(f"{site}{DEFAULT_TRAINJOB}", review(job)))
    assert said["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(said["patch"])) == [
        {"op": "add", "path": "/spec/runtimePatches/0/time", "value": "2026-11-23T03:04:05Z"}
    ]


def test_what_cannot_be_judged_now_is_left_to_the_failure_policy(site: str) -> None:
    answer = ask(f"{site}{VALIDATE_TRAINJOB}", review(trainjob()))
    assert answer.status == 503
    assert "ClusterTrainingRuntime /plain: no answer" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "the body is no JSON"),
        (b"[" * 200_000, "the body is no JSON"),
        (b"[]", "the body is no AdmissionReview of admission.k8s.io/v1"),
        (
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}',
            "the body is no AdmissionReview of admission.k8s.io/v1",
        ),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u"}}',
            "request.uid and request.object are needed",
        ),
        (b" " * (BYTES_MAX + 1), f"the review is longer than {BYTES_MAX} bytes"),
    ],
    ids=["nothing", "too deep", "a list", "an old version", "no object", "too long"],
)
def test_what_is_no_review_is_told_so(site: str, body: bytes, why: str) -> None:
    answer = ask(f"{site}{VALIDATE_RAYJOB}", body)
    assert (answer.status, answer.json()) == (400, {"error": why})


def test_anything_at_all_in_an_object_is_judged(site: str) -> None:
    odds: list[Document] = [{}, {"spec": []}, {"metadata": None, "spec": {"runtimePatches": 7}}]
    for odd in odds:
        for path in (VALIDATE_RAYJOB, DEFAULT_TRAINJOB):
            assert "allowed" in response(ask(f"{site}{path}", review(odd, odd)))


def test_half_a_character_in_what_is_quoted_is_answered(site: str) -> None:
    """An API server sends none; whoever else reaches the port had a traceback for each."""
    job = rayjob()
    job["metadata"]["name"] = "\ud800" * 70
    answer = ask(f"{site}{VALIDATE_RAYJOB}", review(job))
    assert answer.status == 200
    assert "\ud800" in response(answer)["status"]["message"]
    uid = review(rayjob()).replace(b"u-1", b"\\udfff")
    assert ask(f"{site}{VALIDATE_RAYJOB}", uid).json()["response"]["uid"] == "\udfff"


def begun(site: str, length: int, sent: bytes) -> socket.socket:
    """Return a connection on which a review of a length was begun, and something of it sent."""
    where = parse_url(site)
    assert where.host
    assert where.port
    connection = socket.create_connection((where.host, where.port), ANSWER_SECONDS)
    lines = f"POST {VALIDATE_RAYJOB} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    connection.sendall(f"{lines}Content-Length: {length}\r\n\r\n".encode() + sent)
    return connection


def said_on(connection: socket.socket) -> tuple[int, str]:
    """Read an answer whole; return the code and what is said."""
    read = b""
    while piece := connection.recv(65_536):
        read += piece
    connection.close()
    top, _, body = read.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(body)["error"]


def test_a_review_that_does_not_come_is_given_up(
    site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviews, "BODY_SECONDS", 1.0)
    slow = [begun(site, 100, b"{") for _ in range(30)]
    assert response(ask(f"{site}{VALIDATE_RAYJOB}", review(rayjob()))) == {"allowed": True}
    for connection in slow:
        assert said_on(connection) == (400, "the review did not come in time")


class Sent:
    """A review that comes in pieces, to the application itself; the last piece when it may."""

    def __init__(self, first: bytes, last: bytes) -> None:
        self.has_begun, self.may_go_on = asyncio.Event(), asyncio.Event()
        self._pieces = [first, last]
        self.codes: list[int] = []

    async def receive(self) -> MutableMapping[str, Any]:
        if len(self._pieces) == 1:
            self.has_begun.set()
            await self.may_go_on.wait()
        piece = self._pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(self._pieces)}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.codes.append(message["status"])

    async def to(self, app: ASGIApp) -> int:
        """Send it; return the code of the answer."""
        scope = {"type": "http", "method": "POST", "path": "/x", "headers": [], "query_string": b""}
        await app(scope, self.receive, self.send)
        return self.codes[0]


def test_of_reviews_that_are_large_and_slow_only_so_much_is_held() -> None:
    """Strangers may reach the port: each of two hundred bodies of 8 MB would be kept and read."""
    app = webhook_app({"/x": lambda new, old: Answer(verdict=ADMITTED)})  # noqa: ARG005 a handler
    most, large = ALL_BYTES_MAX // BYTES_MAX, b" " * BYTES_MAX

    async def codes() -> tuple[int, int, set[int]]:
        slow = [Sent(large, review(rayjob())) for _ in range(most)]
        tasks = [asyncio.create_task(one.to(app)) for one in slow]
        for one in slow:
            await one.has_begun.wait()
        beyond = Sent(b" ", review(rayjob()))
        beyond.may_go_on.set()
        refused = await beyond.to(app)
        for one in slow:
            one.may_go_on.set()
        ended = await asyncio.gather(*tasks)
        later = Sent(b" ", review(rayjob()))
        later.may_go_on.set()
        return refused, await later.to(app), set(ended)

    refused, later, ended = asyncio.run(codes())
    assert (refused, later) == (503, 200)
    assert ended <= {400, 503}
