"""A program that stands where a Ray head should be, and answers nonsense, lies or nothing.

Run in the head's Pod as `python odd_head.py ANSWER`, where ANSWER is a name in `ANSWERS`. It is
healthy as far as the RayCluster goes.
"""

import http.server
import os
import sys
import threading
from http import HTTPStatus

DASHBOARD_PORT = 8265

ANSWERS: dict[str, tuple[int, str]] = {
    "garbage": (200, "\x00\xff<html>}{ this is no JSON" * 50),
    "list": (200, "[1, 2, 3]"),
    "error page": (500, '{"status": "SUCCEEDED", "message": "an error page that looks well"}'),
    "unknown status": (200, '{"status": "PROBABLY", "message": "it went well"}'),
    "another job": (200, '{"status": "SUCCEEDED", "submission_id": "somebody-elses-job"}'),
    "no status": (200, '{"message": "nothing to see here"}'),
    "deep": (200, "[" * 100_000),
    "hanging": (0, ""),
}
"""Name -> HTTP status and body of every answer about jobs; status 0: none, ever."""


class _Conversation(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def answer(self) -> None:
        """Tell the cluster that all is well, and everybody else what was ordered."""
        status, body = ANSWERS[sys.argv[1]]
        if self.path.endswith("/gcs_healthz"):
            status, body = HTTPStatus.OK, "success"
        if status == 0:
            threading.Event().wait()
        content = body.encode("latin-1")
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer  # noqa: N815  # their names


if __name__ == "__main__":
    address = (os.environ["POD_IP"], DASHBOARD_PORT)
    http.server.ThreadingHTTPServer(address, _Conversation).serve_forever()
