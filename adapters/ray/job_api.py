"""Client of the job API of a Ray head, over plain HTTP.

A head is not trusted: it may hang, trickle, answer with somebody else's page or with a server
error that holds JSON. Only an answer that makes sense is one; all else is `RayApiUnreachable`.
Each request has a total time; `submit` and `stop` may send a second one to find out.
"""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NoReturn
from urllib.parse import quote

from jobledger.adapters.ray.errors import raise_for_status, reason_line
from jobledger.adapters.ray.job_info import (
    QUOTED_CHARACTERS,
    TERMINAL,
    parse_info,
    parse_object,
    readable,
)
from jobledger.adapters.ray.proxies import environment_proxies
from jobledger.adapters.ray.transport import Answer, Limits, Request, Transport
from jobledger.core.errors import RayApiUnreachable, RayJobNotFound, RayJobRefused
from jobledger.core.ports.ray_jobs import RayJobInfo, Submission
from jobledger.core.values.documents import text

CALL_SECONDS = 2.0
"""Source: the time-out of KubeRay's dashboard client."""

LOG_SECONDS = 10.0
"""A log is sent whole, and is only asked for when something has ended."""

ANSWER_BYTES = 4 << 20
"""More than a RayJob can put into a submission (etcd holds 1.5 MiB) and a message together."""

LOG_ANSWER_BYTES = 256 << 20
"""The longest log that is read through for its end."""

TAIL_BYTES = 256 * 1024
"""As much of a log as is handed on, in UTF-8."""

_LONGEST_ESCAPE = 12
"""Characters of a surrogate pair in JSON; a cut may fall into one."""

LOG_KEPT_BYTES = 4 * TAIL_BYTES
"""Escaped, a log is longer."""

REFUSALS = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""The same submission will be refused again."""

UNAUTHORISED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class RayJobApi:
    """Implements `core.ports.ray_jobs.RayJobs`."""

    def __init__(
        self,
        *,
        call_seconds: float = CALL_SECONDS,
        log_seconds: float = LOG_SECONDS,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare connections; none is made yet.

        Args:
            call_seconds: total time of one request.
            log_seconds: total time of the request for a log.
            proxies: as `urllib.request.getproxies` gives them; None reads the environment.
        """
        self._transport = Transport(environment_proxies() if proxies is None else proxies)
        self._limits = Limits(
            seconds=call_seconds, answer_bytes=ANSWER_BYTES, kept_bytes=ANSWER_BYTES
        )
        self._log_limits = Limits(
            seconds=log_seconds, answer_bytes=LOG_ANSWER_BYTES, kept_bytes=LOG_KEPT_BYTES
        )

    def info(self, address: str, submission_id: str, token: str = "") -> RayJobInfo:
        """Return what the head says; raise `RayJobNotFound` (404) or `RayApiUnreachable`."""
        answer = self._about(address, submission_id, "", token, self._limits)
        return parse_info(address, submission_id, answer.body)

    def submit(self, address: str, submission: Submission, token: str = "") -> None:
        """Hand in the entrypoint; a submission that is already there under this id is success.

        Whether it is there is asked, not guessed from the status of the answer: a duplicate is
        answered with 500.

        Raises:
            RayJobRefused: the head will not run it.
            RayApiUnreachable: nobody can tell; submitting again does no harm.
        """
        submission_id = submission.submission_id
        problem = _unfit(submission_id)
        if problem is not None:
            raise RayJobRefused(problem)
        answer = self._transport.send(
            Request(
                address=address,
                method="POST",
                path="/api/jobs/",
                token=token,
                body=_body(submission),
            ),
            self._limits,
        )
        given = _given_id(address, answer) if answer.success else None
        if given == submission_id:
            return
        if answer.status not in UNAUTHORISED:
            try:
                self.info(address, submission_id, token)
            except RayJobNotFound:
                pass  # so it was not taken; the answer says why
            else:
                return
        _explain_refusal(address, submission_id, answer, given, token)

    def stop(self, address: str, submission_id: str, token: str = "") -> bool:
        """Ask the head to stop it; True if it is stopped or had ended. Raises as `info`.

        True is the head's word: a job that waits for resources stays PENDING all the same.
        """
        answer = self._about(address, submission_id, "/stop", token, self._limits, "POST")
        stopped = parse_object(address, answer.body).get("stopped")
        if not isinstance(stopped, bool):
            raise RayApiUnreachable(
                f"the Ray head at {address} did not say whether {submission_id!r} was stopped"
            )
        return stopped or self.info(address, submission_id, token).status in TERMINAL

    def log_tail(self, address: str, submission_id: str, token: str = "") -> str:
        """Return the end of the driver's log, in whole lines where it is cut. Raises as `info`."""
        answer = self._about(address, submission_id, "/logs", token, self._log_limits)
        return log_tail_of(address, answer.body, beginning_lost=answer.beginning_lost)

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def _about(
        self,
        address: str,
        submission_id: str,
        verb: str,
        token: str,
        limits: Limits,
        method: str = "GET",
    ) -> Answer:
        """Return the successful answer about one job."""
        problem = _unfit(submission_id)
        if problem is not None:
            raise RayJobNotFound(problem)
        path = f"/api/jobs/{quote(submission_id, safe='')}{verb}"
        request = Request(address=address, method=method, path=path, token=token)
        answer = self._transport.send(request, limits)
        if not answer.success:
            reason = reason_line(answer.body, token)
            raise_for_status(address, submission_id, answer.status, reason)
        return answer


