"""Parses a head's JSON about a job, trusting nothing.

Source: fields of Ray's `JobDetails` (GET /api/jobs/<id>), times in Unix milliseconds.
"""

import json
import math
from collections.abc import Mapping

from jobledger.core.errors import RayApiUnreachable
from jobledger.core.ports.ray_jobs import RayJobInfo
from jobledger.core.values.documents import Json, Manifest, number, text
from jobledger.core.values.instants import Instant, from_milliseconds

STATUSES = frozenset({"PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"})
"""Source: Ray's `JobStatus`."""

TERMINAL = frozenset({"STOPPED", "SUCCEEDED", "FAILED"})

MESSAGE_CHARACTERS = 32_768
"""Ray cuts its own messages at 20 000 characters of log; a longer one is no message."""

EXIT_CODE_MAX = 2**31 - 1
"""What no process can end with is no exit code."""

QUOTED_CHARACTERS = 100
"""As much of a foreign value as a message of ours quotes."""


def parse_object(address: str, body: bytes) -> Manifest:
    """Return the JSON object that a head answered.

    Raises:
        RayApiUnreachable: it is not one; something else answers at this address.
    """
    try:
        document: Json = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RayApiUnreachable(
            f"the Ray head at {address} did not answer with JSON; check that it is a Ray head"
        ) from error
    if not isinstance(document, Mapping):
        raise RayApiUnreachable(f"the Ray head at {address} answered JSON that is no object")
    return document


def parse_info(address: str, submission_id: str, body: bytes) -> RayJobInfo:
    """Return what a head says of this job.

    Raises:
        RayApiUnreachable: it makes no sense, or is about another job.
    """
    document = parse_object(address, body)
    named = {text(document, "submission_id"), text(document, "job_id")} - {""}
    if named and submission_id not in named:
        raise RayApiUnreachable(
            f"the Ray head at {address} answered about another job than {submission_id!r}"
        )
    status = document.get("status")
    if not isinstance(status, str):
        raise RayApiUnreachable(f"the Ray head at {address} answered without a status")
    if status.upper() not in STATUSES:
        raise RayApiUnreachable(
            f"the Ray head at {address} answered with an unknown status "
            f"{status[:QUOTED_CHARACTERS]!r}"
        )
    return RayJobInfo(
        status=status.upper(),
        message=readable(text(document, "message")[:MESSAGE_CHARACTERS]),
        started_at=_instant(document.get("start_time")),
        ended_at=_instant(document.get("end_time")),
        error_type=readable(text(document, "error_type")[:MESSAGE_CHARACTERS]),
        exit_code=_exit_code(document),
    )


def _exit_code(document: Manifest) -> int | None:
    """Return how the entrypoint ended; None for what no process can end with."""
    found = number(document, "driver_exit_code")
    return found if found is not None and abs(found) <= EXIT_CODE_MAX else None


def _instant(milliseconds: Json) -> Instant | None:
    """Return the instant, or None for everything that names none."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)):
        return None
    if isinstance(milliseconds, float) and not math.isfinite(milliseconds):
        return None
    return from_milliseconds(int(milliseconds))


def readable(text: str) -> str:
    """Return the text with U+FFFD in place of what neither Postgres nor UTF-8 can hold.

    JSON may carry that: NUL, and halves of surrogate pairs.
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\x00", "\ufffd")
