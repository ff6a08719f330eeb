"""What `kubectl logs` reads: the log of a container, fetched from the agent that runs the Pod.

A real API server asks the kubelet of the Pod's node. Here the agent writes into the annotation
`sandbox.jobledger.dev/log-url` of the Pod where its log can be had over plain HTTP.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final
from urllib.parse import urlencode, urlsplit

from jobledger.sandbox.model.documents import Document, at
from jobledger.sandbox.model.queries import is_asked
from jobledger.sandbox.model.refusals import Refusal, bad_request

LOG_URL: Final = "sandbox.jobledger.dev/log-url"
"""Annotation of a Pod."""

PASSED_ON: Final = ("container", "tailLines", "limitBytes", "sinceSeconds")
YES_OR_NO: Final = ("follow", "previous", "timestamps")
CONNECT_SECONDS: Final = 5.0
_PIECE: Final = 64 * 1024
_HEADERS_LIMIT: Final = 64 * 1024


def log_address(pod: Document, query: Mapping[str, str]) -> str:
    """Return the URL of a Pod's log.

    Raises:
        Refusal: 400, no such container, more than one and none named, or none started yet.
    """
    name = pod["metadata"]["name"]
    names = [
        container.get("name", "")
        for field in ("initContainers", "containers")
        for container in at(pod, "spec", field) or ()
    ]
    main = [container.get("name", "") for container in at(pod, "spec", "containers") or ()]
    container = query.get("container") or ""
    if not container and len(main) > 1:
        why = (
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(main)}]"
        )
        raise bad_request(why)
    container = container or (main[0] if main else "")
    if container not in names:
        raise bad_request(f"container {container} is not valid for pod {name}")
    url = (pod["metadata"].get("annotations") or {}).get(LOG_URL)
    if not url:
        why = f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating'
        raise bad_request(why)
    passed = {key: "true" for key in YES_OR_NO if is_asked(query, key)}
    passed |= {key: query[key] for key in PASSED_ON if key in query} | {"container": container}
    return f"{url}{'&' if '?' in url else '?'}{urlencode(passed)}"


async def fetch_log(url: str) -> AsyncIterator[bytes]:
    """Return the log's bytes as they come; it ends when the agent ends it.

    HTTP/1.0, so that the body is what follows the headers until the connection closes.

    Raises:
        Refusal: 404 or 500, the agent cannot be reached or has no such log.
    """
    parts = urlsplit(url)
    opening = asyncio.open_connection(parts.hostname, parts.port or 80, limit=_HEADERS_LIMIT)
    try:
        reader, writer = await asyncio.wait_for(opening, CONNECT_SECONDS)
    except (OSError, TimeoutError) as error:
        raise Refusal(500, "InternalError", f"the agent at {parts.netloc} is gone") from error
    path = f"{parts.path or '/'}?{parts.query}"
    writer.write(f"GET {path} HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode())
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
        writer.close()
        raise Refusal(500, "InternalError", "the agent's answer cannot be read") from error
    code = int(head.split(b" ", 2)[1])
    if code >= 400:  # noqa: PLR2004 HTTP: everything from here on is an error
        text = (await reader.read(_PIECE)).decode(errors="replace").strip()
        writer.close()
        raise Refusal(code, "NotFound" if code == 404 else "InternalError", text)  # noqa: PLR2004 HTTP
    return _body(reader, writer)


async def _body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    try:
        while piece := await reader.read(_PIECE):
            yield piece
    finally:
        writer.close()
