"""One notice over HTTP: what counts as taken, and what never leaves, is followed or waited for."""

import socket
from collections.abc import Iterator
from datetime import timedelta

import pytest

from jobledger.adapters.notifying import sending
from jobledger.adapters.notifying.rules_file import Secret, Target
from jobledger.adapters.notifying.sending import NotTaken, send
from jobledger.core.notifications.messages import Form
from tests.support.canned_server import Answer, CannedServer, End, NoAnswer, Scripted, Stream
from tests.support.notices import a_notice
from tests.support.records import NOON

PASSWORD = "T000SECRET"
PATH = f"/services/{PASSWORD}"


@pytest.fixture
def server() -> Iterator[CannedServer]:
    with CannedServer() as running:
        yield running


class Told:
    """A target whose address is in the environment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def target(self, url: str, form: Form = Form.WEBHOOK, token: str = "") -> Target:
        self._monkeypatch.setenv("THE_URL", url)
        self._monkeypatch.setenv("THE_TOKEN", token)
        secret = Secret(env="THE_TOKEN") if token else None
        return Target(form=form, url=Secret(env="THE_URL"), token=secret)

    def trouble(self, url: str, token: str = "") -> NotTaken:
        with pytest.raises(NotTaken) as met:
            send(self.target(url, token=token), a_notice(), NOON)
        told = f"{met.value} {met.value!r} {met.value.__cause__!r}"
        assert PASSWORD not in told
        assert "hush" not in told
        return met.value


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    return Told(monkeypatch)


@pytest.mark.parametrize("status", [200, 202, 204])
def test_what_is_answered_with_success_is_taken(
    server: CannedServer, told: Told, status: int
) -> None:
    server.add(Answer(status))
    send(told.target(server.url + PATH, token="hush"), a_notice(), NOON)
    [request] = server.received
    assert (request.method, request.target) == ("POST", PATH)
    assert request.json["id"] == str(a_notice().id) == request.headers["Idempotency-Key"]
    assert request.headers["Authorization"] == "Bearer hush"
    assert request.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", ["", "/"])
def test_an_alertmanager_may_be_told_without_its_path(
    server: CannedServer, told: Told, path: str
) -> None:
    server.add(Answer())
    send(told.target(server.url + path, Form.ALERTMANAGER), a_notice(), NOON)
    assert server.received[0].path == "/api/v2/alerts"
    assert server.received[0].json[0]["labels"]["alertname"] == "failures"


@pytest.mark.parametrize(
    ("status", "for_good"),
    [
        *((status, True) for status in (400, 413, 422)),
        *((status, False) for status in (401, 403, 404, 408, 429, 500, 503)),
    ],
)
def test_a_refusal_says_whether_it_is_worth_trying_again(
    server: CannedServer, told: Told, status: int, for_good: bool
) -> None:
    server.add(Answer(status, body=f"no: {PASSWORD}".encode()))
    error = told.trouble(server.url + PATH, "hush")
    assert str(error) == f"it answered {status}"
    assert error.for_good is for_good


@pytest.mark.parametrize(
    ("said", "again_in"),
    [("30", timedelta(seconds=30)), ("", None), ("soon", None), ("-1", None), ("9" * 30, None)],
)
def test_a_pause_that_is_asked_for_is_heard(
    server: CannedServer, told: Told, said: str, again_in: timedelta | None
) -> None:
    server.add(Answer(429, headers={"Retry-After": said}))
    assert told.trouble(server.url).again_in == again_in


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(server: CannedServer, told: Told, status: int) -> None:
    with CannedServer(Answer()) as elsewhere:
        server.add(Answer(status, headers={"Location": elsewhere.url + PATH}))
        error = told.trouble(server.url + PATH, "hush")
        assert str(error) == f"it sends us elsewhere ({status}), where we do not go"
        assert elsewhere.received == []


def test_an_answer_without_an_end_is_not_read(server: CannedServer, told: Told) -> None:
    server.add(Stream(parts=[b"x" * 65536], end=End.SILENCE))
    send(told.target(server.url), a_notice(), NOON)


@pytest.mark.parametrize("answer", [NoAnswer(End.CUT), NoAnswer(End.RESET), NoAnswer(End.SILENCE)])
def test_a_target_that_does_not_answer_is_given_up_after_a_while(
    server: CannedServer, told: Told, answer: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "ANSWER_SECONDS", 0.2)
    server.add(answer)
    assert str(told.trouble(server.url + PATH)).startswith("it was not reached: ")


def test_a_target_that_is_not_there_is_not_reached(told: Told) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    told.trouble(f"http://127.0.0.1:{port}{PATH}")
    told.trouble(f"http://nowhere.invalid{PATH}")


@pytest.mark.parametrize(
    "url",
    [
        f"ftp://a.example{PATH}",
        PATH,
        f"https://me:{PASSWORD}@a.example",
        "file:///etc/passwd",
        f"http://[{PASSWORD}/",
        f"http:///{PASSWORD}",
    ],
)
def test_what_is_no_address_is_not_asked(told: Told, url: str) -> None:
    assert str(told.trouble(url)) == "its address is not http(s)://host…, or has a user in it"


@pytest.mark.parametrize("url", [f"http://a.example/{PASSWORD}\r\nX: y", f"http://a/ {PASSWORD}"])
def test_an_address_holds_no_second_header(told: Told, url: str) -> None:
    assert "characters that none has" in str(told.trouble(url))


def test_a_token_holds_no_second_header(server: CannedServer, told: Told) -> None:
    assert "characters that none has" in str(told.trouble(server.url, "hush\r\nX: y"))
    assert server.received == []


def test_a_token_is_not_sent_in_the_clear_to_another_machine(told: Told) -> None:
    for host in ("a.example", "192.0.2.1", "127.0.0.1.example"):
        assert str(told.trouble(f"http://{host}/x", "hush")) == "a token is sent over https alone"


def test_an_address_that_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THE_URL", raising=False)
    with pytest.raises(NotTaken, match="the variable THE_URL is empty or not there"):
        send(Target(form=Form.WEBHOOK, url=Secret(env="THE_URL")), a_notice(), NOON)
