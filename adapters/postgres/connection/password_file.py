"""Reads the password of a DATABASE_URL from a file, anew for each connection.

What rotates passwords, or gives tokens that last some minutes, writes them to a file; a service
that has read it once is locked out when the next connection is made.
"""

from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, event

from jobledger.adapters.files.regular import open_regular
from jobledger.core.errors import LedgerMisconfigured

IN_URL = "password_file"
"""The part of a DATABASE_URL's query that names the file: `?password_file=/run/secrets/password`.

libpq knows no such word; its own `passfile` names a file in the form of .pgpass.
"""

BYTES_MAX = 64 * 1024
"""A token of a cloud has some two thousand; a longer file was named by mistake."""


def split(url: URL) -> tuple[URL, Path | None]:
    """Return a URL without the name of a file, and the file.

    Raises:
        LedgerMisconfigured: it has a password as well, or names several files.
    """
    named = url.query.get(IN_URL)
    if named is None:
        return url, None
    if not isinstance(named, str):
        raise LedgerMisconfigured(f"DATABASE_URL must name one file as {IN_URL}")
    if url.password is not None:
        raise LedgerMisconfigured(f"DATABASE_URL has a password and a {IN_URL}; leave one out")
    return url.difference_update_query([IN_URL]), Path(named)


def read_anew(engine: Engine, file: Path) -> None:
    """Let an engine read `file` before it makes a connection."""
    event.listen(engine, "do_connect", partial(_give, file))


def _give(
    file: Path, _dialect: object, _record: object, _args: object, how: dict[str, Any]
) -> None:
    how["password"] = read(file)


def read(file: Path) -> str:
    """Return the password in a file, without the end of its line.

    Raises:
        LedgerMisconfigured: it cannot be read, or holds no password.
    """
    try:
        with open_regular(file) as opened:
            found = opened.read(BYTES_MAX + 1)
        password = found.decode().removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise LedgerMisconfigured(f"the password file {file} cannot be read: {why}") from error
    if not password or len(found) > BYTES_MAX or any(sign in password for sign in "\0\r\n"):
        raise LedgerMisconfigured(
            f"the password file {file} must hold one line, the password; correct it"
        )
    return password
