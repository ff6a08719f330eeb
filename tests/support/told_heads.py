"""Ray heads that answer what a test says, as an HTTP proxy; of other heads nothing is to be had."""

import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.support.json_handler import JsonHandler
from tests.support.ray_job_info import told_info

LONG_AGO_SECONDS, RUNS_SECONDS, ENDED_SECONDS = 600.0, 86_400.0, 60.0


class ToldHeads:
    """A proxy on a free port of loopback; a context manager."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        """Answer for these RayClusters: name -> RUNNING, SUCCEEDED or FAILED."""
        started = time.time() - LONG_AGO_SECONDS

        class Handler(JsonHandler):
            def answer(self, body: bytes) -> tuple[int, object]:
                del body
                return _told(answers, started, self.path)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """Return the address for the proxy variables."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _told(answers: Mapping[str, str], started: float, url: str) -> tuple[int, object]:
    parts = urlsplit(url)
    status = answers.get((parts.hostname or "").partition(".")[0].removesuffix("-head-svc"))
    if status is None:
        return HTTPStatus.BAD_GATEWAY, {"error": "there is no such head"}
    if parts.path.endswith(("/logs", "/logs/tail")):
        return HTTPStatus.OK, {"logs": ""}
    lasts = RUNS_SECONDS if status == "RUNNING" else LONG_AGO_SECONDS - ENDED_SECONDS
    submission = parts.path.rstrip("/").rpartition("/")[2]
    return HTTPStatus.OK, told_info(submission, started, lasts, fails=status == "FAILED")
