"""The port of the sandbox's node, at which a real API server asks for the logs of Pods.

An API server asks the kubelet of a Pod's node, by TLS. Node agents of many tests share one node;
each of them writes into its Pods where it serves their logs, in plain HTTP, and this leads there.
"""

import shutil
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import ProxyHandler, build_opener

from jobledger.adapters.admission.certificates import new_certificate
from jobledger.sandbox.agent.agent import NODE_NAME
from jobledger.sandbox.agent.logs import LOG_ANNOTATION
from tests.support.api import Api

NODES = "/api/v1/nodes"
LIMIT_SECONDS = 60.0
"""For an answer of a node agent."""


class KubeletPort:
    """Registers the node with its port, and serves there until it is stopped."""

    def __init__(self, api: Api, directory: Path) -> None:
        """Take an administrator's client, and a directory for the certificate."""
        self._api, self._directory = api, directory
        self._server: _Server | None = None

    def start(self) -> None:
        """Serve on a free port, and tell the API server which it is."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate())
        server = self._server = _Server(self._api)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, name="kubelet-port", daemon=True).start()
        made = self._api.request("POST", NODES, {"metadata": {"name": NODE_NAME}})
        assert made.code == 201, made.message  # Created
        port = {"daemonEndpoints": {"kubeletEndpoint": {"Port": server.server_address[1]}}}
        path = f"{NODES}/{NODE_NAME}/status"
        told = self._api.request(
            "PATCH", path, {"status": port}, content_type="application/merge-patch+json"
        )
        assert told.code == 200, told.message  # OK

    def stop(self) -> None:
        """Serve no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _certificate(self) -> Path:
        made = new_certificate((NODE_NAME,), datetime.now(UTC))
        path = self._directory / "kubelet-port.pem"
        path.write_text(f"{made.key}\n{made.chain}", encoding="utf-8")
        return path


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: Api) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    timeout: ClassVar[float | None] = LIMIT_SECONDS

    def do_GET(self) -> None:
        """Answer `/containerLogs/NAMESPACE/POD/CONTAINER`, as a kubelet does."""
        assert isinstance(self.server, _Server)
        url = urlsplit(self.path)
        kind, namespace, name, container = url.path.strip("/").split("/")
        pod = self.server.api.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
        address = (pod.body.get("metadata", {}).get("annotations") or {}).get(LOG_ANNOTATION)
        if kind != "containerLogs" or not address:
            self.send_error(HTTPStatus.NOT_FOUND, "no such log")
            return
        query = urlencode([*parse_qsl(url.query), ("container", container)])
        with suppress(OSError):  # who asked, or was asked, has gone
            self._send(f"{address}?{query}")

    def _send(self, address: str) -> None:
        try:
            found = build_opener(ProxyHandler({})).open(address, timeout=LIMIT_SECONDS)
        except HTTPError as refused:
            self.send_error(refused.code, "no such log")
            return
        with found:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            shutil.copyfileobj(found, self.wfile)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's own name
        """Keep quiet."""
