"""Records which process runs the server of a data directory, and its address.

The lock is held by the process that runs the server, for as long as it does; the kernel gives it
back when that process ends, however it ends. So whoever gets the lock may start a server, and
whoever does not may expect one. Who uses a server of another process shares another lock.
"""

import fcntl
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from jobledger.core.errors import LedgerMisconfigured
from jobledger.sandbox.postgres.private_file import write_private

POLL_SECONDS = 0.05
"""Between two looks whether somebody still uses the server."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """What the process that runs the server tells the others."""

    pid: int
    port: int
    version: str


class ServerRecord:
    """The lock and the record of one data directory."""

    def __init__(self, lock_file: Path, state_file: Path, users_file: Path) -> None:
        self._lock_file = lock_file
        self._state_file = state_file
        self._users_file = users_file
        self._held: int | None = None
        self._used: int | None = None

    def lock(self) -> bool:
        """Take the lock; False if another process (or another object of this one) holds it.

        Raises:
            LedgerMisconfigured: the file cannot be opened; most likely it is another user's.
        """
        if self._held is not None:
            return True
        try:
            handle = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LedgerMisconfigured(
                f"cannot open {self._lock_file}: {error.strerror}; run jobledger as the user who "
                "made it, or choose another data directory"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._held = handle
        with suppress(OSError):  # the disk is full: who waits is told a number less
            os.truncate(handle, 0)
            os.write(handle, f"{os.getpid()}\n".encode())
        return True

    @property
    def locked(self) -> bool:
        """Whether we hold the lock."""
        return self._held is not None

    def unlock(self) -> None:
        """Give the lock back."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def use(self) -> None:
        """Let whoever runs the server know that somebody else uses it."""
        if self._used is None:
            with suppress(OSError):  # it is a courtesy
                handle = os.open(self._users_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(handle, fcntl.LOCK_SH)
                self._used = handle

    def leave(self) -> None:
        """Use the server of another process no more."""
        if self._used is not None:
            os.close(self._used)
            self._used = None

    def wait_for_users(self, seconds: float) -> None:
        """Return once nobody else uses the server, or after so long."""
        until = time.monotonic() + seconds
        while self._has_users() and time.monotonic() < until:
            time.sleep(POLL_SECONDS)

    def _has_users(self) -> bool:
        try:
            handle = os.open(self._users_file, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def lock_holder(self) -> str:
        """Return the process id of whoever took the lock last, for messages."""
        return self._lock_file.read_text().strip() or "unknown"

    def write(self, server: RunningServer) -> None:
        """Tell the others where the server is."""
        fields = {"pid": server.pid, "port": server.port, "version": server.version}
        write_private(self._state_file, json.dumps(fields))

    def read(self) -> RunningServer | None:
        """Return what was told last, or None."""
        try:
            fields = json.loads(self._state_file.read_text())
            return RunningServer(int(fields["pid"]), int(fields["port"]), str(fields["version"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def remove(self) -> None:
        """Tell the others that there is no server."""
        self._state_file.unlink(missing_ok=True)
