"""How a document becomes the body of a request."""

import gzip
import json
from types import MappingProxyType

import pytest

from jobledger.adapters.kube import client
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.errors import UnreadableAnswer
from jobledger.adapters.kube.transport import Request, encode
from jobledger.core.errors import ClusterUnreachable, NoWayToCluster, RequestThrottled
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import Json
from tests.adapters.kube.samples import rayjob
from tests.support.canned_server import Answer, CannedServer, refusal


@pytest.mark.parametrize(
    "document",
    [
        {"plain": "text", "number": 1.5, "nothing": None, "list": [True, 2]},
        {"line": "\x85\u2028\u2029", "control": "\x01\x7f\x9f\ufeff"},
        {"half a character": "\ud800"},
        {"huge": 10**40},
        {"read-only": MappingProxyType({"tuple": ("a", "b")})},
    ],
)
def test_a_body_is_ascii_and_says_the_same(document: Json) -> None:
    """An apply is read as YAML, where some characters end a line and others are refused."""
    body = encode(document)
    assert all(0x20 <= byte < 0x7F for byte in body)
    plain = json.dumps(document, default=dict)
    assert json.loads(body) == json.loads(plain)


def test_credentials_that_were_refused_are_asked_for_again() -> None:
    with CannedServer(refusal(401, "Unauthorized", "no"), Answer(body=rayjob("a", 1))) as server:
        transport = connect(
            ConnectionSettings(host=server.url, token="old", credentials_seconds=3600), {}
        )
        cluster = KubernetesCluster(transport)
        with pytest.raises(NoWayToCluster):
            cluster.get(RAYJOBS, "team", "a")
        transport._api.configuration.api_key["BearerToken"] = "Bearer new"  # noqa: SLF001 as a plug-in does
        cluster.get(RAYJOBS, "team", "a")
        assert [asked.headers["authorization"] for asked in server.received] == [
            "Bearer old",
            "Bearer new",
        ]


def test_of_a_small_answer_that_unpacks_into_a_large_one_only_the_beginning_is_kept() -> None:
    """A megabyte of gzip is a gigabyte of text; the answer's length says nothing of that."""
    packed = gzip.compress(b"0" * 4_000_000)
    headers = {"Content-Encoding": "gzip"}
    with CannedServer(Answer(body=packed, headers=headers)) as server:
        transport = connect(ConnectionSettings(host=server.url), {})
        assert len(packed) < 100_000
        answer = transport.send(Request(method="GET", path="/bomb"), max_bytes=100_000)
        assert answer == b"0" * 100_000


def test_a_small_answer_that_is_packed_is_read_whole() -> None:
    packed = gzip.compress(b'{"kind": "Status"}')
    with CannedServer(Answer(body=packed, headers={"Content-Encoding": "gzip"})) as server:
        transport = connect(ConnectionSettings(host=server.url), {})
        assert transport.send(Request(method="GET", path="/")) == b'{"kind": "Status"}'


@pytest.mark.parametrize("packed", ["gzip", "br"])
def test_an_answer_that_cannot_be_unpacked_is_none(packed: str) -> None:
    headers = {"Content-Encoding": packed, "Retry-After": "7"}
    answers = (Answer(body=b"{}", headers=headers), Answer(503, b"{}", headers))
    with CannedServer(*answers) as server:
        cluster = KubernetesCluster(connect(ConnectionSettings(host=server.url), {}))
        with pytest.raises(ClusterUnreachable):
            cluster.get(RAYJOBS, "team", "a")
        with pytest.raises(RequestThrottled) as caught:  # the status line alone says enough
            cluster.get(RAYJOBS, "team", "a")
        assert caught.value.retry_after_seconds == 7


def test_no_more_is_read_of_an_answer_than_an_object_has() -> None:
    """A server that packs a gigabyte of nothing into a megabyte cannot fill our memory."""
    packed = gzip.compress(b'{"metadata": "' + b"0" * client.OBJECT_BYTES_MAX + b'"}')
    with CannedServer(Answer(body=packed, headers={"Content-Encoding": "gzip"})) as server:
        cluster = KubernetesCluster(connect(ConnectionSettings(host=server.url), {}))
        with pytest.raises(UnreadableAnswer):
            cluster.get(RAYJOBS, "team", "a")
