"""Checks the data directory of the private server before it is started.

postgres/                the data directory (0700, of the server's user)
postgres.password        the password of the role `postgres` (0600)
postgres.lock            held by whoever runs the server, for as long as it runs
postgres.state.json      process id, port and version of the running server
postgres.users           shared by the other processes that use the server
postgres.log             what the server says
"""

import errno
import os
import secrets
import shutil
import subprocess
from pathlib import Path

from jobledger.core.errors import LedgerMisconfigured
from jobledger.sandbox.postgres.binaries import Binaries
from jobledger.sandbox.postgres.private_file import write_private
from jobledger.sandbox.postgres.process import ENVIRONMENT
from jobledger.sandbox.postgres.user import (
    as_server_user,
    closed_directory,
    make_passable,
    server_user,
)

INITDB_SECONDS = 120.0
"""Limit for making an empty cluster; it takes about 1 s."""

PASSWORD_BYTES = 24
"""Randomness of the generated password: 192 bits."""

LOG_LIMIT_BYTES = 1 << 20
"""A longer log is set aside (one generation) when the server starts."""


FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What a disk says, or a share of one, on which no room is left."""


class DataDirectory:
    """A data directory and the files beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()  # Postgres names its own directory so
        self.log = self.beside(".log")
        self._password_file = self.beside(".password")

    def prepare_parent(self) -> None:
        """Make the folder that holds everything, if need be open to the server's user.

        Raises:
            LedgerMisconfigured: it cannot be made, or the server's user cannot get there.
        """
        try:
            if self.path.is_mount():
                raise LedgerMisconfigured(
                    f"{self.path} is a mount point; name a data directory below it, so that the "
                    "files beside it are kept as well"
                )
            parent = self.path.parent
            make_passable(parent)
            if not parent.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "there is a file in its way")
        except OSError as error:
            raise LedgerMisconfigured(
                f"cannot make a place for the data directory {self.path}: {error.strerror}; "
                "choose another one"
            ) from error
        closed = closed_directory(self.path, server_user())
        if closed is not None:
            raise LedgerMisconfigured(
                f"Postgres runs as nobody when started by root, and nobody cannot enter {closed}; "
                f"choose a data directory elsewhere (such as /var/lib/jobledger/postgres) instead "
                f"of {self.path}, or run jobledger as another user than root"
            )

    def major(self) -> int | None:
        """Return the major version that made the data, or None where there are none yet.

        Raises:
            LedgerMisconfigured: it holds something else, or belongs to another user.
        """
        try:
            owner = self.path.stat().st_uid
            if not any(self.path.iterdir()):
                return None
            version = (self.path / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            if not self.path.exists():
                return None
            raise LedgerMisconfigured(
                f"{self.path} is neither empty nor a Postgres data directory; choose another one"
            ) from None
        except OSError as error:
            raise LedgerMisconfigured(
                f"the data directory {self.path} cannot be read: {error.strerror}; run jobledger "
                "as the user who made it, or choose another one"
            ) from error
        if owner != server_user():
            raise LedgerMisconfigured(
                f"the data directory {self.path} belongs to user id {owner} and the server would "
                f"run as {server_user()}; run jobledger as the user who made it, or choose another "
                "one"
            )
        return int(version) if version.isdigit() else 0

    def create(self, binaries: Binaries, *, durable: bool) -> None:
        """Make an empty cluster, whole or not at all.

        Raises:
            LedgerMisconfigured: initdb refuses; the message holds its last lines.
        """
        fresh = self.beside(".new")
        password_copy = self.beside(".initdb")
        if fresh.exists():
            shutil.rmtree(fresh)  # left by a process that was killed in here
        fresh.mkdir(mode=0o700)
        write_private(password_copy, self.password())
        for path in (fresh, password_copy):
            os.chown(path, server_user(), -1)
        command = as_server_user(
            binaries.command("initdb"),
            f"--pgdata={fresh}",
            "--username=postgres",
            f"--pwfile={password_copy}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            *(() if durable else ("--no-sync",)),
        )
        try:
            _run(command, f"initdb cannot make the data directory {self.path}")
            fresh.rename(self.path)
        finally:
            password_copy.unlink()
            shutil.rmtree(fresh, ignore_errors=True)

    def password(self) -> str:
        """Return the password of the role `postgres`, generated at the first call."""
        if not self.has_password():
            write_private(self._password_file, secrets.token_urlsafe(PASSWORD_BYTES))
        return self._password_file.read_text().strip()

    def has_password(self) -> bool:
        """Whether the password has been written down."""
        return self._password_file.exists()

    def replace_password(self, binaries: Binaries) -> None:
        """Set a new password without knowing the old one; no server may be running.

        Raises:
            LedgerMisconfigured: the single-user server refuses.
        """
        command = as_server_user(
            binaries.command("postgres"), "--single", "-D", str(self.path), "postgres"
        )
        statement = f"ALTER ROLE postgres PASSWORD '{self.password()}'\n"
        _run(command, f"cannot set a new password for {self.path}", statement)

    def rotate_log(self) -> int:
        """Set a long log aside; return where the next line will begin, in bytes."""
        if not self.log.exists():
            write_private(self.log, "")
        size = self.log.stat().st_size
        if size <= LOG_LIMIT_BYTES:
            return size
        self.log.replace(self.beside(".log.1"))
        write_private(self.log, "")
        return 0

    def beside(self, suffix: str) -> Path:
        """Return the file beside the data directory with this suffix to its name."""
        return self.path.with_name(self.path.name + suffix)


def _run(command: list[str], failure: str, given: str = "") -> None:
    """Run a tool of Postgres as the server's user; raise with its last lines if it fails."""
    try:
        ended = subprocess.run(
            command,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            cwd="/",
            env=ENVIRONMENT,
            timeout=INITDB_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LedgerMisconfigured(f"{failure}: {error}") from error
    if ended.returncode != 0:
        raise LedgerMisconfigured(f"{failure}: {why_it_ended(ended.stdout)}")


def why_it_ended(said: str) -> str:
    """Return what a log says at its end; of a full disk that alone, whatever came of it."""
    refusals = (*(os.strerror(number) for number in FULL), ": wrote only")
    full = [line for line in said.splitlines() if any(word in line for word in refusals)]
    return f"{full[0].strip()}; make room there, and start again" if full else last_lines(said)


def last_lines(text: str, lines: int = 5, characters: int = 1000) -> str:
    """Return the last lines of a log as one, within a length that a message can hold."""
    kept = [line.strip() for line in text.splitlines() if line.strip()][-lines:]
    return " / ".join(kept)[-characters:] or "it said nothing"
