"""Whatever answers at the address of a head: a job's status is believed only if it makes sense."""

import json
import socket
from contextlib import closing

import pytest

from jobledger.adapters.ray import deadline
from jobledger.adapters.ray.job_api import ANSWER_BYTES, RayJobApi
from jobledger.core.errors import RayApiError, RayApiUnreachable, RayJobNotFound
from tests.adapters.ray.scripted_head import Script, ScriptedHead, Then, answer

RUNNING = {"status": "RUNNING", "submission_id": "job", "message": "Job is currently running."}
KEPT_OPEN = Script(
    b'HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{"status": "RUNNING"}', Then.SILENCE
)
FEW_SECONDS = 5.0
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def refused(api: RayJobApi, script: Script) -> RayApiError:
    with ScriptedHead(script) as head, pytest.raises(RayApiError) as caught:
        api.info(head.address, "job")
    assert head.first_lines == ["GET /api/jobs/job"], "one request, no retries"
    assert head.address in str(caught.value)
    assert len(str(caught.value)) < 1000
    return caught.value


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (answer(b"<html>Welcome</html>"), "did not answer with JSON"),
        (answer([RUNNING]), "JSON that is no object"),
        (answer(b""), "did not answer with JSON"),
        (answer(b"[" * 100_000), "did not answer with JSON"),
        (answer(b'{"status": "RUNN\xff\xfe"}'), "did not answer with JSON"),
        (answer(b"9" * 10_000), "did not answer with JSON"),
        (answer({"message": "fine"}), "without a status"),
        (answer({"status": None}), "without a status"),
        (answer({"status": ["RUNNING"]}), "without a status"),
        (answer({"status": ""}), "unknown status ''"),
        (answer({"status": "ALMOST" * 1000}), "unknown status 'ALMOST"),
        (answer({**RUNNING, "submission_id": "other"}), "about another job than 'job'"),
        (answer(b"moved", "302 Found", "Location: http://127.0.0.1:1/\r\n"), "answered 302"),
        (answer(RUNNING, "500 Internal Server Error"), "answered 500"),
        (answer({}, "503 Service Unavailable"), "answered 503"),
        (answer(b"upstream connect error\nmore", "502 Bad Gateway"), "502: upstream connect error"),
        (answer(b"who are you", "401 Unauthorized"), "answered 401: who are you; check the token"),
        (answer(b"", "403 Forbidden"), "answered 403; check the token"),
    ],
    ids=[
        "a page",
        "a list",
        "nothing",
        "deep nesting",
        "no UTF-8",
        "a number",
        "no status",
        "status null",
        "status list",
        "status empty",
        "status unknown",
        "another job",
        "a redirect",
        "500 with JSON",
        "503 with JSON",
        "502 of a proxy",
        "401",
        "403",
    ],
)
def test_an_answer_that_makes_no_sense_is_no_answer(
    api: RayJobApi, script: Script, says: str
) -> None:
    error = refused(api, script)
    assert isinstance(error, RayApiUnreachable)
    assert says in str(error)


