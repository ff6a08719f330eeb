"""An HTTP conversation in JSON: what simulated heads have in common."""

import json
from http.server import BaseHTTPRequestHandler


class JsonHandler(BaseHTTPRequestHandler):
    """Answers GET and POST with what `answer` returns, and keeps quiet."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self, body: bytes) -> tuple[int, object]:
        """Return status and document."""
        raise NotImplementedError

    def do_GET(self) -> None:
        """Answer a request."""
        length = int(self.headers.get("Content-Length") or 0)
        code, document = self.answer(self.rfile.read(length))
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  # the name is the library's

    def log_message(self, *_: object) -> None:
        """Say nothing."""
