"""The token reaches the head and nobody else; the standard proxy variables are honoured."""

import traceback
from collections.abc import Callable

import pytest

from jobledger.adapters.ray.job_api import RayJobApi
from jobledger.core.errors import RayApiError, RayApiUnreachable
from jobledger.core.ports.ray_jobs import Submission
from tests.adapters.ray.scripted_head import Script, ScriptedHead, Then, answer
from tests.support.ray_head import FakeRayHead

TOKEN = "s3cr3t-t0k3n-of-the-head"
RUNNING = answer({"status": "RUNNING"})
SERVICE = "rj-head-svc.default.svc.cluster.local:8265"


def calls(api: RayJobApi, address: str, token: str) -> list[Callable[[], object]]:
    submission = Submission(
        entrypoint="x", submission_id="job", metadata={}, runtime_env={}, resources={}
    )
    return [
        lambda: api.info(address, "job", token),
        lambda: api.submit(address, submission, token),
        lambda: api.stop(address, "job", token),
        lambda: api.log_tail(address, "job", token),
    ]


def test_a_head_that_asks_for_a_token_is_given_it(api: RayJobApi) -> None:
    with FakeRayHead(TOKEN) as head:
        for call in reversed(calls(api, head.address, f"{TOKEN}\n")[:2]):
            call()
        with pytest.raises(RayApiUnreachable, match="answered 401"):
            api.info(head.address, "job", "another")
        with pytest.raises(RayApiUnreachable, match="answered 401"):
            api.info(head.address, "job")


@pytest.mark.parametrize(
    "script",
    [
        answer(f"invalid token {TOKEN}".encode(), "401 Unauthorized"),
        answer(f"Traceback \nError: header Bearer {TOKEN}".encode(), "400 Bad Request"),
        answer(f"{TOKEN}".encode(), "500 Internal Server Error"),
        answer(f"<html>{TOKEN}".encode()),
        Script(f"HTTP/1.1 {TOKEN}\r\n\r\n".encode()),
        Script(f"{TOKEN}\r\n\r\n".encode(), Then.RESET),
    ],
    ids=["401", "400", "500", "200", "status line", "garbage"],
)
def test_the_token_is_in_no_message_even_if_the_head_repeats_it(
    api: RayJobApi, script: Script
) -> None:
    with ScriptedHead(script) as head:
        for call in calls(api, head.address, TOKEN):
            with pytest.raises(RayApiError) as caught:
                call()
            assert TOKEN not in str(caught.value)
            assert TOKEN not in repr(caught.value)


@pytest.mark.parametrize("token", [f"{TOKEN}\r\nX-Other: 1", f"{TOKEN} é", f"{TOKEN}\x00"])
def test_a_token_that_no_header_can_carry_is_not_sent_and_not_shown(
    api: RayJobApi, token: str
) -> None:
    with ScriptedHead(RUNNING) as head:
        for call in calls(api, head.address, token):
            with pytest.raises(RayApiUnreachable, match="correct the Secret") as caught:
                call()
            assert TOKEN not in "".join(traceback.format_exception(caught.value))
    assert head.requests == []


def through_environment(monkeypatch: pytest.MonkeyPatch, **variables: str) -> RayJobApi:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return RayJobApi(call_seconds=20.0)


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_service_is_reached_through_the_proxy(
    monkeypatch: pytest.MonkeyPatch, name: str, scheme: str
) -> None:
    with ScriptedHead(RUNNING) as proxy:
        api = through_environment(monkeypatch, **{name: f"{scheme}{proxy.address}"})
        assert api.info(SERVICE, "job").status == "RUNNING"
        api.close()
    assert proxy.first_lines == [f"GET http://{SERVICE}/api/jobs/job"]
    assert f"Host: {SERVICE}" in proxy.requests[0]


@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
@pytest.mark.parametrize("value", ["127.0.0.1", "localhost, 127.0.0.1", "*"])
def test_what_is_excepted_is_reached_directly(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    with ScriptedHead(RUNNING) as head, ScriptedHead(RUNNING) as proxy:
        api = through_environment(monkeypatch, HTTP_PROXY=proxy.address, **{name: value})
        assert api.info(head.address, "job").status == "RUNNING"
        api.close()
    assert head.first_lines == ["GET /api/jobs/job"]
    assert proxy.requests == []


def test_the_password_for_the_proxy_goes_to_the_proxy() -> None:
    with ScriptedHead(RUNNING) as proxy:
        api = RayJobApi(proxies={"http": f"http://user:p%40ss@{proxy.address}"})
        api.info(SERVICE, "job")
        api.close()
    assert "Proxy-Authorization: Basic dXNlcjpwQHNz" in proxy.requests[0].replace(
        "proxy-a", "Proxy-A"
    )


def test_a_proxy_that_hangs_or_is_not_there_holds_nobody_for_long() -> None:
    with ScriptedHead(Script(b"HTTP/1.1 200", Then.SILENCE)) as proxy:
        api = RayJobApi(call_seconds=0.3, proxies={"http": f"http://u:{TOKEN}@{proxy.address}"})
        with pytest.raises(RayApiUnreachable, match=r"within 0\.3 s"):
            api.info(SERVICE, "job")
    with pytest.raises(RayApiUnreachable) as caught:
        api.info(SERVICE, "job")
    assert TOKEN not in str(caught.value)
    api.close()


def test_a_proxy_of_another_kind_is_refused() -> None:
    api = RayJobApi(proxies={"all": "socks5://127.0.0.1:1"})
    with pytest.raises(RayApiUnreachable, match="must be an http:// address"):
        api.info(SERVICE, "job")
    api.close()
