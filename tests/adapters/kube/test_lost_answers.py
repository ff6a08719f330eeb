"""Requests whose answer does not come, or breaks off: sent once, given up in time, told as one."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.core.errors import ClusterUnreachable, RequestThrottled
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import Manifest
from tests.adapters.kube.samples import rayjob, transport_to
from tests.support.canned_server import (
    Answer,
    CannedServer,
    End,
    Gate,
    NoAnswer,
    Scripted,
    Stream,
    refusal,
)

JOB = rayjob("a", 1)

OF_ANOTHER: dict[str, bytes | Manifest] = {
    "a page": b"<html>come back later</html>",
    "an empty object": {},
    "another name": rayjob("b", 1),
    "another namespace": rayjob("a", 1, namespace="elsewhere"),
}

CALLS: dict[str, Callable[[KubernetesCluster], object]] = {
    "get": lambda cluster: cluster.get(RAYJOBS, "team", "a"),
    "list": lambda cluster: cluster.list(RAYJOBS),
    "each": lambda cluster: list(cluster.each(RAYJOBS)),
    "create": lambda cluster: cluster.create(RAYJOBS, JOB),
    "replace": lambda cluster: cluster.replace(RAYJOBS, JOB),
    "merge_patch": lambda cluster: cluster.merge_patch(RAYJOBS, "team", "a", {}),
    "apply": lambda cluster: cluster.apply(RAYJOBS, JOB, field_manager="us"),
    "delete": lambda cluster: cluster.delete(RAYJOBS, "team", "a"),
    "pod_log": lambda cluster: cluster.pod_log("team", "p"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("end", [End.CUT, End.RESET])
def test_a_request_without_an_answer_is_sent_once(call: str, end: End) -> None:
    """By default urllib3 sends GET, PUT and DELETE four times to a server that hangs up."""
    with CannedServer(*[NoAnswer(end)] * 5) as server:
        with pytest.raises(ClusterUnreachable, match="no answer"):
            CALLS[call](KubernetesCluster(transport_to(server)))
        assert len(server.received) == 1


@pytest.mark.parametrize("call", CALLS)
def test_a_request_to_be_repeated_later_is_not_repeated_here(call: str) -> None:
    """The client would wait and repeat reads by itself."""
    throttled = Answer(429, refusal(429, "TooManyRequests").body, {"Retry-After": "1"})
    with CannedServer(*[throttled] * 5) as server:
        with pytest.raises(RequestThrottled):
            CALLS[call](KubernetesCluster(transport_to(server)))
        assert len(server.received) == 1


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "answer",
    [NoAnswer(End.SILENCE), Stream((b'{"items":',), End.SILENCE)],
    ids=["no answer", "half an answer"],
)
def test_every_request_has_a_time_limit(call: str, answer: Scripted) -> None:
    """Without a limit of its own the client waits for ever."""
    with CannedServer(answer) as server:
        cluster = KubernetesCluster(transport_to(server, read_timeout_seconds=0.05))
        with pytest.raises(ClusterUnreachable, match="Timeout"):
            CALLS[call](cluster)


@pytest.mark.parametrize("call", [call for call in CALLS if call not in ("list", "pod_log")])
@pytest.mark.parametrize("answer", OF_ANOTHER)
def test_an_answer_about_something_else_says_nothing_of_what_was_asked(
    call: str, answer: str
) -> None:
    """A proxy's own page, or somebody else's answer: taken for done, nobody would do it again."""
    with CannedServer(Answer(body=OF_ANOTHER[answer])) as server:
        cluster = KubernetesCluster(transport_to(server))
        with pytest.raises(ClusterUnreachable, match="the answer cannot be read"):
            CALLS[call](cluster)


@pytest.mark.parametrize("answer", [JOB, {"kind": "Status", "status": "Success"}])
def test_a_deletion_is_answered_by_the_object_or_a_status(answer: Manifest) -> None:
    with CannedServer(Answer(body=answer)) as server:
        KubernetesCluster(transport_to(server)).delete(RAYJOBS, "team", "a")


@pytest.mark.parametrize("end", [End.CUT, End.RESET])
def test_an_answer_that_breaks_off_is_none(end: End) -> None:
    with CannedServer(Stream((b'{"kind":"RayJob"}',), end)) as server:
        cluster = KubernetesCluster(transport_to(server))
        with pytest.raises(ClusterUnreachable, match="no answer"):
            cluster.get(RAYJOBS, "team", "a")


def test_an_error_that_breaks_off_is_still_that_error() -> None:
    cut = Answer(429, b"", {"Content-Length": "100", "Connection": "close"})
    with CannedServer(cut) as server:
        cluster = KubernetesCluster(transport_to(server))
        with pytest.raises(RequestThrottled):
            cluster.get(RAYJOBS, "team", "a")


def test_a_server_that_is_not_there_is_named_by_what_the_system_says() -> None:
    with CannedServer() as server:
        transport = transport_to(server)
    with pytest.raises(ClusterUnreachable, match="Connection refused") as caught:
        KubernetesCluster(transport).get(RAYJOBS, "team", "a")
    assert caught.value.__cause__ is not None


def test_a_lost_answer_does_not_spoil_the_next() -> None:
    with CannedServer(NoAnswer(), Stream((b"{",), End.CUT), Answer(body=JOB)) as server:
        cluster = KubernetesCluster(transport_to(server))
        for _ in range(2):
            with pytest.raises(ClusterUnreachable):
                cluster.get(RAYJOBS, "team", "a")
        assert cluster.get(RAYJOBS, "team", "a") == JOB


def test_an_answer_read_in_part_does_not_spoil_the_next() -> None:
    with CannedServer(Answer(body=b"x" * 5000), Answer(body=JOB)) as server:
        cluster = KubernetesCluster(transport_to(server))
        assert cluster.pod_log("team", "p", limit_bytes=10) == "x" * 10
        assert cluster.get(RAYJOBS, "team", "a") == JOB


def test_more_threads_than_kept_connections_all_get_their_answers() -> None:
    gate, threads = Gate(), 6
    found = {"metadata": {"name": "a", "namespace": "team"}}
    body = json.dumps(found).encode()
    with CannedServer(*[Stream((gate, body))] * threads) as server:
        settings = ConnectionSettings(host=server.url, connections=2)
        cluster = KubernetesCluster(connect(settings, {}))
        with ThreadPoolExecutor(threads) as pool:
            answers = [pool.submit(cluster.get, RAYJOBS, "team", "a") for _ in range(threads)]
            server.wait_for_requests(threads)
            gate.set()
            assert [answer.result() for answer in answers] == [found] * threads
