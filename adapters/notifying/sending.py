"""Sends one notice over HTTP.

An address may hold a token (Slack's do), and what answers may repeat it: neither of them enters a
message, a log line or the database; of an answer the status is told.
"""

import ipaddress
from datetime import timedelta
from http import HTTPStatus

import msgspec
import urllib3
from urllib3.util import Url, parse_url

from jobledger.adapters.http_client.certificate_verification import verifying_as_go_does
from jobledger.adapters.notifying.rules_file import NoSecret, Secret, Target
from jobledger.core.errors import JobledgerError
from jobledger.core.notifications.messages import Form, Notice, body_of
from jobledger.core.values.instants import Instant

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0
_POOLS = verifying_as_go_does(urllib3.PoolManager())
ALERTS = "/api/v2/alerts"
"""Where an Alertmanager takes alerts. Source: its openapi.yaml."""

_REFUSED_FOR_GOOD = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""What is said of the notice itself: it would be said again."""


class NotTaken(JobledgerError):
    """A target did not take a notice.

    Args:
        trouble: Why, without any secret.
        for_good: Whether it would not take it the next time either.
        again_in: When it asks to be told again; None: it does not say.
    """

    def __init__(
        self, trouble: str, *, for_good: bool = False, again_in: timedelta | None = None
    ) -> None:
        self.trouble, self.for_good, self.again_in = trouble, for_good, again_in
        super().__init__(trouble)


def send(target: Target, notice: Notice, now: Instant) -> None:
    """Send a notice; a target that answers with 2xx has taken it.

    No redirect is followed: it would carry what was said, and the token, to where nobody sent it.

    Raises:
        NotTaken: in any other case.
    """
    address, headers = _address(target), {"Content-Type": "application/json"}
    if target.token is not None:
        headers["Authorization"] = f"Bearer {_read(target.token)}"
        _require_private(address)
    headers["User-Agent"] = "jobledger"
    headers["Idempotency-Key"] = str(notice.id)
    body = msgspec.json.encode(body_of(target.form, notice, now))
    try:
        answer = _POOLS.request(
            "POST",
            address.url,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS),
            retries=False,
            redirect=False,
            preload_content=False,
        )
    except (urllib3.exceptions.HTTPError, ValueError, OSError) as error:
        # Texts of these errors may hold the address.
        raise NotTaken(f"it was not reached: {type(error).__name__}") from None
    answer.close()  # what it says is of no use, and may be without an end
    _judge(answer.status, answer.headers.get("Retry-After", ""))


def _judge(status: int, retry_after: str) -> None:
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return
    trouble = f"it answered {status}"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        trouble = f"it sends us elsewhere ({status}), where we do not go"
    again_in = timedelta(seconds=int(retry_after)) if _is_number(retry_after) else None
    raise NotTaken(trouble, for_good=status in _REFUSED_FOR_GOOD, again_in=again_in)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < len("100000")


def _address(target: Target) -> Url:
    """Return where to send to: that of an Alertmanager may be told without its path."""
    written = _read(target.url)
    try:
        address = parse_url(written)
    except urllib3.exceptions.LocationParseError:
        address = Url()
    if address.scheme not in {"http", "https"} or not address.host or address.auth:
        raise NotTaken("its address is not http(s)://host…, or has a user in it")
    if target.form is Form.ALERTMANAGER and (address.path or "/") == "/":
        return address._replace(path=ALERTS)
    return address


def _require_private(address: Url) -> None:
    """Raise `NotTaken` if others on the way could read the token."""
    host = (address.host or "").strip("[]")
    try:
        is_here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost"
    if address.scheme != "https" and not is_here:
        raise NotTaken("a token is sent over https alone")


def _read(secret: Secret) -> str:
    try:
        value = secret.read()
    except NoSecret as error:
        raise NotTaken(str(error)) from error
    if not value.isascii() or not value.isprintable() or " " in value:
        raise NotTaken("its address or token has characters that none has")
    return value
