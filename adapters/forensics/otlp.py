"""Writes traces in OpenTelemetry's form (OTLP 1, JSON over HTTP), and sends them."""

import importlib.metadata
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus

import msgspec
import urllib3

from jobledger.adapters.http_client.certificate_verification import verifying_as_go_does
from jobledger.core.errors import JobledgerError
from jobledger.core.forensics.story.trace import Span, Trace, Values
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.instants import EPOCH, Instant
from jobledger.core.values.visible_text import one_line

PATH = "/v1/traces"
"""Where a collector takes traces, below its own address."""

_POOLS = verifying_as_go_does(urllib3.PoolManager())
SEND_SECONDS = 30.0
ANSWER_BYTES_MAX = 64 * 1024
_SAID_MAX = 200
_MICROSECOND = timedelta(microseconds=1)
_INTERNAL, _ERROR = 1, 2
"""SpanKind and StatusCode of what is sent. Source: opentelemetry/proto/trace/v1/trace.proto."""


class CollectorRefused(JobledgerError):
    """A collector was not reached, or did not take a trace."""


def request_of(trace: Trace) -> Manifest:
    """Return the request that carries a trace: ExportTraceServiceRequest."""
    scope = {"name": "jobledger", "version": importlib.metadata.version("jobledger")}
    where: Values = {"service.name": "jobledger", "k8s.cluster.name": trace.cluster}
    spans: list[Json] = [_span(trace.id, span) for span in trace.spans]
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(where)},
                "scopeSpans": [{"scope": scope, "spans": spans}],
            }
        ]
    }


def send(trace: Trace, address: str, headers: Mapping[str, str]) -> None:
    """Send a trace to a collector; it is not sent twice.

    Args:
        trace: Of one job.
        address: The whole URL, its path included.
        headers: Beside those of the protocol.

    Raises:
        CollectorRefused: it was not reached, or refused the trace or a part of it.
    """
    body = msgspec.json.encode(request_of(trace))
    sent = {"Content-Type": "application/json", **headers}
    try:
        answer = _POOLS.request(
            "POST",
            address,
            body=body,
            headers=sent,
            timeout=SEND_SECONDS,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        said = answer.read(ANSWER_BYTES_MAX)
        answer.release_conn()
    except (urllib3.exceptions.HTTPError, ValueError, OSError) as error:
        raise CollectorRefused(f"{address}: the trace was not taken: {_cut(str(error))}") from error
    if answer.status != HTTPStatus.OK:
        told = _cut(said.decode(errors="replace"))
        raise CollectorRefused(f"{address}: the trace was not taken: {answer.status} {told}")
    if refused := _refused(said):
        raise CollectorRefused(f"{address}: a part of the trace was not taken: {refused}")


def _refused(said: bytes) -> str:
    """Return what a collector says of spans that it did not take; empty: it took all."""
    try:
        partial = msgspec.json.decode(said).get("partialSuccess") or {}
        count = int(partial.get("rejectedSpans") or 0)
    except (msgspec.DecodeError, AttributeError, TypeError, ValueError):
        return ""  # it took it, and answers in another form
    return f"{count} spans: {_cut(str(partial.get('errorMessage', '')))}" if count else ""


def _cut(text: str) -> str:
    return one_line(text)[:_SAID_MAX]


def _span(trace: bytes, span: Span) -> Json:
    found: dict[str, Json] = {
        "traceId": trace.hex(),
        "spanId": span.id.hex(),
        "parentSpanId": span.parent.hex(),
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": _nanoseconds(span.began),
        "endTimeUnixNano": _nanoseconds(span.ended),
        "attributes": _attributes(span.values),
    }
    if span.error:
        found["status"] = {"code": _ERROR, "message": span.error}
    return found


def _nanoseconds(instant: Instant) -> str:
    return str((instant - EPOCH) // _MICROSECOND * 1000)


def _attributes(values: Values) -> list[Json]:
    return [{"key": key, "value": _attribute(value)} for key, value in values.items()]


def _attribute(value: object) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": str(value)}
