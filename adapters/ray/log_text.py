"""Extracts the end of a driver's log.

A head sends the whole log as one JSON string, however long. Of a long one only the end of the
answer is kept, and that end is read here.
"""

import json

from jobledger.adapters.ray.job_info import parse_object
from jobledger.adapters.ray.readable_text import readable
from jobledger.core.errors import RayApiUnreachable
from jobledger.core.values.documents import text

TAIL_BYTES = 256 * 1024
"""As much of a log as is handed on, in UTF-8."""

LONGEST_ESCAPE = 12
"""Characters of a surrogate pair in JSON; a cut may fall into one."""


def log_tail_of(address: str, body: bytes, *, beginning_lost: bool) -> str:
    """Return the end of the log in the answer `{"logs": "…"}`, or in the end of that answer.

    Raises:
        RayApiUnreachable: it makes no sense.
    """
    if not beginning_lost:
        log = text(parse_object(address, body), "logs")
    else:
        log = _end_of_string(address, body.decode(errors="replace").rstrip())
    encoded = readable(log).encode()
    if len(encoded) <= TAIL_BYTES and not beginning_lost:
        return encoded.decode()
    tail = encoded[-TAIL_BYTES:].decode(errors="ignore")
    _, _, whole_lines = tail.partition("\n")
    return whole_lines if whole_lines.strip() else tail


def _end_of_string(address: str, end: str) -> str:
    """Return the end of the JSON string with which an object of one member ends."""
    string, brace = end[:-1].rstrip(), end[-1:]
    if brace == "}" and string.endswith('"'):
        for cut in range(LONGEST_ESCAPE + 1):
            try:
                found = json.loads(f'"{string[cut:]}', strict=False)
            except ValueError:
                continue  # the beginning lies within an escape
            return str(found)
    raise RayApiUnreachable(f"the Ray head at {address} answered with a log that has no end")
