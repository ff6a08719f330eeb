"""Readiness probes: what a container declares, and asking it.

Liveness and startup probes are not run: the sandbox restarts what ends, nothing else.
"""

import http.client
import socket
from dataclasses import dataclass
from typing import TypeAlias

from jobledger.core.values.documents import Json, child, items, number, text

NO_CODE = 0
"""Nobody answered."""


@dataclass(frozen=True, slots=True)
class HttpGet:
    """Ready when a GET answers 200 to 399."""

    host: str
    port: str
    path: str


@dataclass(frozen=True, slots=True)
class TcpConnect:
    """Ready when a connection can be made."""

    port: str


@dataclass(frozen=True, slots=True)
class Exec:
    """Ready when a command in the container's surroundings ends with 0."""

    argv: tuple[str, ...]


Question: TypeAlias = HttpGet | TcpConnect | Exec


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A readiness probe."""

    question: Question
    initial_delay_seconds: float
    period_seconds: float
    timeout_seconds: float
    failure_threshold: int


def probe_of(container: Json) -> Probe | None:
    """Return the readiness probe of a container, if it declares one that is run here."""
    found = child(container, "readinessProbe")
    if not found:
        return None
    question: Question
    if child(found, "httpGet"):
        get = child(found, "httpGet")
        question = HttpGet(text(get, "host"), str(get.get("port")), text(get, "path") or "/")
    elif child(found, "tcpSocket"):
        question = TcpConnect(str(child(found, "tcpSocket").get("port")))
    elif items(found, "exec", "command"):
        question = Exec(tuple(str(word) for word in items(found, "exec", "command")))
    else:
        return None
    return Probe(
        question=question,
        initial_delay_seconds=number(found, "initialDelaySeconds") or 0,
        period_seconds=number(found, "periodSeconds") or 10,
        timeout_seconds=number(found, "timeoutSeconds") or 1,
        failure_threshold=number(found, "failureThreshold") or 3,
    )


def port_of(container: Json, port: str) -> int:
    """Return the number of a port that is given by number or by its name in the container."""
    if port.isdigit():
        return int(port)
    for declared in items(container, "ports"):
        if text(declared, "name") == port:
            return number(declared, "containerPort") or 0
    return 0


def answers(question: HttpGet | TcpConnect, container: Json, ip: str, limit: float) -> bool:
    """Ask over the network; never raises."""
    port = port_of(container, question.port)
    if isinstance(question, TcpConnect):
        try:
            socket.create_connection((ip, port), limit).close()
        except OSError:
            return False
        return True
    host = ip if question.host in ("", "localhost", "127.0.0.1") else question.host
    return 200 <= _status(host, port, question.path, limit) < 400  # noqa: PLR2004  # HTTP's success and redirection


def _status(host: str, port: int, path: str, limit: float) -> int:
    connection = http.client.HTTPConnection(host, port, timeout=limit)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return NO_CODE
    finally:
        connection.close()
