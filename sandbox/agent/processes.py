"""The containers' processes as the agent sees them: started, signalled, ended.

They belong to the spawner, a process of its own; see `sandbox.agent.spawner`.
"""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from jobledger.sandbox.agent.spawner import MARK

STOP_LIMIT_SECONDS = 20.0
"""After so long the spawner is killed itself; the kernel then kills its children."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is to be run, and how."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    log: Path
    """File that takes the standard output and error."""
    mark: str
    """Names the container; its processes are known by it."""


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    """The process runs."""

    process: int


@dataclass(frozen=True, slots=True)
class ProcessFailed:
    """The process could not be started."""

    process: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProcessEnded:
    """The process has ended, and whatever it left behind has been killed."""

    process: int
    exit_code: int
    """Negative for a signal."""


ProcessNews: TypeAlias = ProcessStarted | ProcessFailed | ProcessEnded


class Processes:
    """A spawner and the conversation with it. `tell` is called from a thread of its own."""

    def __init__(self, tell: Callable[[ProcessNews], None]) -> None:
        self._tell = tell
        self._next = 0
        self._lock = threading.Lock()
        self._ours: socket.socket | None = None
        self._spawner: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> None:
        """Start the spawner."""
        self._ours, theirs = socket.socketpair()
        program = Path(__file__).with_name("spawner.py")
        with theirs:
            self._spawner = subprocess.Popen(
                [sys.executable, "-I", "-S", str(program), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._reader = threading.Thread(
            target=self._read, args=(self._ours,), name="sandbox-processes", daemon=True
        )
        self._reader.start()

    def run(self, command: Command) -> int:
        """Ask for a process and return its number; news of it follow."""
        with self._lock:
            self._next += 1
            number = self._next
            self._send(
                {
                    "op": "start",
                    "id": number,
                    "argv": list(command.argv),
                    "env": {**command.environment, MARK: command.mark},
                    "cwd": str(command.directory),
                    "log": str(command.log),
                }
            )
        return number

    def signal(self, process: int, number: int) -> None:
        """Send a signal to the process and its group; nothing happens if it has ended."""
        with self._lock:
            self._send({"op": "signal", "id": process, "signal": number})

    def stop(self) -> None:
        """Kill everything and wait until it is gone."""
        if self._ours is None or self._spawner is None or self._reader is None:
            return
        self._ours.shutdown(socket.SHUT_WR)
        try:
            self._spawner.wait(STOP_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._spawner.kill()
            self._spawner.wait()
        self._reader.join()
        self._ours.close()
        self._ours = None

    def _send(self, order: Mapping[str, object]) -> None:
        if self._ours is None:
            return
        try:
            self._ours.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            return  # the spawner has gone, and with it every process

    def _read(self, connection: socket.socket) -> None:
        pending = b""
        while True:
            try:
                data = connection.recv(1 << 16)
            except OSError:
                return
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                self._tell(_news(json.loads(line)))


def _news(said: Mapping[str, object]) -> ProcessNews:
    number = int(str(said["id"]))
    if said["event"] == "started":
        return ProcessStarted(number)
    if said["event"] == "failed":
        return ProcessFailed(number, str(said["error"]))
    return ProcessEnded(number, int(str(said["status"])))
