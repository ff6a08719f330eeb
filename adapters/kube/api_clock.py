"""Reads the time of the API server's clock."""

from jobledger.adapters.kube.transport import Request, Transport, finish
from jobledger.core.values.instants import Instant, parse_http_date


def api_server_now(transport: Transport) -> Instant | None:
    """Return the whole second by the API server's clock; None if its answers are not dated.

    Raises:
        ClusterError: it does not answer.
    """
    response = transport.open(Request(method="GET", path="/version", about="the version"))
    finish(response)
    return parse_http_date(response.headers.get("Date", ""))