@pytest.mark.parametrize(
    "script",
    [
        Script(b"SSH-2.0-OpenSSH_9.2\r\n"),
        Script(b"\x00\xff" * 5000),
        Script(b""),
        Script(b"", Then.RESET),
        Script(b"HTTP/1.1 200 OK\r\nContent-Len"),
        Script(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"status": "RUNNING"'),
        Script(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", Then.RESET),
        Script(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"),
        Script(b"HTTP/1.1 abc OK\r\n\r\n"),
        Script(b"HTTP/1.1 200 OK\r\n" + b"X-Header: 1\r\n" * 500 + b"\r\n"),
        Script(b"HTTP/1.1 200 OK\r\nX-Header: " + b"x" * 100_000),
        Script(CHUNKED + b'14\r\n{"status": "RUNNING"'),
        Script(CHUNKED + b'zz\r\n{"status": "RUNNING"}\r\n0\r\n\r\n'),
        answer(b"\x1f\x8b\x08garbage", headers="Content-Encoding: gzip\r\n"),
        Script(b"HTTP/1.1 404 Not Found\r\nContent-Length: 500\r\n\r\n{"),
    ],
    ids=[
        "another protocol",
        "bytes",
        "closed",
        "reset",
        "cut in a header",
        "cut in the body",
        "reset in the body",
        "negative length",
        "no status",
        "many headers",
        "endless header",
        "cut chunk",
        "no chunk length",
        "no gzip",
        "cut refusal",
    ],
)
def test_an_answer_that_breaks_off_is_no_answer(api: RayJobApi, script: Script) -> None:
    assert isinstance(refused(api, script), RayApiUnreachable)


@pytest.mark.parametrize(
    "script",
    [
        Script(b"", Then.SILENCE),
        Script(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", Then.SILENCE),
        Script(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000, trickle=True),
        Script(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, trickle=True),
        Script(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + b" " * 10_000, trickle=True),
        Script(CHUNKED + b"1\r\n \r\n" * 10_000, trickle=True),
        Script(CHUNKED + b"0" * 10_000, trickle=True),
    ],
    ids=[
        "silent",
        "silent in the body",
        "slow header",
        "slow continues",
        "slow body",
        "slow chunks",
        "slow chunk length",
    ],
)
def test_a_head_that_hangs_or_trickles_holds_nobody_for_long(
    impatient: RayJobApi, script: Script
) -> None:
    error = refused(impatient, script)
    assert isinstance(error, RayApiUnreachable)
    assert "did not answer in full within 0.3 s" in str(error)


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\n", CHUNKED + b"1\r\n{\r\n0\r\n"])
def test_of_headers_without_end_no_more_is_read_than_of_long_ones(
    api: RayJobApi, begin: bytes
) -> None:
    script = Script(begin + b"X-Header: 1\r\n" * 80_000, Then.SILENCE)
    assert "Too much around the body" in str(refused(api, script))


def test_the_time_of_a_call_is_anew_on_a_kept_connection() -> None:
    """Time enough for the first answer, which comes, also on a machine that is busy."""
    made = RayJobApi(call_seconds=FEW_SECONDS, log_seconds=FEW_SECONDS, proxies={})
    with closing(made) as api, ScriptedHead(KEPT_OPEN) as head:
        assert api.info(head.address, "job").status == "RUNNING"
        with pytest.raises(RayApiUnreachable, match=r"within 5 s"):
            api.info(head.address, "job")
        assert len(head.requests) == 1, "the second request went over the first connection"


def test_a_connection_that_was_idle_for_long_is_not_trusted(
    api: RayJobApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "IDLE_SECONDS", 0.0)
    with ScriptedHead(KEPT_OPEN) as head:
        assert api.info(head.address, "job").status == "RUNNING"
        assert api.info(head.address, "job").status == "RUNNING"
        assert len(head.requests) == 2


def test_an_answer_without_end_is_cut_off(api: RayJobApi) -> None:
    error = refused(api, answer(b" " * (ANSWER_BYTES + 1)))
    assert isinstance(error, RayApiUnreachable)
    assert "answered more than" in str(error)
    huge = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + b'{"message": "' + b"x" * 10**7
    assert "answered more than" in str(refused(api, Script(huge)))


def test_a_404_is_not_found_whatever_it_says(api: RayJobApi) -> None:
    for body in (b"Job job does not exist", b"", b"\xff\x00", json.dumps(RUNNING).encode()):
        assert isinstance(refused(api, answer(body, "404 Not Found")), RayJobNotFound)


def test_after_a_bad_answer_the_next_good_one_counts(api: RayJobApi) -> None:
    with ScriptedHead(Script(b"", Then.RESET), answer(RUNNING)) as head:
        with pytest.raises(RayApiUnreachable):
            api.info(head.address, "job")
        assert api.info(head.address, "job").status == "RUNNING"


@pytest.mark.parametrize(
    "address",
    ["", "head", "http://head:8265", "head:8265/x", "a@head:8265", "head:0", "head:99999", "h:1\r"],
)
def test_an_address_is_host_and_port(api: RayJobApi, address: str) -> None:
    with pytest.raises(RayApiUnreachable, match="must be host:port without a scheme"):
        api.info(address, "job")


def test_a_refused_connection_is_said_so(api: RayJobApi) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(RayApiUnreachable, match="Connection refused"):
            api.info(f"127.0.0.1:{held.getsockname()[1]}", "job")


def test_a_name_that_does_not_resolve_is_said_so(api: RayJobApi) -> None:
    with pytest.raises(RayApiUnreachable, match="has a name that cannot be resolved"):
        api.info("no-such-head.invalid:8265", "job")
