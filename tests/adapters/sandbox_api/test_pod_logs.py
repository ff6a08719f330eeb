"""Logs of a Pod come from the agent that its annotation names."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from jobledger.sandbox.http.pod_logs import LOG_URL
from tests.support.api import PODS, Api


class _Agent(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        code = 404 if self.path.startswith("/gone") else 200
        self.send_response(code)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(f"asked for {self.path}\n".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def agent() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Agent)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def _pod(api: Api, url: str, *containers: str) -> None:
    spec = {"containers": [{"name": name, "image": "i"} for name in containers]}
    annotations = {LOG_URL: url} if url else {}
    metadata = {"name": "a", "annotations": annotations}
    assert api.create(PODS, {"metadata": metadata, "spec": spec}).code == 201


def test_a_log_is_fetched_and_the_query_passed_on(api: Api, agent: str) -> None:
    _pod(api, f"{agent}/logs", "main")
    path = api.path(PODS, "a", "log")
    reply = api.request("GET", path, accept="*/*", tailLines="5", follow="true")
    assert reply.code == 200
    assert reply.body == "asked for /logs?follow=true&tailLines=5&container=main\n"


def test_a_pod_with_several_containers_needs_a_name(api: Api, agent: str) -> None:
    _pod(api, f"{agent}/logs", "one", "two")
    path = api.path(PODS, "a", "log")
    reply = api.request("GET", path)
    assert (reply.code, reply.reason) == (400, "BadRequest")
    assert "a container name must be specified for pod a, choose one of: [one two]" in reply.message
    assert "container=two" in api.request("GET", path, container="two").body
    assert api.request("GET", path, container="three").code == 400


def test_a_pod_that_has_not_started_is_400(api: Api) -> None:
    _pod(api, "", "main")
    reply = api.request("GET", api.path(PODS, "a", "log"))
    assert reply.code == 400
    assert 'container "main" in pod "a" is waiting to start' in reply.message


def test_a_pod_that_is_not_there_is_404(api: Api) -> None:
    assert api.request("GET", api.path(PODS, "a", "log")).code == 404


def test_what_the_agent_does_not_have_is_404_and_no_agent_500(api: Api, agent: str) -> None:
    _pod(api, f"{agent}/gone", "main")
    path = api.path(PODS, "a", "log")
    assert api.request("GET", path).code == 404
    api.merge(PODS, "a", {"metadata": {"annotations": {LOG_URL: "http://127.0.0.1:1/"}}})
    assert api.request("GET", path).code == 500
