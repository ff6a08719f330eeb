"""The service proxy: an HTTP forward proxy through which Service names resolve.

`http://SERVICE.NAMESPACE.svc[.cluster.local]:PORT` leads to a Pod behind the Service (a ready one
if there is one), `http://HOSTNAME.SUBDOMAIN[.NAMESPACE.svc[.cluster.local]]:PORT` to the Pod that
has this name, `http://POD-IP:PORT` to that Pod. The API server is reached too, as not every client
heeds `NO_PROXY`: release 35 of the official one for Python does not. Everything else is refused
with 403, what cannot be reached with 502. One request per connection; bodies are streamed both
ways.
"""

import re
import socket
import socketserver
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.sandbox.agent.pods.status import is_ready
from jobledger.sandbox.agent.threaded_server import Listener, ThreadedServer
from jobledger.sandbox.controllers.store import Store, is_being_deleted

MAX_HEAD_BYTES = 64 * 1024
CONNECT_LIMIT_SECONDS = 5.0
IDLE_LIMIT_SECONDS = 3600.0
"""A connection over which nothing has gone for so long is given up."""

_SERVICE = re.compile(r"([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?\.?")
_POD = re.compile(r"([a-z0-9-]+)\.([a-z0-9-]+)(?:\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?\.?)?")
_DROPPED = frozenset({"proxy-connection", "proxy-authorization", "connection", "keep-alive"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not forwarded."""

    status: int
    message: str


_UNANSWERED = Refusal(502, "the connection was closed without an answer")


class ServiceProxy(ThreadedServer):
    """Serves on a free port of the loopback interface; `url` is for the proxy variables."""

    def __init__(self, services: Store, pods: Store) -> None:
        self._services, self._pods = services, pods
        self.api = urlsplit("")
        """The API server; empty: nobody is led there."""
        super().__init__("sandbox-proxy", _Conversation)

    def resolve(self, host: str, port: int) -> tuple[str, int] | Refusal:
        """Return the address that a request for `host` and `port` goes to."""
        if host and (host, port) == (self.api.hostname, self.api.port):
            return host, port
        named = _SERVICE.fullmatch(host)
        if named:
            return self._resolve_service(named.group(1), named.group(2), port)
        if host.startswith("127.") and host != "127.0.0.1":
            if any(text(pod, "status", "podIP") == host for pod in self._pods.all()):
                return host, port
            return Refusal(502, f"no Pod has the address {host}")
        pod_name = _POD.fullmatch(host)
        address = self._address_of(*pod_name.groups("")) if pod_name else ""
        if address:
            return address, port
        return Refusal(403, f"{host} is no Service and no Pod of this cluster")

    def _address_of(self, hostname: str, subdomain: str, namespace: str) -> str:
        """Return the address of a Pod by its name; empty if none or more than one has it."""
        found = {
            text(pod, "status", "podIP")
            for pod in self._pods.all()
            if text(pod, "spec", "hostname") == hostname
            and text(pod, "spec", "subdomain") == subdomain
            and namespace in ("", text(pod, "metadata", "namespace"))
            and text(pod, "status", "phase") not in ("Succeeded", "Failed")
            and not is_being_deleted(pod)
        } - {""}
        return found.pop() if len(found) == 1 else ""

    def _resolve_service(self, name: str, namespace: str, port: int) -> tuple[str, int] | Refusal:
        service = self._services.get(namespace, name)
        where = f"Service {namespace}/{name}"
        if service is None:
            return Refusal(502, f"{where} does not exist")
        selector = child(service, "spec", "selector")
        chosen = [
            pod
            for pod in self._pods.all()
            if text(pod, "metadata", "namespace") == namespace and _can_serve(pod, selector)
        ]
        if not chosen:
            return Refusal(502, f"{where} has no running Pod behind it")
        pod = next((pod for pod in chosen if is_ready(pod)), chosen[0])
        target = _target_port(service, pod, port)
        if target is None:
            return Refusal(502, f"{where} has no port {port}")
        return text(pod, "status", "podIP"), target


class _Conversation(socketserver.BaseRequestHandler):
    """One connection of a client: one request, forwarded."""

    def handle(self) -> None:
        proxy = self.server.owner if isinstance(self.server, Listener) else None
        client = self.request
        if not isinstance(proxy, ServiceProxy) or not isinstance(client, socket.socket):
            return
        try:
            client.settimeout(IDLE_LIMIT_SECONDS)
            _forward(proxy, client)
        except OSError:
            return  # one of the two went away; closing tells the other


def _forward(proxy: ServiceProxy, client: socket.socket) -> None:
    head, rest = _read_head(client)
    if not head:
        return
    first, headers = _parsed(head)
    words = first.split(" ")
    if len(words) != 3 or not words[1].startswith("http://"):  # noqa: PLR2004  # method, target, version
        _refuse(client, Refusal(403, "only plain http requests to Services are forwarded"))
        return
    url = urlsplit(words[1])
    found = proxy.resolve(url.hostname or "", url.port or 80)
    if isinstance(found, Refusal):
        _refuse(client, found)
        return
    try:
        upstream = socket.create_connection(found, CONNECT_LIMIT_SECONDS)
    except OSError as failed:
        _refuse(client, Refusal(502, f"{found[0]}:{found[1]} does not answer: {failed}"))
        return
    with upstream:
        upstream.settimeout(IDLE_LIMIT_SECONDS)
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        path = url.path or "/"
        path = f"{path}?{url.query}" if url.query else path
        lines = [f"{words[0]} {path} HTTP/1.1", *headers, "Connection: close"]
        try:
            upstream.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + rest)
        except OSError:
            _refuse(client, _UNANSWERED)
            return
        _exchange(client, upstream)


def _exchange(client: socket.socket, upstream: socket.socket) -> None:
    """Pass on the rest of the request and the answer, until one side ends."""
    upload = threading.Thread(target=_pump, args=(client, upstream), daemon=True)
    upload.start()
    try:
        head, rest = _answer_head(upstream)
        if not head:
            _refuse(client, _UNANSWERED)
            return
        first, headers = _parsed(head)
        lines = [first, *headers, "Connection: close"]
        client.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + rest)
        while piece := upstream.recv(65536):
            client.sendall(piece)
    finally:
        _end(client)
        _end(upstream)
        upload.join()


def _answer_head(upstream: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of the answer; empty if the Pod went away before it had sent one."""
    try:
        return _read_head(upstream)
    except OSError:
        return b"", b""


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it has ended by itself


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
    except OSError:
        return  # the answer's side notices and closes both
    _end(target)  # the client has gone: nobody waits for the answer any more


def _read_head(connection: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece or len(data) > MAX_HEAD_BYTES:
            return b"", b""
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _parsed(head: bytes) -> tuple[str, list[str]]:
    """Return the first line and the header lines that are passed on."""
    first, *lines = head.decode("latin-1").split("\r\n")
    return first, [line for line in lines if line.partition(":")[0].lower() not in _DROPPED]


def _refuse(client: socket.socket, refusal: Refusal) -> None:
    body = f"sandbox service proxy: {refusal.message}\n".encode()
    reason = {403: "Forbidden", 502: "Bad Gateway"}[refusal.status]
    head = (
        f"HTTP/1.1 {refusal.status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    client.sendall(head.encode("latin-1") + body)


def _can_serve(pod: Manifest, selector: Mapping[str, Json]) -> bool:
    labels = child(pod, "metadata", "labels")
    return (
        bool(selector)
        and all(labels.get(name) == value for name, value in selector.items())
        and bool(text(pod, "status", "podIP"))
        and text(pod, "status", "phase") not in ("Succeeded", "Failed")
        and not is_being_deleted(pod)
    )


def _target_port(service: Manifest, pod: Manifest, port: int) -> int | None:
    """Return the Pod's port; a headless Service maps nothing, as its name leads to the Pod."""
    if text(service, "spec", "clusterIP") == "None":
        return port
    for declared in items(service, "spec", "ports"):
        if number(declared, "port") != port:
            continue
        target = child(declared).get("targetPort", port)
        if isinstance(target, int):
            return target
        if str(target).isdigit():
            return int(str(target))
        return next(
            (
                number(candidate, "containerPort")
                for container in items(pod, "spec", "containers")
                for candidate in items(container, "ports")
                if text(candidate, "name") == target
            ),
            None,
        )
    return None
