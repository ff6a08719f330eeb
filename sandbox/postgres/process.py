"""The life of one server process: start, stop, and clearing the way for the next."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from jobledger.adapters.process.one_core import on_any_core
from jobledger.sandbox.postgres.user import as_server_user

FAST_SECONDS = 30.0
"""How long a fast shutdown (SIGINT: open transactions are ended) may take."""

IMMEDIATE_SECONDS = 5.0
"""How long an immediate one (SIGQUIT: recovery at the next start) may take before SIGKILL."""

SPAWN_SECONDS = 10.0
"""How long the machine may take to start a process at all."""

POLL_SECONDS = 0.02
"""Between two looks at processes that are not our children."""

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""What the server sees: none of our variables (PGPORT, PGDATA …), messages in English."""


class ServerProcess:
    """A server as our child, from its start to its end.

    A thread of its own starts it and lives as long as it does: the kernel sends the signal of the
    parent's death when the thread that forked ends. It also reaps the process at once.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = as_server_user(*command)
        self._log = log
        self._child: subprocess.Popen[bytes] | None = None
        self._refused: OSError | None = None
        self._spawned = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, name="postgres-parent", daemon=True)

    def start(self) -> int:
        """Start it and return its process id.

        Raises:
            OSError: the process cannot be started.
        """
        self._thread.start()
        if not self._spawned.wait(SPAWN_SECONDS) or self._child is None:
            raise self._refused or TimeoutError("the process did not start in time")
        return self._child.pid

    def ended_within(self, seconds: float) -> bool:
        """Wait for its end; False if it still runs then."""
        return self._ended.wait(seconds)

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._child is not None and not self._ended.is_set()

    def stop(self) -> None:
        """End it and wait until it is gone."""
        if self._child is not None:
            end_server(self._child.pid, gone_within=self.ended_within)
        self._thread.join()

    def _live(self) -> None:
        """Start the process and wait for its end."""
        try:
            with self._log.open("ab") as log, on_any_core():
                self._child = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env=ENVIRONMENT,
                    # A Ctrl-C in the terminal is for us; we stop the server last.
                    start_new_session=True,
                )
        except OSError as error:
            self._refused = error
            self._ended.set()
            return
        finally:
            self._spawned.set()
        self._child.wait()
        self._ended.set()


def servers_of(data_directory: Path) -> frozenset[int]:
    """Return the ids of all living Postgres processes (server and backends) in this directory.

    Unlike `postmaster.pid` this cannot be stale: each Postgres process works in its data directory.
    """
    return frozenset(
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _works_in(entry, data_directory)
    )


def wait_until_gone(data_directory: Path, seconds: float) -> bool:
    """Wait until no Postgres process works in this directory; False if one still does then."""
    until = time.monotonic() + seconds
    while servers_of(data_directory):
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_SECONDS)
    return True


def end_server(pid: int, gone_within: Callable[[float], bool]) -> None:
    """End a server, more firmly each time; `gone_within` waits and says whether it is gone."""
    for request, seconds in ((signal.SIGINT, FAST_SECONDS), (signal.SIGQUIT, IMMEDIATE_SECONDS)):
        send(pid, request)
        if gone_within(seconds):
            return
    send(pid, signal.SIGKILL)
    gone_within(IMMEDIATE_SECONDS)


def send(pid: int, request: signal.Signals) -> None:
    """Send a signal to a process that may be gone already."""
    try:
        os.kill(pid, request)
    except ProcessLookupError:
        return


def _works_in(process: Path, data_directory: Path) -> bool:
    """Return whether this entry of /proc is a living Postgres process of the directory."""
    try:
        if (process / "cwd").readlink() != data_directory:
            return False
        # An upgraded package leaves "/usr/…/postgres (deleted)" behind.
        return (process / "exe").readlink().name.split(" ")[0] in {"postgres", "postmaster"}
    except PermissionError:
        return _names(process, data_directory)
    except OSError:
        return False  # gone, or a zombie


def _names(process: Path, data_directory: Path) -> bool:
    """Return whether this is the server of the directory, by its command line.

    In a container root may not look into other users' processes (it lacks CAP_SYS_PTRACE). Their
    command lines are open to all; only that of the server itself names the directory.
    """
    try:
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    return Path(words[0]).name in {"postgres", "postmaster"} and str(data_directory) in words
