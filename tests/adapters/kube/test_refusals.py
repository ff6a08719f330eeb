"""Which error an answer of the API server stands for, and what it says."""

import pytest

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.errors import MAX_MESSAGE, UnreadableAnswer, answer_error
from jobledger.core import errors
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.kube.samples import rayjob, transport_to
from tests.support.canned_server import Answer, CannedServer, refusal


def failure_of(answer: Answer) -> errors.ClusterError:
    """Return what a creation raises at this answer."""
    with CannedServer(answer) as server:
        cluster = KubernetesCluster(transport_to(server))
        with pytest.raises(errors.ClusterError) as caught:
            cluster.create(RAYJOBS, rayjob("a", 1))
        return caught.value


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refusal(409, "AlreadyExists"), errors.ObjectExists),
        (refusal(409, "Conflict"), errors.ObjectChanged),
        (refusal(404, "NotFound"), errors.ObjectNotFound),
        (refusal(410, "Gone"), errors.VersionExpired),
        (refusal(401, "Unauthorized"), errors.NoWayToCluster),
        (refusal(403, "Forbidden", "exceeded quota"), errors.RequestForbidden),
        (refusal(400, "BadRequest"), errors.RequestInvalid),
        (refusal(413, "RequestEntityTooLarge"), errors.RequestInvalid),
        (refusal(415, "UnsupportedMediaType"), errors.RequestInvalid),
        (refusal(422, "Invalid"), errors.RequestInvalid),
        (refusal(422, "Invalid", causes=[{"field": "spec.uid"}]), errors.RequestInvalid),
        (refusal(422, "Invalid", causes=[{"field": "metadata.uid"}]), errors.ObjectChanged),
        (refusal(429, "TooManyRequests"), errors.RequestThrottled),
        (refusal(503, "ServiceUnavailable"), errors.RequestThrottled),
        (refusal(504, "Timeout"), errors.RequestThrottled),
        (refusal(500, "InternalError"), errors.ClusterUnreachable),
        (
            refusal(500, "", "failed to create typed patch object (ml/a; ray.io/v1): .status.x: "),
            errors.RequestInvalid,
        ),
        (
            refusal(500, "", ".spec.x: field not declared in schema"),
            errors.WrittenInAnotherVersion,
        ),
        (
            refusal(500, "", "failed to prune fields: .status.y: field not declared in schema"),
            errors.WrittenInAnotherVersion,
        ),
        (Answer(500, b"panic"), errors.ClusterUnreachable),
        (Answer(502, b"<html>"), errors.ClusterUnreachable),
        (Answer(302, b"", {"Location": "/login"}), errors.ClusterUnreachable),
        (Answer(403, b"<html>"), errors.RequestForbidden),
        (Answer(429, b""), errors.RequestThrottled),
        (Answer(200, b"<html>"), UnreadableAnswer),
        (Answer(200, b""), UnreadableAnswer),
        (Answer(200, b"[1]"), UnreadableAnswer),
        (Answer(200, b"\xff"), UnreadableAnswer),
    ],
)
def test_answers_stand_for_what_someone_does_differently(
    answer: Answer, kind: type[errors.ClusterError]
) -> None:
    assert type(failure_of(answer)) is kind


@pytest.mark.parametrize(
    ("code", "reason"), [(401, "Unauthorized"), (404, "NotFound"), (410, "Gone"), (410, "Expired")]
)
def test_what_a_webhook_answers_says_nothing_of_the_object_or_of_us(code: int, reason: str) -> None:
    """Taken for an answer of the API server, an object that nobody deleted would count as gone."""
    message = 'admission webhook "v.tenant.example" denied the request: no'
    with CannedServer(refusal(code, reason, message)) as server:
        cluster = KubernetesCluster(transport_to(server))
        with pytest.raises(errors.RequestForbidden, match="denied") as caught:
            cluster.delete(RAYJOBS, "ml", "a")
    assert "credentials" not in str(caught.value)


def test_the_message_is_that_of_the_status() -> None:
    failure = failure_of(refusal(422, "Invalid", "spec.backoffLimit: must be 0 or more"))
    assert str(failure) == (
        "POST rayjobs team/a: 422 Invalid: spec.backoffLimit: must be 0 or more"
    )


def test_a_long_message_is_cut() -> None:
    assert len(str(failure_of(refusal(422, "Invalid", "x" * 5000)))) == MAX_MESSAGE


def test_what_is_no_status_is_never_quoted() -> None:
    for answer in (
        Answer(500, b"token=hunter2"),
        Answer(403, {"kind": "Login", "message": "hunter2"}),
        Answer(200, b"hunter2"),
        Answer(200, b'"hunter2"'),
    ):
        assert "hunter2" not in str(failure_of(answer))


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (Answer(429, b"", {"Retry-After": "7"}), 7),
        (Answer(503, b"", {"Retry-After": "7"}), 7),
        (refusal(504, "ServerTimeout", retryAfterSeconds=3), 3),
        (Answer(429, b""), None),
        (Answer(429, b"", {"Retry-After": "soon"}), None),
        (Answer(429, b"", {"Retry-After": "-5"}), None),
        (Answer(429, b"", {"Retry-After": f"Sat, 21 Nov {10**20} 03:00:00 GMT"}), None),
        (Answer(429, b"", {"Retry-After": "86400"}), 300),
    ],
)
def test_a_pause_that_is_asked_for_is_told(answer: Answer, seconds: float | None) -> None:
    failure = failure_of(answer)
    assert isinstance(failure, errors.RequestThrottled)
    assert failure.retry_after_seconds == seconds


def test_a_pause_until_an_instant_is_judged_by_the_servers_clock() -> None:
    headers = {
        "Retry-After": "Sat, 21 Nov 2026 03:00:20 GMT",
        "Date": "Sat, 21 Nov 2026 03:00:00 GMT",
    }
    failure = answer_error("GET it", 429, headers, b"")
    assert isinstance(failure, errors.RequestThrottled)
    assert failure.retry_after_seconds == 20