def _unfit(submission_id: str) -> str | None:
    """Return why no job can have this id, or None.

    A head answers 500 to an id with a slash and keeps a job PENDING under it for ever; a dot or
    two would be another address.
    """
    if submission_id in {"", ".", ".."} or "/" in submission_id or not submission_id.isprintable():
        return (
            f"{submission_id[:QUOTED_CHARACTERS]!r} cannot be the id of a Ray job; choose a jobId "
            "of letters, digits, '-', '_' and '.', without '/'"
        )
    return None


def _body(submission: Submission) -> bytes:
    """Return the request's body, without what is empty or 0: heads refuse what they don't know."""
    fields = {
        "submission_id": submission.submission_id,
        "metadata": submission.metadata,
        "runtime_env": submission.runtime_env,
        "entrypoint_num_cpus": submission.num_cpus,
        "entrypoint_num_gpus": submission.num_gpus,
        "entrypoint_resources": submission.resources,
    }
    document = {"entrypoint": submission.entrypoint} | {
        name: value for name, value in fields.items() if value
    }
    try:
        return json.dumps(document, default=_plain, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise RayJobRefused(
            f"the submission {submission.submission_id!r} cannot be written as JSON ({error}); "
            "correct the manifest"
        ) from error


def _plain(value: object) -> object:
    """Return read-only JSON types as those that `json` writes."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON type")


def _given_id(address: str, answer: Answer) -> str | None:
    """Return the id under which the head says it took the job, or None if it does not say."""
    try:
        document = parse_object(address, answer.body)
    except RayApiUnreachable:
        return None
    return text(document, "submission_id") or text(document, "job_id") or None


def _explain_refusal(
    address: str, submission_id: str, answer: Answer, given: str | None, token: str
) -> NoReturn:
    """Raise for a submission that is not there after it was answered."""
    reason = reason_line(answer.body, token)
    if given is not None:
        raise RayJobRefused(
            f"the Ray head at {address} took the job as {given[:QUOTED_CHARACTERS]!r} instead of "
            f"{submission_id!r}; stop it there, and check the version of Ray"
        )
    if answer.success:
        raise RayApiUnreachable(f"the Ray head at {address} answered a submission without its id")
    if answer.status in REFUSALS:
        raise RayJobRefused(f"the Ray head at {address} refused the job: {reason}")
    if answer.status == HTTPStatus.NOT_FOUND:
        raise RayApiUnreachable(f"at {address} there is no Ray job API")
    raise_for_status(address, submission_id, answer.status, reason)


def log_tail_of(address: str, body: bytes, *, beginning_lost: bool) -> str:
    """Return the end of the log in the answer `{"logs": "…"}`, or in the end of that answer.

    A head sends the whole log as one JSON string; of a long one only the end is kept.

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
        for cut in range(_LONGEST_ESCAPE + 1):
            try:
                found = json.loads(f'"{string[cut:]}', strict=False)
            except ValueError:
                continue  # the beginning lies within an escape
            return str(found)
    raise RayApiUnreachable(f"the Ray head at {address} answered with a log that has no end")
