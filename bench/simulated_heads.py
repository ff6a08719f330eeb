"""The Ray job API of every head at once, as an HTTP proxy: what was submitted runs, then ends."""

import threading
import time
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

from bench.simulated_plane import FAILING_ATTEMPTS, Ledger
from jobledger.core.values.documents import Json
from tests.support.json_handler import JsonHandler
from tests.support.ray_job_info import told_info


class Heads:
    """A proxy on a free port of loopback."""

    def __init__(self, ledger: Ledger, run_seconds: float) -> None:
        self.polls = 0
        heads = self

        class Handler(JsonHandler):
            def answer(self, body: bytes) -> tuple[int, object]:
                del body
                return heads.told(ledger, run_seconds, self.path)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="heads", daemon=True).start()

    @property
    def url(self) -> str:
        """Return the address for the proxy variables."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def told(self, ledger: Ledger, run_seconds: float, url: str) -> tuple[int, Json]:
        """Return what a head says of its job."""
        parts = urlsplit(url)
        cluster = (parts.hostname or "").partition(".")[0].removesuffix("-head-svc")
        with ledger.lock:
            self.polls += 1
            started = ledger.started.get(cluster)
            failed = ledger.attempts.get(cluster, 0) <= FAILING_ATTEMPTS
        if started is None:
            return HTTPStatus.NOT_FOUND, {"error": "Job does not exist"}
        submission = parts.path.rstrip("/").rpartition("/")[2]
        begun = time.time() - (time.monotonic() - started)
        return HTTPStatus.OK, told_info(submission, begun, run_seconds, fails=failed)
