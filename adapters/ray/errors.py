"""Maps unexpected answers of the Ray job API to the core's errors.

Texts of a head are foreign: they are cut, and the token is struck out should they repeat it.
"""

from http import HTTPStatus
from typing import NoReturn

from jobledger.core.errors import RayApiUnreachable, RayJobNotFound

REASON_CHARACTERS = 500
"""As much of a head's reason as a message holds; Ray sends whole tracebacks."""

STRUCK_OUT = "[token]"


def reason_line(body: bytes, token: str = "") -> str:
    """Return the one line of a reason that says most, cut and without the token.

    It is the first, but the last of a Python traceback, which is Ray's usual form.
    """
    text = body.decode(errors="replace").strip()
    if token.strip():
        text = text.replace(token.strip(), STRUCK_OUT)
    lines = [line for line in text.splitlines() if any(c.isalnum() for c in line)] or [""]
    line = lines[-1] if text.startswith("Traceback ") else lines[0]
    printable = "".join(c if c.isprintable() else " " for c in line[: 2 * REASON_CHARACTERS])
    return " ".join(printable.split())[:REASON_CHARACTERS]


def raise_for_status(address: str, submission_id: str, status: int, reason: str) -> NoReturn:
    """Raise what an answer without success stands for.

    Raises:
        RayJobNotFound: 404.
        RayApiUnreachable: everything else; a head that refuses to *run* something is told apart
            where that is asked.
    """
    said = f": {reason}" if reason else ""
    if status == HTTPStatus.NOT_FOUND:
        named = submission_id[:REASON_CHARACTERS]
        raise RayJobNotFound(f"the Ray head at {address} does not know the job {named!r}")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise RayApiUnreachable(
            f"the Ray head at {address} answered {status}{said}; check the token in the Secret "
            "that the RayCluster's authentication names"
        )
    raise RayApiUnreachable(f"the Ray head at {address} answered {status}{said}")
