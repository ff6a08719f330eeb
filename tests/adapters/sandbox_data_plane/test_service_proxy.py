"""Which names the service proxy resolves, and what it refuses."""

from typing import Any

import pytest

from jobledger.core.ports.cluster import PODS, SERVICES
from tests.adapters.sandbox_data_plane.world import World, fetch, pod, shell
from tests.support.waiting import wait_until

SERVER = """
import http.server, os
class Echo(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said = f"{self.command} {self.path} {body.decode()}".encode()
        self.send_response(200); self.send_header("Content-Length", str(len(said)))
        self.end_headers(); self.wfile.write(said)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer((os.environ["POD_IP"], 5000), Echo).serve_forever()
"""


RUDE = """
import os, socket, struct
listener = socket.create_server((os.environ["POD_IP"], 5000))
while True:
    connection, _ = listener.accept()
    if connection.recv(1):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
"""
"""Resets each connection over which something was sent."""


def _serve(world: World, server: str = SERVER) -> str:
    container = shell("")
    container["command"] = ["python", "-c", server]
    container["ports"] = [{"name": "web", "containerPort": 5000}]
    container["readinessProbe"] = {"tcpSocket": {"port": "web"}}
    document = pod("p", container)
    document["metadata"]["labels"] = {"app": "echo"}
    world.create(PODS, document)
    return str(world.wait_for_condition(PODS, "p", "Ready")["podIP"])


def _service(world: World, name: str, port: dict[str, Any], **spec: object) -> None:
    selector = {"app": "echo"}
    world.create(
        SERVICES,
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": selector, "ports": [port], **spec},
        },
    )


def _ask(world: World, address: str) -> tuple[int, str]:
    url = f"http://{address}/a/b?c=d"
    return fetch(url, proxy=world.plane.proxy_url, method="POST", body="x" * 100_000)


def test_a_service_leads_to_its_pod_by_number_name_or_directly(world: World) -> None:
    address = _serve(world)
    _service(world, "number", {"port": 80, "targetPort": 5000})
    _service(world, "name", {"port": 81, "targetPort": "web"})
    _service(world, "headless", {"port": 1, "targetPort": 2}, clusterIP="None")
    wait_until(lambda: _ask(world, "headless.default.svc:5000")[0] == 200, "the Services are known")
    for where in (
        "number.default.svc.cluster.local:80",
        "number.default.svc",
        "name.default.svc:81",
        "headless.default.svc.cluster.local:5000",
        f"{address}:5000",
    ):
        assert _ask(world, where) == (200, f'POST /a/b?c=d "{"x" * 100_000}"')


def test_what_is_not_there_is_502_and_says_why(world: World) -> None:
    _serve(world)
    _service(world, "s", {"port": 80, "targetPort": 5000})
    wait_until(lambda: _ask(world, "s.default.svc")[0] == 200, "the Service is known")
    for where, why in (
        ("nobody.default.svc:80", "does not exist"),
        ("s.default.svc:81", "has no port 81"),
        ("127.250.250.250:80", "no Pod has the address"),
    ):
        status, text = _ask(world, where)
        assert (status, why in text) == (502, True)
    world.api.delete(PODS, "default", "p")
    wait_until(lambda: "no running Pod" in _ask(world, "s.default.svc")[1], "it has no Pod")


def test_a_pod_that_goes_before_it_has_answered_is_502(world: World) -> None:
    address = _serve(world, RUDE)
    status, said = _ask(world, f"{address}:5000")
    assert (status, "without an answer" in said) == (502, True)


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1:1", "localhost:1", "10.0.0.1"])
def test_everything_else_is_refused(world: World, host: str) -> None:
    assert _ask(world, host)[0] == 403


def test_requests_that_are_not_for_a_proxy_are_refused(world: World) -> None:
    assert fetch(world.plane.proxy_url + "/a")[0] == 403
