"""The process that owns the containers' processes; started as `python -I -S spawner.py FD`.

It is to the containers what a container runtime is: their parent, and the reaper of what they
leave behind. When the agent goes, its end of the socket closes and everything is killed; should
this process be killed itself, the kernel kills its children (PDEATHSIG). Single-threaded, so that
forking is safe and cheap.

Lines of JSON, in: `{"op": "start", "id", "argv", "env", "cwd", "log"}`, `{"op": "signal", "id",
"signal"}`. Out: `{"id", "event": "started", "pid"}`, `{"id", "event": "failed", "error",
"errno"}`, `{"id", "event": "ended", "status"}` (status: exit code, negative for a signal).

A container's processes are known by `MARK` in their environment, so that those which left their
session (a Ray job's entrypoint does) are found as well.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import signal
import socket
import sys

TYPE_CHECKING = False  # importing it from typing costs 5 ms; type checkers know it by its name
if TYPE_CHECKING:
    from typing import Any

MARK = "JOBLEDGER_SANDBOX_CONTAINER"
"""Environment variable that tells to which container a process belongs."""

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
"""Source: linux/prctl.h."""

MAX_SWEEPS = 1000
"""So often, at most, the leftovers of a container are looked for.

Each sweep finds the children of the one before.
"""

UNSURE_SWEEPS = 50
"""So often a process without an environment is waited for.

It is in the midst of exec, or has just died; one that has none for longer belongs to nobody.
"""

SWEEP_PAUSE_SECONDS = 0.002
"""Between two sweeps, for the kernel to hand over orphans."""


class Spawner:
    """All state of this process."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._mains: dict[int, tuple[int, str]] = {}
        self._pids: dict[int, int] = {}
        self._ended: list[tuple[int, int]] = []
        self._pending = b""

    def serve(self, wakeup: int) -> None:
        """Work until the agent's end of the socket closes; then kill everything."""
        orders = self._connection.fileno()
        while True:
            ready, _, _ = select.select([orders, wakeup], [], [])
            if wakeup in ready:
                os.read(wakeup, 4096)
                self._reap()
                self._report()
            if orders in ready:
                data = self._connection.recv(1 << 20)
                if not data:
                    break
                *lines, self._pending = (self._pending + data).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))
        self._sweep("")

    def _obey(self, order: dict[str, Any]) -> None:
        number = int(str(order["id"]))
        if order["op"] == "start":
            self._start(number, order)
        elif number in self._pids:
            self._signal(self._pids[number], int(str(order["signal"])))

    def _start(self, number: int, order: dict[str, Any]) -> None:
        argv, environment = order["argv"], order["env"]
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become(argv, environment, str(order["cwd"]), str(order["log"]), writer)
        os.close(writer)
        said = os.read(reader, 4096).decode(errors="replace")
        os.close(reader)
        if said:
            os.waitpid(pid, 0)
            code, _, text = said.partition(" ")
            self._tell({"id": number, "event": "failed", "errno": int(code), "error": text})
            return
        self._mains[pid] = (number, environment[MARK])
        self._pids[number] = pid
        self._tell({"id": number, "event": "started", "pid": pid})

    def _become(
        self, argv: list[str], environment: dict[str, str], cwd: str, log: str, writer: int
    ) -> None:
        """Turn this child into the container's process; never returns."""
        try:
            os.setsid()
            self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            nothing = os.open(os.devnull, os.O_RDONLY)
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.dup2(nothing, 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.chdir(cwd)
            os.execvpe(argv[0], argv, environment)  # noqa: S606  # starting what a Pod asks for is its purpose
        except OSError as failed:
            os.write(writer, f"{failed.errno or errno.EINVAL} {failed.strerror}".encode())
        except BaseException as failed:  # noqa: BLE001  # nothing may return into the parent's code
            os.write(writer, f"{errno.EINVAL} {failed}".encode())
        finally:
            os._exit(127)

    def _signal(self, pid: int, number: int) -> None:
        try:
            os.killpg(pid, number)
        except (ProcessLookupError, PermissionError):
            return

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._mains:
                self._ended.append((pid, os.waitstatus_to_exitcode(status)))

    def _report(self) -> None:
        while self._ended:
            pid, status = self._ended.pop(0)
            number, mark = self._mains.pop(pid)
            del self._pids[number]
            self._sweep(mark)
            self._tell({"id": number, "event": "ended", "status": status})

    def _sweep(self, mark: str) -> None:
        """Kill what a container left behind; with an empty mark, everything."""
        for sweep in range(MAX_SWEEPS):
            marks = {pid: _mark_of(pid) for pid in _children()}
            found = [pid for pid in marks if not mark or marks[pid] == mark]
            is_sure = None not in marks.values() or sweep >= UNSURE_SWEEPS
            if not found and is_sure:
                return
            for pid in found:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            select.select([], [], [], SWEEP_PAUSE_SECONDS)
            self._reap()

    def _tell(self, news: dict[str, object]) -> None:
        try:
            self._connection.sendall(json.dumps(news).encode() + b"\n")
        except OSError:
            return  # the agent has gone; the next read says so and ends everything


def _children() -> list[int]:
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children", encoding="ascii") as listing:  # noqa: PTH123  # pathlib costs 8 ms per start
            return [int(pid) for pid in listing.read().split()]
    except FileNotFoundError:
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_own(pid)]  # noqa: PTH208  # as above


def _is_own(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123  # as above
            return int(stat.read().rpartition(")")[2].split()[1]) == os.getpid()
    except (OSError, ValueError, IndexError):
        return False


def _mark_of(pid: int) -> str | None:
    """Return the mark of a process; None while it has no environment.

    In the midst of exec, and dead but not reaped: its children become ours at that moment.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as environment:  # noqa: PTH123  # as above
            found = environment.read()
    except OSError:
        return None
    if not found:
        return None
    for entry in found.split(b"\0"):
        if entry.startswith(MARK.encode() + b"="):
            return entry.partition(b"=")[2].decode(errors="replace")
    return ""


def main() -> None:
    """Serve on the file descriptor that the command line names."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.set_wakeup_fd(writer)
    Spawner(socket.socket(fileno=int(sys.argv[1]))).serve(reader)


if __name__ == "__main__":
    main()
