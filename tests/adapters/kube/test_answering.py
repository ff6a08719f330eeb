"""Whether the API server answers at all: what `/readyz`, a metric and log lines go by."""

import pytest
from structlog.testing import capture_logs

from jobledger.adapters.kube.answering import UNANSWERED_SECONDS, Answering
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.core.errors import ClusterError
from jobledger.core.ports.cluster import RAYJOBS
from tests.support.canned_server import Answer, CannedServer, End, NoAnswer, Scripted

REFUSED = Answer(401, {"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized"})
DENIED = 'admission webhook "v.tenant.example" denied the request: no'
OF_A_WEBHOOK = Answer(401, {"kind": "Status", "reason": "Unauthorized", "message": DENIED})
NOT_FOUND = Answer(404, {"kind": "Status", "reason": "NotFound", "message": "none"})
FORBIDDEN = Answer(403, {"kind": "Status", "reason": "Forbidden", "message": "no"})


class Hours:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (REFUSED, REFUSED, "401 Unauthorized"),
        (REFUSED, NOT_FOUND, ""),
        (REFUSED, FORBIDDEN, ""),
        (REFUSED, OF_A_WEBHOOK, ""),
        (NOT_FOUND, REFUSED, ""),
        (NoAnswer(End.CUT), REFUSED, "no answer"),
        (REFUSED, NoAnswer(End.CUT), "401 Unauthorized"),
    ],
)
def test_only_an_answer_that_is_no_401_counts(first: Scripted, second: Scripted, told: str) -> None:
    hours = Hours()
    with CannedServer(first, second) as server:
        transport = connect(ConnectionSettings(host=server.url), {})
        transport.answering = Answering(hours)
        cluster = KubernetesCluster(transport)
        for _ in range(2):
            with pytest.raises(ClusterError):
                cluster.create(RAYJOBS, {"metadata": {"namespace": "n", "name": "a"}})
            hours.now += UNANSWERED_SECONDS / 2
    assert told in transport.answering.trouble()
    assert bool(told) == bool(transport.answering.trouble())


def test_it_is_told_once_a_minute_and_once_it_is_over() -> None:
    hours = Hours()
    answering = Answering(hours)
    answering.is_told = True
    with capture_logs() as lines:
        for hours.now in (0.0, UNANSWERED_SECONDS - 1, UNANSWERED_SECONDS, 16.0, 50.0, 80.0):
            answering.missed(ClusterError(f"refused at {hours.now}"))
        answering.came()
        answering.came()
    assert [line["event"] for line in lines] == [
        "api_server_unavailable",
        "api_server_unavailable",
        "api_server_available",
    ]
    assert {line.get("error") for line in lines[:2]} == {"refused at 0.0"}
