"""AdmissionReviews over HTTP: what is answered, and what is no question."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from jobledger.adapters.admission.handlers import (
    DEFAULT_TRAINJOB,
    VALIDATE_RAYJOB,
    VALIDATE_TRAINJOB,
    Handlers,
)
from jobledger.adapters.admission.reviews import BYTES_MAX, webhook_app
from jobledger.adapters.http.server import HttpServer
from jobledger.core.errors import ClusterUnreachable
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
    handlers = Handlers(
        cluster=Silent(),  # type: ignore[arg-type]  # all that is asked of it
        plugins=(),
        now=lambda: NOW,
        runtime_env_problem=lambda _: "",
    )
    server = HttpServer(webhook_app(handlers.by_path()), "127.0.0.1", 0)
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
