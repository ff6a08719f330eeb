"""One watch request: read line by line, and cancellable from another thread."""

import contextlib
from collections.abc import Iterator

import urllib3

from jobledger.adapters.kube.errors import transport_error, unreadable
from jobledger.adapters.kube.transport import Request, Transport, finish
from jobledger.adapters.kube.watching.listing import Selection

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Many times what etcd can hold in one object; a longer line is no watch event."""

_READ_AT_ONCE = 256 * 1024

_ALL_FIRST = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))


class WatchStream:
    """The answer to one watch request, while it lasts."""

    def __init__(self, response: urllib3.BaseHTTPResponse, what: str) -> None:
        """Take an answer whose body is still to be read; `what` names the request in errors."""
        self._response = response
        self._what = what

    @classmethod
    def open(
        cls,
        transport: Transport,
        selection: Selection,
        *,
        resource_version: str,
        server_timeout_seconds: int,
        read_timeout_seconds: float,
    ) -> "WatchStream":
        """Ask for what changes after `resource_version`; raise `VersionExpired` if that is gone.

        Without a version all that exists comes first, then a bookmark, then what changes; a server
        that does not know how refuses that (`RequestInvalid`). Source: KEP-3157.

        The server ends the watch after the first time-out; a silence as long as the second (no
        event, no bookmark) is taken for a dead connection.
        """
        request = Request(
            method="GET",
            path=selection.path,
            query=(
                ("watch", "true"),
                ("allowWatchBookmarks", "true"),
                *((("resourceVersion", resource_version),) if resource_version else _ALL_FIRST),
                ("timeoutSeconds", str(server_timeout_seconds)),
                *selection.query,
            ),
            about=f"(watch) {selection.about}",
        )
        response = transport.open(request, read_timeout_seconds=read_timeout_seconds)
        return cls(response, request.what)

    def lines(self) -> Iterator[bytes]:
        """Yield whole lines until the server ends the watch.

        Raises `ClusterUnreachable` if it breaks off. A last line without an end is no line: a
        resumed watch brings it again.
        """
        begun: list[bytes] = []
        length = 0
        for part in self._parts():
            if b"\n" not in part:
                begun.append(part)
                length += len(part)
                if length > MAX_LINE_BYTES:
                    raise unreadable(self._what, f"a line of more than {MAX_LINE_BYTES} bytes")
                continue
            *whole, rest = b"".join((*begun, part)).split(b"\n")
            begun, length = [rest] if rest else [], len(rest)
            for line in whole:
                if line.strip():
                    yield line

    def interrupt(self) -> None:
        """Wake up whoever reads, from another thread; the stream is then at its end."""
        # An answer that is already read to its end has no connection left to shut down.
        with contextlib.suppress(ValueError, RuntimeError, OSError):
            self._response.shutdown()

    def close(self) -> None:
        """Let go of the connection; only for the thread that reads."""
        finish(self._response)

    def _parts(self) -> Iterator[bytes]:
        """Yield what arrives as it arrives."""
        try:
            if self._response.chunked:
                # One part per chunk, so mostly per event; half the cost of `read1`.
                yield from self._response.stream(_READ_AT_ONCE, decode_content=False)
                return
            while part := self._response.read1(_READ_AT_ONCE):
                yield part
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as failure:
            # ValueError: the file below was closed meanwhile.
            raise transport_error(self._what, failure) from failure
