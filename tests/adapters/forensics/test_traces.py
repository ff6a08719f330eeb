"""A job's trace, read by OpenTelemetry's own definitions: as it is printed, and as it is sent."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from typer.testing import CliRunner, Result

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.main import app
from jobledger.adapters.forensics.bundle_files import read_file
from jobledger.adapters.forensics.otlp import CollectorRefused, request_of, send
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.story.trace import Trace, trace_of

STREAMS = Path(__file__).parents[2] / "frozen" / "streams"
BUNDLES = sorted(STREAMS.glob("*.bundle"))
FAILED = STREAMS / "failed.bundle"


def trace_in(file: Path) -> Trace:
    bundle = read_file(file)
    return trace_of(Dossier(events=bundle.events, evidence=reader_of({}), origin=str(file)).read())


def read(document: str) -> list[Span]:
    """Return the spans of a request; ids stand in hexadecimal there, unlike protobuf's own JSON."""
    request = json.loads(document)
    (resource,) = request["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    for span in scope["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    parsed = Parse(json.dumps(request), ExportTraceServiceRequest())
    return list(parsed.resource_spans[0].scope_spans[0].spans)


def values(span: Span) -> dict[str, object]:
    return {
        one.key: getattr(one.value, str(one.value.WhichOneof("value"))) for one in span.attributes
    }


@pytest.mark.parametrize("file", BUNDLES, ids=[file.stem for file in BUNDLES])
def test_every_job_is_a_tree_of_spans_in_time(file: Path) -> None:
    spans = read(json.dumps(request_of(trace_in(file))))
    known = {span.span_id: span for span in spans}
    assert len(known) == len(spans)
    root, *others = spans
    assert not root.parent_span_id
    for span in others:
        assert known[span.parent_span_id].start_time_unix_nano <= span.start_time_unix_nano
    for span in spans:
        assert (len(span.trace_id), len(span.span_id)) == (16, 8)
        assert span.name
        assert 10**18 < span.start_time_unix_nano <= span.end_time_unix_nano
    assert spans == read(json.dumps(request_of(trace_in(file)))), "it is the same each time"


def test_a_failed_job_says_why() -> None:
    root, attempt, starting, running, *rest = read(json.dumps(request_of(trace_in(FAILED))))
    assert (root.name, root.status.code) == ("RayJob ml/failed", Status.STATUS_CODE_ERROR)
    assert root.status.message == attempt.status.message == "AppFailed: ValueError: 42"
    assert (attempt.name, values(attempt)["jobledger.outcome"]) == ("attempt 1", "failed")
    assert [starting.name, running.name] == ["starting", "running"]
    assert starting.end_time_unix_nano == running.start_time_unix_nano
    assert {"create_cluster", "pending: deadline"} & {span.name for span in rest}


class Collector:
    """Takes what is posted to it, and answers as it is told."""

    def __init__(self, code: int, body: bytes) -> None:
        self.taken: list[tuple[str, dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                outer.taken.append((self.path, dict(self.headers), self.rfile.read(length)))
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def collector(code: int = 200, body: bytes = b"{}") -> Iterator[Collector]:
    found = Collector(code, body)
    thread = Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        found.server.shutdown()
        thread.join()
        found.server.server_close()


def trace_command(*words: str) -> Result:
    return CliRunner().invoke(app, ["trace", str(FAILED), *words])


def test_a_trace_is_sent_with_its_headers() -> None:
    with collector() as found:
        ended = trace_command("--send-to", found.url, "--header", "Authorization=Bearer a=b")
    assert ended.exit_code == 0, ended.output
    ((path, headers, body),) = found.taken
    assert path == "/v1/traces"
    assert (headers["Content-Type"], headers["Authorization"]) == (
        "application/json",
        "Bearer a=b",
    )
    assert read(body.decode()) == read(json.dumps(request_of(trace_in(FAILED))))


def test_a_whole_address_is_used_as_it_is() -> None:
    with collector() as found:
        assert trace_command("--send-to", f"{found.url}/otlp/traces").exit_code == 0
    assert [path for path, _, _ in found.taken] == ["/otlp/traces"]


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (401, b"who are\x1b[31m you?", "was not taken: 401 who are"),
        (302, b"", "was not taken: 302"),
        (200, b'{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}', "2 spans: too"),
    ],
    ids=["refused", "elsewhere", "in part"],
)
def test_what_is_not_taken_is_told(code: int, body: bytes, said: str) -> None:
    with collector(code, body) as found, pytest.raises(CollectorRefused, match=said) as refused:
        send(trace_in(FAILED), found.url, {})
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"partialSuccess":{}}', b"\xff"])
def test_an_answer_in_another_form_is_a_yes(body: bytes) -> None:
    with collector(200, body) as found:
        send(trace_in(FAILED), found.url, {})


def test_a_collector_that_is_not_there_is_named() -> None:
    with collector() as gone:
        pass
    with pytest.raises(CollectorRefused, match=f"{gone.url}.*the trace was not taken"):
        send(trace_in(FAILED), gone.url, {})


@pytest.mark.parametrize(
    "words",
    [["--send-to", "collector:4317"], ["--send-to", "http://"], ["--header", "none"]],
)
def test_a_wrong_word_is_refused_before_anything_is_sent(words: list[str]) -> None:
    assert trace_command(*words).exit_code == int(ExitCode.USAGE)
