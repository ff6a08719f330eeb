"""A head's name is its tenant's to point: at nothing that only this process can reach."""

import socket
from contextlib import closing

import pytest

from jobledger.adapters.ray.job_api import RayJobApi
from jobledger.adapters.ray.log_streams import LogStreams
from jobledger.adapters.ray.targets import refuse_target
from jobledger.core.errors import RayApiUnreachable
from tests.adapters.ray.scripted_head import ScriptedHead, answer

HEAD = "train-head-svc.ml.svc.cluster.local"
RUNNING = {"status": "RUNNING", "submission_id": "job"}


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.170.2",
        "::ffff:169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "127.0.0.1",
        "127.8.8.8",
        "::1",
        "::ffff:127.0.0.1",
    ],
)
def test_what_can_be_no_head_is_refused(address: str) -> None:
    with pytest.raises(OSError, match="where no Ray head is; nothing was sent") as refusal:
        refuse_target(HEAD, address)
    assert str(refusal.value).startswith(f"{HEAD} leads to "), "a job's story says so"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        (HEAD, "10.0.0.7"),
        (HEAD, "192.168.3.4"),
        (HEAD, "100.64.1.2"),
        (HEAD, "172.16.9.9"),
        (HEAD, "8.8.8.8"),
        (HEAD, "fd12::7"),
        (HEAD, "::ffff:10.0.0.7"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("localhost", "127.0.0.1"),
    ],
)
def test_what_may_be_a_head_is_asked(host: str, address: str) -> None:
    refuse_target(host, address)


def test_a_name_that_leads_to_this_machine_is_not_asked_by_anybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first address is a head's: whoever answers for a name may give two."""
    with (
        ScriptedHead(answer(RUNNING)) as inner,
        closing(RayJobApi(proxies={})) as api,
        closing(LogStreams(proxies={})) as streams,
    ):
        port = inner.address.rpartition(":")[2]
        found = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, int(port)))
            for host in ("127.0.0.2", "127.0.0.1")
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        with pytest.raises(RayApiUnreachable, match="where no Ray head is; nothing was sent"):
            api.info(f"{HEAD}:{port}", "job")
        with pytest.raises(RayApiUnreachable, match="cannot be followed"):
            streams.follow(f"{HEAD}:{port}", "job", "", lambda: None)
        assert inner.requests == []


@pytest.mark.parametrize("code", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"])
def test_where_a_head_sends_whoever_asks_nobody_goes(code: str) -> None:
    with ScriptedHead(answer(RUNNING)) as inner:
        there = f"Location: http://{inner.address}/api/jobs/job\r\n"
        with (
            ScriptedHead(answer(b"", code, headers=there)) as head,
            closing(RayJobApi(proxies={})) as api,
        ):
            with pytest.raises(RayApiUnreachable):
                api.info(head.address, "job")
            with pytest.raises(RayApiUnreachable):
                api.log_tail(head.address, "job")
            assert len(head.requests) == 2
        assert inner.requests == []
